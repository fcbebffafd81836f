"""How roots are ensured when placement refuses or is lost."""

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from tests.unit.compute.report.answers import answer, listed, row


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([answer(500)], exceptions.ResourceProviderCreationFailed),
        ([answer(400)], exceptions.ResourceProviderCreationFailed),
        ([ksa_exc.ConnectFailure()], exceptions.ResourceProviderCreationFailed),
        (
            # who has the name can't be told then
            [
                answer(409, text="Conflicting resource provider name: n already exists."),
                answer(500),
            ],
            exceptions.ResourceProviderCreationFailed,
        ),
        (
            [answer(409, text="Conflicting resource provider uuid"), answer(404)],
            exceptions.ResourceProviderCreationFailed,
        ),
        (
            [answer(409, text="Conflicting resource provider uuid"), answer(500)],
            exceptions.ResourceProviderRetrievalFailed,
        ),
    ],
)
def test_a_root_that_cant_be_created_is_an_error(make, answers, error):
    client = make(listed(), *answers)
    with pytest.raises(error):
        client.get_provider_tree_and_ensure_root(None, "u", name="n")
    assert not client.cache.tree.exists("u")


def test_a_root_that_was_forgotten_by_its_name_is_read_again(make):
    generation = {"resource_provider_generation": 0}
    parts = [{"inventories": {}}, {"aggregates": []}, {"traits": ["CUSTOM_T"]}]
    client = make(listed(row("u")), *(answer(200, {**part, **generation}) for part in parts))
    client.cache.tree.new_root("u-name", "u", 0)
    client.cache.note_read("u")
    # this keeps the time of reading, which is known by the uuid
    client.invalidate_resource_provider("u-name")

    tree = client.get_provider_tree_and_ensure_root(None, "u", name="u-name")

    assert tree.data("u").traits == {"CUSTOM_T"}
