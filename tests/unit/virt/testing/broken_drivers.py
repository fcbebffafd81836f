"""Drivers that break the contract in one way each; the healthy ones they derive from keep it."""

from compute import exceptions
from compute.provider_tree.allocation_records import give, take
from virt.fake import (
    FakeBadReshapeDriver,
    FakeMultiNodeDriver,
    FakeRCRenameDriver,
    FakeReshapeFailDriver,
    MediumFakeDriver,
    MediumFakeDriverWithNestedCustomResources,
)
from virt.inventory import record
from virt.testing.scenario import OPERATORS_AGGREGATE

__all__ = ["FakeBadReshapeDriver", "FakeReshapeFailDriver"]

# Descriptions of nodes


class NoNodes(MediumFakeDriver):
    def get_available_nodes(self, refresh=False):
        return []


class ForgetfulOfMemory(MediumFakeDriver):
    def get_available_resource(self, nodename):
        found = super().get_available_resource(nodename)
        del found["memory_mb"]
        return found


class MisnamesItsNode(MediumFakeDriver):
    def get_available_resource(self, nodename):
        return super().get_available_resource(nodename) | {"hypervisor_hostname": "localhost"}


class NodesWithoutUUID(FakeMultiNodeDriver):
    def get_available_resource(self, nodename):
        found = super().get_available_resource(nodename)
        del found["uuid"]
        return found


class CallsItsNodesGone(MediumFakeDriver):
    def is_node_deleted(self, nodename):
        return True


# The picture


class Reports(MediumFakeDriver):
    """Reports something more on the root."""

    more = {}
    traits = ()

    def update_provider_tree(self, tree, nodename, allocations=None):
        inventory = self._root_inventory(tree.data(nodename).inventory)
        tree.update_inventory(nodename, inventory | self.more)
        tree.add_traits(nodename, *self.traits)


class ReportsNothingLeft(Reports):
    more = {"VGPU": record(0)}


class ReportsMadeUpClass(Reports):
    more = {"GPU": record(1)}


class ReportsMadeUpTrait(Reports):
    traits = ("VERY_FAST",)


class ReportsTooMuchReserved(Reports):
    more = {"VGPU": record(2, reserved=3)}


class ReportsNoRatio(Reports):
    more = {"VCPU": {"total": 4, "reserved": 0}}


class ReportsInfiniteRatio(Reports):
    more = {"VGPU": record(2, allocation_ratio=float("inf"))}


class RemovesItsRoot(MediumFakeDriver):
    def update_provider_tree(self, tree, nodename, allocations=None):
        tree.remove(nodename)


# Others' things


class ReplacesTraits(MediumFakeDriver):
    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        tree.update_traits(nodename, ["HW_CPU_X86_AVX"])


class ReplacesAggregates(MediumFakeDriver):
    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        tree.update_aggregates(nodename, [])


class SweepsItsTree(MediumFakeDriver):
    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        for uuid in tree.get_provider_uuids(nodename)[1:]:
            tree.remove(uuid)


class SharesThePool(MediumFakeDriver):
    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        tree.add_traits("operators-pool", "CUSTOM_MINE")


class EmptiesOtherHosts(MediumFakeDriver):
    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        for uuid in tree.get_provider_uuids():
            if "VCPU" in tree.data(uuid).inventory and tree.data(uuid).name != nodename:
                tree.update_inventory(uuid, {})


class UpdatesAllNodesAtOnce(FakeMultiNodeDriver):
    def update_provider_tree(self, tree, nodename, allocations=None):
        for node in self.get_available_nodes():
            super().update_provider_tree(tree, node, allocations)


class OffersFencedDevices(MediumFakeDriverWithNestedCustomResources):
    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        tree.update_inventory(f"{nodename}-child", {"CUSTOM_MAGIC": record(10)})


class ReplacesTraitsOfItsChild(MediumFakeDriverWithNestedCustomResources):
    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        tree.update_traits(f"{nodename}-child", ["CUSTOM_MAGIC"])


class KeepsWhatIsGone(MediumFakeDriverWithNestedCustomResources):
    """Knows no device that is gone, and so leaves its provider."""

    def __init__(self, virtapi, conf, has_devices=True):
        super().__init__(virtapi, conf)
        self.has_devices = has_devices

    def update_provider_tree(self, tree, nodename, allocations=None):
        if self.has_devices:
            super().update_provider_tree(tree, nodename, allocations)
        else:
            MediumFakeDriver.update_provider_tree(self, tree, nodename, allocations)


class OffersLessAfterwards(KeepsWhatIsGone):
    def update_provider_tree(self, tree, nodename, allocations=None):
        name = f"{nodename}-child"
        if not self.has_devices and tree.exists(name):
            tree.remove(name)
            tree.add_traits(nodename, "CUSTOM_HAD_DEVICES")
        super().update_provider_tree(tree, nodename, allocations)


# Again and again


