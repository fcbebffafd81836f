"""What a tracked node tells of what is held of it (compute.md §4.9)."""

from compute.consumers.held_shares import InstanceHolding, Share, Side
from compute.records.compute_node import ComputeNode
from compute.records.instance import RESIZED, Instance
from compute.records.migration import REVERTED, Migration
from compute.resource_tracker.node.node import Recorded, TrackedNode
from tests.unit.compute.resource_tracker.equipped_host import TINY


def instance(**fields):
    return Instance(**{"project_id": "p", "flavor": TINY, "vm_state": RESIZED, **fields})


def migration(status=REVERTED):
    return Migration(instance_uuid="i", migration_type="resize", status=status)


def left(**holdings):
    node = TrackedNode(ComputeNode("u", "h", "n"))
    node.recorded = Recorded(holdings=holdings)
    return set(node.left_by_revert())


def test_an_instance_whose_move_here_is_being_reverted_has_left():
    assert left(gone=InstanceHolding(instance(), (), migration())) == {"gone"}


def test_others_have_not():
    share = Share(Side.OLD, TINY)

    assert left(passed_by=InstanceHolding(instance())) == set()
    assert left(here=InstanceHolding(instance(), (share,), migration())) == set()
    assert left(moving=InstanceHolding(instance(), (), migration("migrating"))) == set()
    assert left(settled=InstanceHolding(instance(vm_state="active"), (), migration())) == set()
