"""Which trees a sharing provider serves."""

import numpy as np
import pytest

from placement.candidates.cloud.sharing_providers import Lenders
from placement.candidates.cloud.snapshot import AllTrees
from tests.unit.placement.candidates.snapshots import child, host

SHARES = ["MISC_SHARES_VIA_AGGREGATE"]


@pytest.fixture
def snapshot(clouds):
    return clouds.snapshot(
        {
            "s": (None, {"DISK_GB": 9}, SHARES, ["x"]),
            "a": (None, {}, [], ["x"]),
            "b": host(),
            "b1": ("b", {}, [], ["x"]),
            "c": host(),
            "c1": child("c"),
        }
    )


def test_every_tree_with_a_provider_in_the_aggregate_is_reached(snapshot):
    nobody = np.zeros(snapshot.size, np.bool_)
    shared = nobody.copy()
    shared[snapshot.slot("s")] = True

    reached = snapshot.reached(nobody, shared)

    assert [snapshot.register.uuids[slot] for slot in reached.nonzero()[0]] == ["s", "a", "b"]


def test_a_provider_lends_to_other_trees_only(snapshot):
    lender = snapshot.slot("s")
    lenders = Lenders(AllTrees(snapshot), [lender])
    lent = {
        name: lenders.of_tree(root, snapshot.forest.members(root).tolist())
        for name in ("s", "a", "b", "c")
        for root in [snapshot.slot(name)]
    }

    assert lent == {"s": (), "a": (lender,), "b": (lender,), "c": ()}
