"""What the ports of an instance lack, and the allocations in their binding profiles."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping
from typing import Any

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.maintenance.guests.shares import node_uuid
from compute.maintenance.heal.ports import Port, PortAllocation, Ports
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.report import SchedulerReportClient
from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from compute.report.wire.context import RequestContext


class PortHealing:
    """Plans the allocations of instances' ports, and writes them into the ports' profiles."""

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

    def add(
        self, instance: Instance, payload: dict[str, Any], rebuilt: bool
    ) -> list[tuple[Port, PortAllocation]]:
        """Add what the instance's ports lack to `payload`; return the new allocation of each port.

        :param rebuilt: whether `payload` was made anew from the flavor: then it lacks also the
            allocations of the ports that have some already
        """
        ports = [port for port in self._ports.of_instance(instance.uuid) if port.groups()]
        lacking = [port for port in ports if port.lacks_allocation]
        settled = [port for port in ports if not port.lacks_allocation]
        if rebuilt:
            lacking += self._add_settled_ports(instance, payload, settled)
        else:
            # Another run was killed between its write of the port and that of the allocations.
            self._add_settled_ports(
                instance, payload, [one for one in settled if _lost(one, payload)]
            )
        if not lacking:
            return []
        candidate = self._only_candidate(instance, lacking)
        for provider, part in candidate["allocations"].items():
            _add(payload, provider, part["resources"])
        return [(port, port.placed(candidate["mappings"])) for port in lacking]

    def _add_settled_ports(
        self, instance: Instance, payload: dict[str, Any], ports: list[Port]
    ) -> list[Port]:
        """Add what the ports have already to `payload`; return those with allocations elsewhere."""
        if not ports:
            return []
        rows = self._client.get_providers_in_tree(self._context, node_uuid(self._cell, instance))
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
        root = node_uuid(self._cell, instance)
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
    def updated(self, ports: list[tuple[Port, PortAllocation]]) -> Iterator[None]:
        """Write the allocations of ports, and undo that if the body raises.

        Raises UnableToUpdatePorts if a port can't be written, and UnableToRollbackPortUpdates if
        one can't be put back.
        """
        done: list[Port] = []
        try:
            for port, allocation in ports:
                self._set(port, allocation)
                done.append(port)
            yield
        except BaseException:
            self._set_back(done)
            raise

    def _set(self, port: Port, allocation: PortAllocation) -> None:
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


def _lost(port: Port, payload: Mapping[str, Any]) -> bool:
    """Say whether the port's profile names an allocation that the payload lacks."""
    held = payload["allocations"]
    return any(
        resources.keys() - held.get(provider, {"resources": {}})["resources"].keys()
        for provider, resources in port.got()
    )
