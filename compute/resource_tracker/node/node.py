"""One node of this host as the resource tracker knows it: its record, and what is held of it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from compute.consumers import held_shares
from compute.consumers.held_shares import InstanceHolding, Share
from compute.pci.devices import Device, with_gone_functions
from compute.provider_tree import ProviderSubTree, Resource
from compute.provider_tree.allocation_records import Amounts, ProviderAmounts
from compute.records.compute_node import ComputeNode
from compute.records.instance import Instance, allows_resource_removal
from compute.records.migration import Migration
from compute.resource_tracker.node.stats import Stats


class Recorded(NamedTuple):
    """What the cell database says of a node.

    `instances` are those on the node. `migrations` are those from or to the node that are in
    progress or failed. `holdings` is instance uuid → what that instance holds of the node; it is
    empty for an instance whose move here is being reverted.
    """

    instances: list[Instance] = []
    migrations: list[Migration] = []
    holdings: dict[str, InstanceHolding] = {}


class SettledShares(NamedTuple):
    """What the tracker last found a consumer to have, and for which wish; see `wish`."""

    wish: Hashable
    has: ProviderAmounts


@dataclass
class TrackedNode:
    """A node and all that the tracker knows of it; guarded by the node's lock.

    :param record: the node's record in the cell database
    :param saved: a copy of the record as last saved; None: the record has to be saved
    :param instances: uuid → instance, of the instances on the node
    :param holdings: instance uuid → what that instance holds of the node
    :param pci_devices: the devices that the driver listed at the last update
    :param pci_claims: instance uuid → devices that are claimed for it and not allocated yet
    :param own: the consumers whose allocations of the node the tracker writes
    :param own_classes: consumer → classes of which the tracker wrote it some, as flavors named them
    :param settled: consumer → what the tracker last found to be in placement
    :param lacking: consumer → class → how much it lacks in placement, as was logged last
    :param excess: the same of what it has too much
    :param tree: the providers as last handed to the report client
    :param changed: whether the last update changed anything of these providers
    :param reshaped: whether the last update reshaped them
    :param mark: the mark of the cell database when `recorded` was read
    :param audited: the consumers at the last audit, and its time
    :param told: consumer → what the last audit logged about it
    :param devices_told: what the last update logged about devices
    :param devices_corrected: the consumers and providers of which it took away what it once gave
    :param devices_unreserved: whether it allocated a device for one use, which isn't reserved yet
    """

    record: ComputeNode
    saved: ComputeNode | None = None
    stats: Stats = field(default_factory=Stats)
    instances: dict[str, Instance] = field(default_factory=dict)
    holdings: dict[str, InstanceHolding] = field(default_factory=dict)
    pci_devices: list[Device] = field(default_factory=list)
    pci_claims: dict[str, list[Device]] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    own_classes: dict[str, set[str]] = field(default_factory=dict)
    settled: dict[str, SettledShares] = field(default_factory=dict)
    lacking: dict[str, Amounts] = field(default_factory=dict)
    excess: dict[str, Amounts] = field(default_factory=dict)
    tree: ProviderSubTree | None = None
    changed: bool = False
    reshaped: bool = False
    mark: Hashable = None
    recorded: Recorded = field(default_factory=Recorded)
    audited: tuple[Hashable, float] | None = None
    told: dict[str, str] = field(default_factory=dict)
    devices_told: set[str] = field(default_factory=set)
    devices_corrected: set[tuple[str, str]] = field(default_factory=set)
    devices_unreserved: bool = False

    @property
    def name(self) -> str:
        """The node's name, which is also the name of its root provider."""
        return self.record.hypervisor_hostname

    @property
    def uuid(self) -> str:
        """The uuid of the record, which is also the uuid of the root provider."""
        return self.record.uuid

    # What is held

    @property
    def migrations(self) -> dict[str, Migration]:
        """Instance uuid → the migration that something is held for."""
        return {
            uuid: held.migration
            for uuid, held in self.holdings.items()
            if held.migration is not None and held.moves
        }

    def left_by_revert(self) -> dict[str, InstanceHolding]:
        """Return the holdings, all empty, of instances whose move here is being reverted."""
        return {
            uuid: held
            for uuid, held in self.recorded.holdings.items()
            if not held.shares
            and held.migration is not None
            and held_shares.is_reverting(held.instance, held.migration)
        }

    def shares(self) -> list[Share]:
        """Return all shares that are held."""
        return [share for held in list(self.holdings.values()) for share in held.shares]

    def taken_devices(self) -> set[str]:
        """Return the addresses of the PCI devices that are held or claimed."""
        return set(self.device_owners())

    def device_owners(self) -> dict[str, str]:
        """Return address → uuid of the instance that holds the device or has claimed it."""
        owners = {
            address: uuid
            for uuid, held in list(self.holdings.items())
            for share in held.shares
            for address in share.addresses
        }
        for uuid, devices in self.pci_claims.items():
            owners.update((device["address"], uuid) for device in devices)
        return owners

    def reported_devices(self) -> list[Device]:
        """Return the PCI devices that placement has to know: those listed, and functions in use."""
        held = [device for share in self.shares() for device in share.pci_devices]
        return with_gone_functions(self.pci_devices, held)

    def placed_topologies(self, without: str | None = None) -> list[dict[str, object]]:
        """Return the NUMA topologies of the shares, with the host cell of each instance cell.

        :param without: the uuid of an instance whose shares don't count
        """
        return [
            dict(share.numa_topology)
            for uuid, held in list(self.holdings.items())
            for share in held.shares
            if share.numa_topology and uuid != without
        ]

    def assigned_resources(self) -> set[Resource]:
        """Return the resources that are assigned to instances."""
        return {resource for share in self.shares() for resource in share.resources}

    # Changes. `usage.count` then brings the numbers of the record up to date.

    def follow(self, recorded: Recorded) -> None:
        """Replace what instances hold by what the records say.

        Devices that are claimed for an instance are free again once the instance has left.
        """
        before = self.instances.keys() | self.holdings.keys()
        self.instances = {
            instance.uuid: instance
            for instance in recorded.instances
            if not allows_resource_removal(instance.vm_state, instance.task_state)
        }
        self.holdings = {uuid: held for uuid, held in recorded.holdings.items() if held.shares}
        for uuid in before - self.instances.keys() - self.holdings.keys():
            self.pci_claims.pop(uuid, None)
        self.stats.start_over()
        for instance in self.instances.values():
            self.stats.update_for_instance(instance)

    def hold(self, held: InstanceHolding) -> None:
        """Remember what an instance holds now, in place of what it held before."""
        if held.shares:
            self.holdings[held.instance.uuid] = held
        else:
            self.holdings.pop(held.instance.uuid, None)

    def track(self, instance: Instance) -> None:
        """Remember the instance, as it is now, as one of the node."""
        self.instances[instance.uuid] = instance
        self.stats.update_for_instance(instance)

    def untrack(self, instance: Instance) -> None:
        """Forget the instance, all that it held, and the devices that are claimed for it."""
        self.instances.pop(instance.uuid, None)
        self.pci_claims.pop(instance.uuid, None)
        self.stats.update_for_instance(instance, is_removed=True)
        self.hold(InstanceHolding(instance))
