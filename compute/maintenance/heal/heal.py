"""Decide which allocations an instance lacks, and write them (compute.md §7.2).

`Healer.plan` decides, `Healer.apply` writes.
"""

from __future__ import annotations

import copy
import enum
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from compute import exceptions
from compute.maintenance.guests.node_trees import NodeTrees
from compute.maintenance.guests.shares import (
    givers,
    holding_of,
    node_uuid,
    own_share,
    requested,
    with_devices,
)
from compute.maintenance.guests.shortfalls import Shortfalls
from compute.maintenance.heal.completion import completed
from compute.maintenance.heal.doubling import Doubled, doubled, mended
from compute.maintenance.heal.guest_places import DriverPlaces, Knowing
from compute.maintenance.heal.placing import VGPU, PlacedShares, place
from compute.maintenance.heal.port_healing import PortHealing
from compute.maintenance.heal.ports import Port, PortAllocation, Ports
from compute.maintenance.provider_details import ProviderDetails
from compute.provider_tree.allocation_records import Allocations, Amounts, Held
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.report import SchedulerReportClient
from compute.report.consumers.allocations import CONSUMER_GENERATION_VERSION
from compute.report.consumers.consumer import write_consumer
from compute.report.wire.context import RequestContext
from compute.requests.guest_request import amounts_of
from compute.requests.running import has_device_profile
from compute.shares.known import devices


class HealStep(enum.StrEnum):
    """What has to be done for an instance."""

    CREATE = "create"
    UPDATE = "update"
    NOTHING = "nothing"
    NOT_ON_A_HOST = "not on a host"
    IN_TRANSITION = "in transition"


@dataclass(frozen=True)
class Healing:
    """What has to be done for an instance: the step, and the body of the PUT.

    `ports` are the ports that get allocations: (port, the new `allocation` of its profile).
    `reasons` is class → why it is allocated where it is, for allocations that are made anew;
    `names` is provider uuid → name, of the node's providers, if they were read. `doubled` is what
    the instance holds more than once. `lacking` is class → how much it lacks also afterwards,
    because there is no room, as `why` says. `surplus` is class → how much more it then holds than
    its flavor asks for, without what is doubled.
    """

    instance: Instance
    step: HealStep
    payload: dict[str, Any] = field(default_factory=dict)
    ports: list[tuple[Port, PortAllocation]] = field(default_factory=list)
    reasons: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    doubled: list[Doubled] = field(default_factory=list)
    lacking: Amounts = field(default_factory=dict)
    why: str = ""
    surplus: Amounts = field(default_factory=dict)

    @property
    def writes(self) -> bool:
        """Whether the step writes anything."""
        return self.step in (HealStep.CREATE, HealStep.UPDATE)


class InstanceChanged(Exception):
    """The instance isn't as it was when its allocations were planned; nothing is left written."""