class CountsUpdates(MediumFakeDriver):
    updates = 0

    def update_provider_tree(self, tree, nodename, allocations=None):
        self.updates += 1
        self.local_gb = 1000 + self.updates
        super().update_provider_tree(tree, nodename, allocations)


class RemakesItsChild(MediumFakeDriverWithNestedCustomResources):
    def update_provider_tree(self, tree, nodename, allocations=None):
        if tree.exists(f"{nodename}-child"):
            tree.remove(f"{nodename}-child")
        super().update_provider_tree(tree, nodename, allocations)


class RemembersItsChild(MediumFakeDriverWithNestedCustomResources):
    """Knows by itself, and not by the tree, whether the child has been made."""

    made = False

    def update_provider_tree(self, tree, nodename, allocations=None):
        if self.made:
            return
        tree.new_child(f"{nodename}-{id(self)}", nodename)
        self.made = True


class FillsItsChildOnce(MediumFakeDriver):
    """Fills the child when it makes it, and never again."""

    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        if not tree.exists(f"{nodename}-child"):
            tree.new_child(f"{nodename}-child", nodename)
            tree.update_inventory(f"{nodename}-child", {"CUSTOM_MAGIC": record(10)})


# Reshapes: the class CUSTOM_FPGA becomes FPGA


class NeverAsks(FakeRCRenameDriver):
    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, {} if allocations is None else allocations)


class AsksOnce(FakeRCRenameDriver):
    asked = False

    def update_provider_tree(self, tree, nodename, allocations=None):
        if allocations is None and self.asked:
            allocations = {}
        try:
            super().update_provider_tree(tree, nodename, allocations)
        except exceptions.ReshapeNeeded:
            self.asked = True
            raise


class KeepsAsking(FakeRCRenameDriver):
    def update_provider_tree(self, tree, nodename, allocations=None):
        if "CUSTOM_FPGA" in tree.data(nodename).inventory:
            raise exceptions.ReshapeNeeded()
        super().update_provider_tree(tree, nodename, allocations)


class AsksForEver(FakeRCRenameDriver):
    def update_provider_tree(self, tree, nodename, allocations=None):
        if "FPGA" in tree.data(nodename).inventory and allocations is None:
            raise exceptions.ReshapeNeeded()
        super().update_provider_tree(tree, nodename, allocations)


class Fails(FakeRCRenameDriver):
    def update_provider_tree(self, tree, nodename, allocations=None):
        if allocations:
            raise exceptions.ReshapeFailed(error="the moon is wrong")
        super().update_provider_tree(tree, nodename, allocations)


class Edits(FakeRCRenameDriver):
    """Reshapes, and then spoils the allocations."""

    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        if allocations is not None:
            for consumer in sorted(allocations):
                self.spoil(allocations, consumer, tree, nodename)

    def spoil(self, allocations, consumer, tree, nodename):
        raise NotImplementedError


class LosesAllocations(Edits):
    def spoil(self, allocations, consumer, tree, nodename):
        take(allocations[consumer], tree.data(nodename).uuid, "FPGA")


class DoublesAllocations(Edits):
    def spoil(self, allocations, consumer, tree, nodename):
        give(allocations[consumer], tree.data(nodename).uuid, "FPGA", 1)


class ForgetsAllocations(Edits):
    """Moves the inventory and leaves the allocations where they were."""

    def spoil(self, allocations, consumer, tree, nodename):
        uuid = tree.data(nodename).uuid
        if amount := take(allocations[consumer], uuid, "FPGA"):
            give(allocations[consumer], uuid, "CUSTOM_FPGA", amount)


class LeavesEmptyRecord(Edits):
    def spoil(self, allocations, consumer, tree, nodename):
        allocations[consumer]["allocations"]["operators"] = {"resources": {}}


class LeavesZero(Edits):
    def spoil(self, allocations, consumer, tree, nodename):
        give(allocations[consumer], tree.data(nodename).uuid, "FPGA", 0)
        give(allocations[consumer], tree.data(nodename).uuid, "VGPU", 0)


class DropsConsumer(Edits):
    def spoil(self, allocations, consumer, tree, nodename):
        del allocations[consumer]


class AddsConsumer(Edits):
    def spoil(self, allocations, consumer, tree, nodename):
        allocations["somebody"] = allocations[consumer]


class TakesOver(Edits):
    def spoil(self, allocations, consumer, tree, nodename):
        allocations[consumer]["project_id"] = "mine"


class CleansUpElsewhere(Edits):
    """Takes records on other hosts for leftovers."""

    def spoil(self, allocations, consumer, tree, nodename):
        ours = tree.get_provider_uuids(nodename)
        for uuid in set(allocations[consumer]["allocations"]) - set(ours):
            del allocations[consumer]["allocations"][uuid]


class Overfills(Edits):
    """Makes the inventory smaller than what is held of it."""

    def spoil(self, allocations, consumer, tree, nodename):
        inventory = tree.data(nodename).inventory
        tree.update_inventory(nodename, inventory | {"FPGA": record(1)})


