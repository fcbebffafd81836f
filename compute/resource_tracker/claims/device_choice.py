"""Which PCI devices a claim takes: those ordered, else free ones (compute.md §4.11)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from compute import exceptions
from compute.pci import devices as pci
from compute.pci import placement_translator
from compute.pci.device_healing import DeviceProvider
from compute.pci.devices import Device
from compute.pci.tags import NETWORK
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.resource_tracker.allocations.device_shares import DeviceNotes
from compute.resource_tracker.claims.numa_fit import CellSet
from compute.resource_tracker.claims.orders import OrderBook, Orders
from compute.resource_tracker.node.node import TrackedNode


class ChosenDevices(NamedTuple):
    """The devices of a claim, marked as the instance's; or why it can't have them.

    `cells` are the host cells that they are near, if the instance has cells.
    """

    devices: list[Device]
    problem: str | None = None
    cells: frozenset[int] | None = None


class _Refused(Exception):
    """The claim can't have its devices; the text says why."""


class DeviceChoice:
    """Chooses devices. Call it under the node's lock."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        reportclient: SchedulerReportClient,
        orders: OrderBook,
        notes: DeviceNotes,
    ) -> None:
        self._conf = conf
        self._reportclient = reportclient
        self._orders = orders
        self._notes = notes

    def choose(
        self,
        context: RequestContext,
        node: TrackedNode,
        instance_uuid: str,
        requests: Sequence[Mapping[str, object]],
        orders: Orders,
        cell_sets: Sequence[CellSet] = (),
    ) -> ChosenDevices:
        """Return the devices that are ordered; if none are, free ones that are as requested.

        :param cell_sets: the sets of host cells that the instance fits on. Devices are near one of
            them, as the `numa_policy` of their request says; nova's default is `legacy`

        A device that placement has is free if it has room there: it isn't reserved, and not
        allocated to anybody. With orders, requests that they don't serve get devices that placement
        doesn't have, such as those of a physical network.
        """
        places = self._orders.places(node)
        try:
            ordered = self._ordered(context, node, instance_uuid, orders, places)
            if not requests and not ordered:
                return ChosenDevices([])
            own = frozenset() if orders.anew else _owned(node, instance_uuid)
            free = self._free(node, places, own, is_ordered=bool(ordered))
            wanted = requests or [{"count": 1} for _ in ordered]
            room = _Room(self, context, places, wanted, free)
            found, cells = _near(
                cell_sets, lambda near: pci.assign(wanted, ordered, free, room.has, near)
            )
        except _Refused as refused:
            return ChosenDevices([], f"Claim pci failed: {refused}")
        except (
            exceptions.ResourceProviderAllocationRetrievalFailed,
            ClientException,
        ) as failure:
            return ChosenDevices([], f"Claim pci failed: placement can't be asked: {failure}")
        if found is None:
            problem = _shortage(requests, ordered)
            if cell_sets and pci.assign(wanted, ordered, free, room.has) is not None:
                problem = "no such devices are near NUMA cells that the instance fits on"
            return ChosenDevices([], f"Claim pci failed: {problem}")
        mark = {"instance_uuid": instance_uuid, "status": "allocated"}
        return ChosenDevices([{**device, **mark} for device in found], cells=cells)

    def room_of(self, context: RequestContext, uuid: str, place: DeviceProvider) -> int:
        """Return how many devices of a provider placement would allocate.

        Raises _Refused if placement doesn't tell: that isn't the same as having none.
        """
        answer = self._reportclient.get(f"/resource_providers/{uuid}/inventories")
        if answer.status_code not in (200, 404):
            raise _Refused(
                f"placement doesn't tell what is free of {place.name}: {answer.status_code}"
            )
        inventories = answer.json()["inventories"] if answer.status_code == 200 else {}
        record = inventories.get(place.resource_class)
        holders = self._holders(context, uuid, place.resource_class)
        self._notes.forget_all_but(uuid, holders)
        if record is None:
            return 0
        total = min(record["total"], len(place.addresses))
        return total - record["reserved"] - sum(holders.values())

    def _holders(self, context: RequestContext, uuid: str, resource_class: str) -> dict[str, int]:
        """Return consumer → how much it holds of a class of the provider."""
        found = self._reportclient.get_allocations_for_resource_provider(context, uuid)
        return {
            consumer: part["resources"][resource_class]
            for consumer, part in found.allocations.items()
            if resource_class in part["resources"]
        }

    def _free(
        self,
        node: TrackedNode,
        places: Mapping[str, DeviceProvider],
        own: Collection[str],
        is_ordered: bool,
    ) -> list[Device]:
        """Return the devices that nobody else has and that may be chosen, those of `own` first."""
        reported = {address for place in places.values() for address in place.addresses}
        in_placement = self._conf.pci.report_in_placement
        owners = node.device_owners()
        others = {address: owner for address, owner in owners.items() if address not in own}
        taken = others.keys() | pci.ruled_out(node.pci_devices, others).keys()
        free = [
            device
            for device in node.pci_devices
            if device["address"] not in taken
            and (
                not in_placement
                or device.get(NETWORK)
                or (device["address"] in reported and not is_ordered)
            )
        ]
        return sorted(free, key=lambda device: device["address"] not in own)

    def _ordered(
        self,
        context: RequestContext,
        node: TrackedNode,
        instance_uuid: str,
        orders: Orders,
        places: Mapping[str, DeviceProvider],
    ) -> list[Device]:
        """Return the devices behind the ordered providers. Raises _Refused if one isn't free."""
        if node.tree is None or not self._conf.pci.report_in_placement:
            return []
        names = placement_translator.managed(node.tree, node.name)
        names = {uuid: name for name, uuid in names.items()}
        owners = node.device_owners()
        ruled_out = pci.ruled_out(node.pci_devices, owners)
        by_address = {device["address"]: device for device in node.pci_devices}
        found: list[Device] = []
        for uuid, part in orders.parts.items():
            if uuid not in names:
                continue
            if uuid not in places:
                raise _Refused(f"the devices of {names[uuid]} are gone")
            amount = part.get(places[uuid].resource_class, 0)
            if not amount:
                continue
            listed = places[uuid].addresses
            mine = [one for one in listed if owners.get(one) == instance_uuid]
            free = [one for one in listed if one not in owners and one not in ruled_out]
            usable = [*free, *mine] if orders.anew else [*mine, *free]
            if len(usable) < amount:
                held = _told(listed, {**ruled_out, **owners}, instance_uuid)
                raise _Refused(
                    held or f"{amount} of {names[uuid]} are allocated, it has {len(listed)}"
                )
            holders = self._holders(context, uuid, places[uuid].resource_class)
            holders.pop(orders.consumer, None)
            if sum(holders.values()) + amount > len(listed):
                raise _Refused(f"{names[uuid]} is allocated to {', '.join(sorted(holders))}, too")
            found += [by_address[one] for one in usable[:amount]]
        return found