class Healer:
    """Plans and applies what one instance needs.

    :param driver: says on which providers instances of this host have their resources
    :param gpu_classes: the classes of which an instance may hold more than it has, after a reshape
        or a migration that went wrong
    :param mend: whether to remove what an instance holds more than once, where it is known which
        part is too much
    """

    def __init__(
        self,
        client: SchedulerReportClient,
        context: RequestContext,
        cell: CellDatabase,
        ports: Ports,
        driver: DriverPlaces,
        gpu_classes: Iterable[str] = (VGPU,),
        mend: bool = False,
    ) -> None:
        self._client = client
        self._context = context
        self._cell = cell
        self._port_healing = PortHealing(client, context, cell, ports)
        self._driver = driver
        self._gpu_classes = sorted(gpu_classes)
        self._mend = mend
        self._seen: Allocations = {}
        self._trees = NodeTrees(client, context)
        self._shortfalls = Shortfalls(self._trees, cell)

    def look_at(self, instances: Iterable[Instance]) -> None:
        """Read at once what many instances hold, where placement offers that.

        Then `plan` sends no request for an instance that lacks nothing. It reads any other instance
        again: others may have written since. The providers of their nodes are read once, until the
        next call.

        Raises ConsumerAllocationRetrievalFailed if placement refuses, and ClientException if it is
        unreachable.
        """
        uuids = [one.uuid for one in instances if one.host is not None and one.task_state is None]
        seen = self._client.whole_trees.allocations_of_each(self._context, uuids) if uuids else {}
        self._seen = seen or {}
        self._trees.forget()

    def plan(self, instance: Instance, force: bool = False, with_ports: bool = True) -> Healing:
        """Decide what the instance lacks. With `force`, its allocations are made anew.

        An instance that is on no host, or that is being worked on, gets nothing.

        Raises HealPlaceUnknown and HealvGPUAllocationNotSupported if nobody can tell which of
        several providers the instance uses, HealDeviceProfileAllocationNotSupported if its flavor
        asks for a device profile, AllocationUpdateFailed if there is no room for its resources or
        those of its ports, ComputeHostNotFound if its node has no record, UnableToQueryPorts if the
        network service doesn't answer, and what reading providers and allocations raises.
        """
        self._trees.has_remembered = False
        if instance.task_state is not None:
            return Healing(instance, HealStep.IN_TRANSITION)
        if instance.node is None or instance.host is None:
            return Healing(instance, HealStep.NOT_ON_A_HOST)
        seen = self._seen.pop(instance.uuid, None)
        if seen is not None and seen["allocations"] and not force:
            healing = self._decide(instance, seen, False, with_ports)
            if not healing.writes:
                return healing
        current = self._client.get_allocs_for_consumer(self._context, instance.uuid)
        return self._decide(instance, current, force, with_ports)

    def _decide(
        self, instance: Instance, current: Mapping[str, Any], force: bool, with_ports: bool
    ) -> Healing:
        """Decide what the instance lacks, given its `current` allocations.

        1. Without allocations, or with `force`, it gets all that its flavor asks for.
        2. Otherwise it keeps its allocations. Project and user are corrected. It gets what it
           lacks. What it holds more than once is found, and with `mend` removed.
        3. With `with_ports`, it gets the resources that its ports request and lack.
        """
        step, payload = self._with_its_owner(instance, current)
        placement, names = PlacedShares({}, {}), dict[str, str]()
        doubles: list[Doubled] = []
        surplus: Amounts = {}
        rebuilt = force or not current["allocations"]
        if rebuilt:
            step = HealStep.UPDATE if current["allocations"] else HealStep.CREATE
            placement, names = self._new_allocations(instance, current)
            payload["allocations"] = dict(placement.allocations)
        else:
            misfit = self._shortfalls.of(instance, current["allocations"])
            if missing := misfit.lacking:
                placement, names = self._new_allocations(instance, current)
                whole = completed(payload["allocations"], placement.allocations, missing)
                if whole != payload["allocations"]:
                    step, payload["allocations"] = HealStep.UPDATE, whole
            doubles, told = self._held_twice(instance, payload["allocations"])
            names |= told
            if self._mend and any(one.can_be_mended for one in doubles):
                step = HealStep.UPDATE
                payload["allocations"] = mended(payload["allocations"], doubles)
            if misfit.surplus:
                # What was completed, or mended, may be right now.
                told_already = {one.resource_class for one in doubles}
                left = self._shortfalls.of(instance, payload["allocations"]).surplus
                surplus = {name: n for name, n in left.items() if name not in told_already}
        if not payload["allocations"]:
            # Nothing of it has room: there is nothing to write.
            step = HealStep.NOTHING
        placed: list[tuple[Port, PortAllocation]] = []
        if with_ports:
            before = copy.deepcopy(payload)
            placed = self._port_healing.add(instance, payload, rebuilt)
            if payload != before and step is HealStep.NOTHING:
                step = HealStep.UPDATE
        return Healing(
            instance,
            step,
            payload,
            placed,
            placement.reasons,
            names,
            doubles,
            placement.lacking,
            placement.why,
            surplus,
        )

    def apply(self, healing: Healing) -> None:
        """Write what was planned: first the ports. If the allocations are refused, undo the ports.

        What was created for an instance that was deleted or moved meanwhile is removed again.

        Raises InstanceChanged, AllocationUpdateFailed, UnableToUpdatePorts,
        UnableToRollbackPortUpdates if the ports can't be put back, PlacementAPIConnectFailure, and
        ClientException.
        """
        if not self._is_as_planned(healing.instance):
            raise InstanceChanged
        with self._port_healing.updated(healing.ports):
            self._write(healing)
            if healing.step is HealStep.CREATE:
                self._trees.count(healing.payload["allocations"])
            else:
                self._trees.forget()
            if healing.step is HealStep.CREATE and not self._is_as_planned(healing.instance):
                self._take_back(healing)
                raise InstanceChanged

    def forget(self) -> bool:
        """Forget providers: others may have allocated what seemed to be free.

        Return whether the last plan was made from providers that were read for another one.
        """
        self._trees.forget()
        return self._trees.has_remembered

    def _is_as_planned(self, instance: Instance) -> bool:
        """Say whether the instance still is where it was, and nothing is being done with it."""
        now = self._cell.instances.by_uuid(instance.uuid)
        return (
            now is not None
            and not now.deleted
            and now.task_state is None
            and (now.host, now.node) == (instance.host, instance.node)
        )

    def _write(self, healing: Healing) -> None:
        instance = healing.instance
        if self._client.put_allocations(self._context, instance.uuid, healing.payload):
            return
        # put_allocations doesn't report the reason; a second attempt does.
        body = healing.payload | {"version": CONSUMER_GENERATION_VERSION}
        write_consumer(
            self._client, self._context, instance.uuid, body, healing.payload["allocations"]
        )

    def _take_back(self, healing: Healing) -> None:
        """Remove what was just created, unless somebody changed it since."""
        uuid = healing.instance.uuid
        self._trees.forget()
        now = self._client.get_allocs_for_consumer(self._context, uuid)
        if _resources(now["allocations"]) == _resources(healing.payload["allocations"]):
            body = now | {"version": CONSUMER_GENERATION_VERSION}
            write_consumer(self._client, self._context, uuid, body, {})

    def _with_its_owner(
        self, instance: Instance, current: Mapping[str, Any]
    ) -> tuple[HealStep, dict[str, Any]]:
        """Return the body of a PUT that only sets the owner, and UPDATE if the owner is wrong."""
        body = {
            "allocations": {
                provider: {"resources": dict(part["resources"])}
                for provider, part in current["allocations"].items()
            },
            "project_id": instance.project_id,
            "user_id": instance.user_id,
            "consumer_generation": current.get("consumer_generation"),
        }
        owner = (current.get("project_id"), current.get("user_id"))
        same = owner == (instance.project_id, instance.user_id)
        return (HealStep.NOTHING if same else HealStep.UPDATE), body

    def _new_allocations(
        self, instance: Instance, current: Mapping[str, object]
    ) -> tuple[PlacedShares, dict[str, str]]:
        """Return all allocations that the instance should have, and provider uuid → name."""
        if has_device_profile(instance.flavor):
            raise exceptions.HealDeviceProfileAllocationNotSupported(instance_uuid=instance.uuid)
        tree = self._trees.of(node_uuid(self._cell, instance))
        share = own_share(holding_of(self._cell, instance))
        has = _amounts(current)
        own = devices(share, instance.node or "", givers(tree, instance.uuid))
        request = with_devices(requested(instance, tree, has), own)
        pools: list[ProviderDetails] = []

        def read_pools() -> list[ProviderDetails]:
            pools.extend(self._trees.sharing_with(*tree))
            return pools

        knowing = Knowing(self._driver, share, instance, tree)
        placement = place(instance, request, tree, read_pools, knowing, has)
        return placement, {one.uuid: one.name for one in (*tree, *pools)}

    def _held_twice(
        self, instance: Instance, allocations: Mapping[str, Any]
    ) -> tuple[list[Doubled], dict[str, str]]:
        """Return what the instance holds more than once of its node, and provider uuid → name."""
        has = Counter[str]()
        for part in allocations.values():
            has.update(part["resources"])
        if not any(has[name] > 1 for name in self._gpu_classes):
            return [], {}
        asked = amounts_of(requested(instance, [], {}))
        suspected = {
            name: asked[name]
            for name in self._gpu_classes
            if name in asked and has[name] > asked[name]
        }
        if not suspected:
            return [], {}
        held = holding_of(self._cell, instance)
        if held.moves:
            return [], {}
        tree = self._trees.of(node_uuid(self._cell, instance))
        knowing = Knowing(self._driver, own_share(held), instance, tree)
        names = {one.uuid: one.name for one in tree}
        return doubled(suspected, allocations, names, knowing), names


def _amounts(body: Mapping[str, Any]) -> Held:
    return {uuid: dict(part["resources"]) for uuid, part in body["allocations"].items()}


def _resources(allocations: Mapping[str, Any]) -> dict[object, object]:
    return {provider: part["resources"] for provider, part in allocations.items()}
