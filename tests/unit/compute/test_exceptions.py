"""The exceptions of compute.md §3.4: parents, codes and messages."""

import inspect
import pickle
import re

import pytest

from compute import exceptions
from tests.offenders import assert_each

EVERY = [
    value
    for value in vars(exceptions).values()
    if inspect.isclass(value) and issubclass(value, exceptions.NovaException)
]


def test_the_message_is_the_format_filled_in():
    error = exceptions.ResourceProviderCreationFailed(name="host1")
    assert error.message == "Failed to create resource provider host1"
    assert error.format_message() == str(error) == error.message
    assert error.kwargs == {"name": "host1", "code": 500}


def test_a_message_given_is_used_as_it_stands():
    assert str(exceptions.InventoryInUse("placement's own words")) == "placement's own words"


def test_a_format_that_cant_be_filled_is_the_message_itself():
    error = exceptions.ResourceProviderUpdateConflict(uuid="u", generation=None, error="e")
    assert error.message == exceptions.ResourceProviderUpdateConflict.msg_fmt
    assert exceptions.ReshapeFailed().message == exceptions.ReshapeFailed.msg_fmt


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (exceptions.NovaException, 500),
        (exceptions.ResourceProviderNotFound, 404),
        (exceptions.ComputeHostNotFound, 404),
        (exceptions.InvalidResourceClass, 400),
        (exceptions.InventoryInUse, 400),
    ],
)
def test_codes_are_those_of_the_parent(error, code):
    assert error.code == error().kwargs["code"] == code


def test_a_reshape_conflict_is_a_failed_reshape_and_a_conflict():
    error = exceptions.PlacementReshapeConflict(error="generation")
    assert isinstance(error, exceptions.ReshapeFailed)
    assert isinstance(error, exceptions.PlacementAPIConflict)
    assert "generation" in str(error)


def test_every_exception_survives_pickling():
    def survives(error):
        kwargs = dict.fromkeys(re.findall(r"%\((\w+)\)", error.msg_fmt), 7)
        raised = error(**kwargs)
        twin = pickle.loads(pickle.dumps(raised))
        assert (type(twin), str(twin), twin.kwargs) == (
            error,
            error.msg_fmt % kwargs,
            raised.kwargs,
        )

    assert_each({error.__name__: (error,) for error in EVERY}, survives)


def test_the_tree_at_the_top_names_every_exception():
    drawn = set(re.findall(r"─ (\w+)", exceptions.__doc__)) | {"NovaException"}
    assert drawn == {error.__name__ for error in EVERY}