class _Room:
    """Says which free devices placement has room for; a provider is asked once, when needed."""

    def __init__(
        self,
        choice: DeviceChoice,
        context: RequestContext,
        places: Mapping[str, DeviceProvider],
        requests: Sequence[Mapping[str, object]],
        free: Sequence[Device],
    ) -> None:
        self._choice = choice
        self._context = context
        self._places = places
        self._provider_of = {
            address: uuid for uuid, place in places.items() for address in place.addresses
        }
        self._suitable = [one["address"] for one in free if pci.meets_any(one, requests)]
        self._usable: dict[str, Collection[str]] = {}

    def has(self, device: Device) -> bool:
        """Say whether the device may be taken."""
        uuid = self._provider_of.get(device["address"])
        if uuid is None or device.get(NETWORK):
            return True
        if uuid not in self._usable:
            room = self._choice.room_of(self._context, uuid, self._places[uuid])
            own = [one for one in self._suitable if self._provider_of.get(one) == uuid]
            self._usable[uuid] = own[: max(room, 0)]
        return device["address"] in self._usable[uuid]


def _near(
    cell_sets: Sequence[CellSet],
    choose: Callable[[Callable[[Device, pci.Request], bool]], list[Device] | None],
) -> tuple[list[Device] | None, frozenset[int] | None]:
    """Return the devices for the first set of cells that has them near, and the set.

    Requests with the policy `preferred` get devices that are near, if there is a set for that.
    """
    if not cell_sets:
        return choose(lambda device, request: True), None
    for preferred in ("required", "preferred"):
        for one in cell_sets:

            def is_near(
                device: Device,
                request: pci.Request,
                one: CellSet = one,
                preferred: str = preferred,
            ) -> bool:
                policy = request.get("numa_policy") or "legacy"
                policy = preferred if policy == "preferred" else policy
                return one.has_near(device.get("numa_node"), policy)

            if (found := choose(is_near)) is not None:
                return found, one.cells
    return None, None


def _owned(node: TrackedNode, instance_uuid: str) -> frozenset[str]:
    owners = node.device_owners()
    return frozenset(one for one, owner in owners.items() if owner == instance_uuid)


def _told(listed: Sequence[str], owners: Mapping[str, str], instance_uuid: str) -> str:
    return ", ".join(
        f"{one} is held by instance {owners[one]}"
        for one in listed
        if owners.get(one) not in (None, instance_uuid)
    )


def _shortage(requests: Sequence[Mapping[str, Any]], ordered: Sequence[Device]) -> str:
    asked = sum(request["count"] for request in requests)
    if not ordered:
        return f"{asked} devices requested, too few are free"
    addresses = ", ".join(device["address"] for device in ordered)
    return f"{asked} devices requested, which the allocated {addresses} don't meet"
