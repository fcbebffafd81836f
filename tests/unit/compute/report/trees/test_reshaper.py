"""Which answers to a reshape are a conflict (compute.md §3.9.3)."""

import pytest

from compute import exceptions
from tests.unit.compute.report.answers import CONCURRENT, refused


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (CONCURRENT, exceptions.PlacementReshapeConflict),
        ({"code": "placement.inventory.inuse", "detail": "used"}, exceptions.ReshapeFailed),
        ({"detail": "no code"}, exceptions.ReshapeFailed),
    ],
)
def test_only_a_concurrent_update_is_a_reshape_conflict(make, body, error):
    client = make(refused(**body))
    client.cache.tree.new_root("n", "u", 0)
    tree = client.cache.tree.subtree("u")
    with pytest.raises(exceptions.ReshapeFailed) as failed:
        client.update_from_provider_tree(None, tree, {})
    assert type(failed.value) is error
    assert client.cache.tree.exists("u") is (error is exceptions.ReshapeFailed)
