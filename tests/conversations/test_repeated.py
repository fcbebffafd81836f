"""What an ordinary run doesn't ask of one operation it asks of another."""

from placement.microversions import NEWEST
from tests.conversations.repeated import each_part_once
from tests.document import of_version


def test_each_parameter_stays_at_one_operation():
    whole = of_version(NEWEST)
    assert named(each_part_once(whole)) == named(whole)


def named(document):
    """Return the place and the name of each parameter of the document."""
    return {
        (one["in"], one["name"])
        for operations in document["paths"].values()
        for operation in operations.values()
        for one in operation.get("parameters", ())
    }
