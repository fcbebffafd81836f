"""Give instances the allocations that they should have (compute.md §7.2)."""

from __future__ import annotations

import contextlib
import copy
import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.consumers.instance_resources import resources_from_flavor
from compute.maintenance.placing import Places, place
from compute.maintenance.ports import Port, Ports
from compute.maintenance.provider_details import read_sharing, read_tree
from compute.provider_tree.allocation_records import Allocations
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.report import SchedulerReportClient
from compute.report.allocations import CONSUMER_GENERATION_VERSION
from compute.report.consumer import write_consumer
from compute.report.context import RequestContext
from compute.report.resource_request import RequestGroup, ResourceRequest

_VGPU = re.compile(r"resources[^:]*:VGPU")


class Step(enum.StrEnum):
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
    """

    instance: Instance
    step: Step
    payload: dict[str, Any] = field(default_factory=dict)
    ports: list[tuple[Port, Any]] = field(default_factory=list)

    @property
    def writes(self) -> bool:
        """Whether the step writes anything."""
        return self.step in (Step.CREATE, Step.UPDATE)


class Healer:
    """Plans and applies what one instance needs."""

    def __init__(
        self,
        client: SchedulerReportClient,
        context: RequestContext,
        cell: CellDatabase,
        ports: Ports,
    ) -> None:
        self._client = client
        self._context = context
        self._cell = cell
        self._ports = ports
        self._seen: Allocations = {}

    def look_at(self, instances: Iterable[Instance]) -> None:
        """Read at once what many instances hold, where placement offers that.

        What is settled needs no request of its own then. An instance that needs something is read
        again when it is planned: others may have written since.

        Raises ConsumerAllocationRetrievalFailed and ClientException.
        """
        uuids = [one.uuid for one in instances if one.host is not None and one.task_state is None]
        seen = self._client.whole_trees.allocations_of_each(self._context, uuids) if uuids else {}
        self._seen = seen or {}

    def plan(self, instance: Instance, force: bool = False, with_ports: bool = True) -> Healing:
        """Work out what the instance needs. With `force`, its allocations are made anew.

        New allocations are made where the node's tree has the classes; see
        compute.maintenance.placing.

        Raises HealvGPUAllocationNotSupported, HealDeviceProfileAllocationNotSupported,
        ComputeHostNotFound without a record of its node, ConsumerAllocationRetrievalFailed,
        UnableToQueryPorts, AllocationUpdateFailed if there is no place for its resources or its
        ports', ResourceProviderNotFound, ResourceProviderRetrievalFailed,
        ResourceProviderAllocationRetrievalFailed, and ClientException.
        """
        if instance.task_state is not None:
            return Healing(instance, Step.IN_TRANSITION)
        if instance.node is None or instance.host is None:
            return Healing(instance, Step.NOT_ON_A_HOST)
        _refuse_unsupported(instance)
        seen = self._seen.pop(instance.uuid, None)
        if seen is not None and seen["allocations"] and not force:
            healing = self._planned(instance, seen, False, with_ports)
            if not healing.writes:
                return healing
        current = self._client.get_allocs_for_consumer(self._context, instance.uuid)
        return self._planned(instance, current, force, with_ports)

    def _planned(
        self, instance: Instance, current: Mapping[str, Any], force: bool, with_ports: bool
    ) -> Healing:
        step, payload = self._wanted(instance, current, force)
        placed: list[tuple[Port, Any]] = []
        if with_ports:
            rebuilt = force or not current["allocations"]
            placed = self._place_ports(instance, payload, rebuilt)
            if placed and step is Step.NOTHING:
                step = Step.UPDATE
        return Healing(instance, step, payload, placed)

    def apply(self, healing: Healing) -> None:
        """Write what was planned: first the ports. If the allocations are refused, undo the ports.

        Raises AllocationUpdateFailed, UnableToUpdatePorts, UnableToRollbackPortUpdates,
        PlacementAPIConnectFailure, and ClientException.
        """
        with self._updated_ports(healing.ports):
            instance = healing.instance
            if self._client.put_allocations(self._context, instance.uuid, healing.payload):
                return
            # put_allocations doesn't report the reason; a second attempt does.
            body = healing.payload | {"version": CONSUMER_GENERATION_VERSION}
            write_consumer(
                self._client, self._context, instance.uuid, body, healing.payload["allocations"]
            )

    def _wanted(
        self, instance: Instance, current: Mapping[str, Any], force: bool
    ) -> tuple[Step, dict[str, Any]]:
        body = {
            "allocations": {
                provider: {"resources": dict(part["resources"])}
                for provider, part in current["allocations"].items()
            },
            "project_id": instance.project_id,
            "user_id": instance.user_id,
            "consumer_generation": current.get("consumer_generation"),
        }
        if force or not current["allocations"]:
            resources = resources_from_flavor(instance.flavor, instance.booted_from_volume)
            body["allocations"] = self._placed(instance, resources)
            return (Step.UPDATE if current["allocations"] else Step.CREATE), body
        owner = (current.get("project_id"), current.get("user_id"))
        same = owner == (instance.project_id, instance.user_id)
        return (Step.NOTHING if same else Step.UPDATE), body

    def _placed(self, instance: Instance, resources: Mapping[str, int]) -> Places:
        tree = read_tree(self._client, self._context, self._node_uuid(instance))
        root = tree[0]
        return place(
            instance, resources, tree, lambda: read_sharing(self._client, self._context, root)
        )

    def _node_uuid(self, instance: Instance) -> str:
        node = self._cell.compute_nodes.by_host_and_node(instance.host or "", instance.node or "")
        if node is None:
            raise exceptions.ComputeHostNotFound(host=instance.host)
        return node.uuid

    # Ports

    def _place_ports(
        self, instance: Instance, payload: dict[str, Any], rebuilt: bool
    ) -> list[tuple[Port, Any]]:
        """Add what the instance's ports lack to `payload`; return the new allocation of each port.

        :param rebuilt: `payload` is made anew, and lacks the ports that have allocations, too
        """
        ports = [port for port in self._ports.of_instance(instance.uuid) if port.groups()]
        lacking = [port for port in ports if port.lacks_allocation]
        if rebuilt:
            settled = [port for port in ports if not port.lacks_allocation]
            lacking += self._give_back(instance, payload, settled)
        if not lacking:
            return []
        candidate = self._only_candidate(instance, lacking)
        for provider, part in candidate["allocations"].items():
            _add(payload, provider, part["resources"])
        return [(port, port.placed(candidate["mappings"])) for port in lacking]

    def _give_back(
        self, instance: Instance, payload: dict[str, Any], ports: list[Port]
    ) -> list[Port]:
        """Add the allocations of ports to `payload`; return ports with allocations elsewhere."""
        if not ports:
            return []
        rows = self._client.get_providers_in_tree(self._context, self._node_uuid(instance))
        here = {row["uuid"] for row in rows}
        elsewhere = []
        for port in ports:
            got = port.got()
            if any(provider not in here for provider, _ in got):
                elsewhere.append(port)
                continue
            for provider, resources in got:
                _add(payload, provider, resources)
        return elsewhere

    def _only_candidate(self, instance: Instance, ports: list[Port]) -> dict[str, Any]:
        root = self._node_uuid(instance)
        groups = {
            suffix: RequestGroup(group.resources, group.required_traits, in_tree=root)
            for port in ports
            for suffix, group in port.groups().items()
        }
        request = ResourceRequest(
            groups,
            group_policy="none" if len(groups) > 1 else None,
            same_subtree=tuple(port.same_subtree() for port in ports if port.same_subtree()),
        )
        found = self._client.get_allocation_candidates(self._context, request)
        if found is None:
            raise exceptions.PlacementAPIConnectFailure()
        candidates = found[0] or []
        if len(candidates) != 1:
            raise exceptions.AllocationUpdateFailed(
                consumer_uuid=instance.uuid,
                error=f"there are {len(candidates)} candidates for the resources of its ports "
                f"{', '.join(port.id for port in ports)}, and one is needed",
            )
        return copy.deepcopy(candidates[0])

    @contextlib.contextmanager
    def _updated_ports(self, ports: list[tuple[Port, Any]]) -> Iterator[None]:
        done: list[Port] = []
        try:
            for port, allocation in ports:
                self._set(port, allocation)
                done.append(port)
            yield
        except BaseException:
            self._set_back(done)
            raise

    def _set(self, port: Port, allocation: Any) -> None:
        try:
            self._ports.set_allocation(port, allocation)
        except BaseException:
            # The port may be updated although the answer was lost.
            with contextlib.suppress(exceptions.UnableToUpdatePorts):
                self._ports.set_allocation(port, port.allocation)
            raise

    def _set_back(self, ports: list[Port]) -> None:
        failed, errors = [], []
        for port in ports:
            try:
                self._ports.set_allocation(port, port.allocation)
            except (exceptions.UnableToUpdatePorts, ClientException) as error:
                failed.append(port.id)
                errors.append(str(error))
        if failed:
            raise exceptions.UnableToRollbackPortUpdates(
                error="; ".join(errors), port_uuids=", ".join(failed)
            )


def _add(payload: dict[str, Any], provider: str | None, resources: Mapping[str, int]) -> None:
    held = payload["allocations"].setdefault(provider, {"resources": {}})["resources"]
    for name, amount in resources.items():
        held[name] = held.get(name, 0) + amount


def _refuse_unsupported(instance: Instance) -> None:
    specs = instance.flavor.extra_specs
    if any(_VGPU.fullmatch(name) for name in specs):
        raise exceptions.HealvGPUAllocationNotSupported(instance_uuid=instance.uuid)
    if "accel:device_profile" in specs:
        raise exceptions.HealDeviceProfileAllocationNotSupported(instance_uuid=instance.uuid)