class MovesToNowhere(Edits):
    def spoil(self, allocations, consumer, tree, nodename):
        if amount := take(allocations[consumer], tree.data(nodename).uuid, "FPGA"):
            give(allocations[consumer], "a-provider-nobody-made", "FPGA", amount)


class ReplacesTraitsInReshape(Edits):
    def spoil(self, allocations, consumer, tree, nodename):
        tree.update_traits(nodename, [])
        tree.remove_aggregates(nodename, OPERATORS_AGGREGATE)


class ReportsNothingLeftInReshape(Edits):
    def spoil(self, allocations, consumer, tree, nodename):
        tree.update_inventory(nodename, tree.data(nodename).inventory | {"VGPU": record(0)})


class RenamesForEverybody(FakeRCRenameDriver):
    """Gives the class its new name wherever it finds the old one below the node."""

    #: what it takes for its own: all, or all that bears the node's name, or all without an owner
    takes = "all"

    def update_provider_tree(self, tree, nodename, allocations=None):
        theirs = [one for one in tree.get_provider_uuids(nodename)[1:] if self.is_taken(tree, one)]
        having = [one for one in theirs if "CUSTOM_FPGA" in tree.data(one).inventory]
        if having and allocations is None:
            raise exceptions.ReshapeNeeded()
        super().update_provider_tree(tree, nodename, allocations)
        for uuid in having:
            inventory = tree.data(uuid).inventory
            inventory["FPGA"] = inventory.pop("CUSTOM_FPGA")
            tree.update_inventory(uuid, inventory)
        for body in (allocations or {}).values():
            for uuid in having:
                if amount := take(body, uuid, "CUSTOM_FPGA"):
                    give(body, uuid, "FPGA", amount)

    def is_taken(self, tree, uuid):
        one = tree.data(uuid)
        return {
            "all": True,
            "named like the node": one.name.startswith(f"{tree.data(one.parent_uuid).name}_"),
            "without an owner": not any(trait.startswith("OWNER_") for trait in one.traits),
        }[self.takes]


class RenamesWhatIsNamedLikeTheNode(RenamesForEverybody):
    takes = "named like the node"


class RenamesWhatHasNoOwner(RenamesForEverybody):
    takes = "without an owner"


class MovesTheRecordsOfOthers(Edits):
    """Leaves others' inventory alone, but not what consumers hold of it."""

    def spoil(self, allocations, consumer, tree, nodename):
        for uuid in tree.get_provider_uuids(nodename)[1:]:
            if amount := take(allocations[consumer], uuid, "FPGA"):
                give(allocations[consumer], uuid, "CUSTOM_FPGA", amount)


class TidiesUpOthers(Edits):
    """Sets traits and aggregates of all below the node."""

    def spoil(self, allocations, consumer, tree, nodename):
        for uuid in tree.get_provider_uuids(nodename)[1:]:
            tree.update_traits(uuid, [])
            tree.update_aggregates(uuid, [])


class NeedsConsumers(FakeRCRenameDriver):
    """Does the work only if somebody holds something."""

    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        if allocations == {}:
            tree.remove_traits(nodename, "CUSTOM_RESHAPED")
        else:
            tree.add_traits(nodename, "CUSTOM_RESHAPED")


class MakesNewProviders(FakeRCRenameDriver):
    """Has no patience with a child that is there already."""

    def update_provider_tree(self, tree, nodename, allocations=None):
        moves = "CUSTOM_FPGA" in tree.data(nodename).inventory
        if not moves and tree.exists(f"{nodename}-fpga"):
            super().update_provider_tree(tree, nodename, allocations)
            return
        if moves and allocations is None:
            raise exceptions.ReshapeNeeded()
        name = f"{nodename}-fpga"
        while tree.exists(name):
            name += "-again"
        tree.new_child(name, nodename)
        super().update_provider_tree(tree, nodename, allocations)


# What is below a provider of the driver's


class HasACell(MediumFakeDriver):
    """Reports VCPU on a child of the root."""

    def update_provider_tree(self, tree, nodename, allocations=None):
        inventory = self._root_inventory(tree.data(nodename).inventory)
        cell = f"{nodename}_numa0"
        if not tree.exists(cell):
            tree.new_child(cell, nodename)
        tree.update_inventory(cell, {"VCPU": inventory.pop("VCPU")})
        tree.update_inventory(nodename, inventory)


class RemovesItsCellWithAllBelow(MediumFakeDriver):
    """Reports VCPU on the root again, and cuts off the branch it was on."""

    def update_provider_tree(self, tree, nodename, allocations=None):
        cell = f"{nodename}_numa0"
        if tree.exists(cell):
            if allocations is None:
                raise exceptions.ReshapeNeeded()
            here, root = tree.data(cell).uuid, tree.data(nodename).uuid
            for body in allocations.values():
                held = body["allocations"].pop(here, None)
                if held:
                    body["allocations"][root]["resources"]["VCPU"] = held["resources"]["VCPU"]
            tree.remove(cell)
        super().update_provider_tree(tree, nodename, allocations)
