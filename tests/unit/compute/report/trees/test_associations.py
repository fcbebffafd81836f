"""How associations are read when placement refuses."""

from tests.unit.compute.report.answers import answer


def test_an_inventory_that_cant_be_read_is_none(make):
    assert make(answer(500)).associations.refresh_and_get_inventory(None, "u") is None
