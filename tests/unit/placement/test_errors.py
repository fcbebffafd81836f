"""Errors, and their replacement by handlers."""

import pytest

from placement import errors
from placement.errors import PlacementError, worded
from tests.offenders import assert_each


def every_error(kind=PlacementError):
    yield kind
    for below in kind.__subclasses__():
        yield from every_error(below)


def test_every_error_has_a_status_a_title_and_a_code():
    def has_them(kind):
        assert (kind.status in range(400, 508), bool(kind.title)) == (True, True)
        # error codes of Berth begin with `berth.`
        assert kind.code.startswith(("placement.", "berth."))

    assert_each({f"{kind.__module__}.{kind.__name__}": (kind,) for kind in every_error()}, has_them)


def test_an_error_s_text_is_filled_in():
    assert errors.ProviderInUse(uuid="u").message == (
        "Unable to delete resource provider u: Resource provider has allocations."
    )


def test_braces_in_values_stay_unchanged():
    assert errors.SchemaMismatch(why="{'a': {}}").message == "JSON does not validate: {'a': {}}"


@worded(
    (errors.ProviderNotFound, errors.NotFound, "gone {uuid}: {error}"),
    (errors.Conflict, errors.ConcurrentUpdate, "again: {error}"),
)
def handler(call, uuid):
    raise call


def reworded(error):
    with pytest.raises(PlacementError) as raised:
        handler(error, uuid="{u}")
    return type(raised.value), raised.value.message


def test_a_handler_replaces_an_error_s_text():
    assert reworded(errors.ProviderNotFound("{x}")) == (errors.NotFound, "gone {u}: {x}")


def test_a_replacement_applies_to_subclasses_too():
    assert reworded(errors.TraitInUse(name="T")) == (
        errors.ConcurrentUpdate,
        "again: The trait T is in use by a resource provider.",
    )


def test_errors_without_a_replacement_propagate():
    assert reworded(errors.Forbidden("no")) == (errors.Forbidden, "no")
