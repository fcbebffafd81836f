"""The nodes of a host, found by a command that creates no record and no identity file."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from compute import exceptions
from compute.driver import ServiceDriver
from compute.records.cell_database import CellDatabase
from compute.records.compute_node import ComputeNode
from compute.records.node_identity import NodeIdentity
from compute.service.driver_callbacks import NoopVirtAPI


class NoSuchNode(exceptions.NovaException):
    """The host has no such node, or never had a node at all."""

    msg_fmt = "Host %(host)s has no compute node %(node)s."


class CommandVirtAPI(NoopVirtAPI):
    """Answers a driver's calls from the records, and changes nothing."""

    def __init__(self, host: str, identity: NodeIdentity, cell: CellDatabase) -> None:
        super().__init__()
        self._host = host
        self._identity = identity
        self._cell = cell

    def local_node_uuid(self) -> str:
        """Return the uuid of this host's node. Raises NoSuchNode if the service never ran here."""
        known = self._identity.read()
        if known is None:
            raise NoSuchNode(
                f"Host {self._host} has neither a compute node record nor a node identity file: "
                "the compute service never ran here."
            )
        return known

    def migrating_instance(self, consumer_uuid: str) -> str | None:
        """Return the uuid of the instance on the move, if the consumer is a migration under way."""
        return self._cell.migrations.moving_instance(consumer_uuid)

    def instances_of_host(self, host: str) -> set[str]:
        """Return the uuids of the instances that are recorded as living on `host`."""
        return self._cell.instances.uuids_by_host(host)


def nodes_of(
    host: str, driver: ServiceDriver, cell: CellDatabase, wanted: Collection[str] = ()
) -> list[ComputeNode]:
    """Return the host's nodes in the order of their names, or only those `wanted`.

    For a node without a record, the driver must report a uuid; then the record is made from what
    the driver reports, and not saved. Raises NoSuchNode if the host has no such node, or none at
    all, and VirtDriverNotReady if the driver can't list its nodes yet.
    """
    nodenames = set(driver.get_available_nodes())
    for nodename in wanted:
        if nodename not in nodenames:
            listed = ", ".join(sorted(nodenames)) or "no node"
            raise NoSuchNode(
                f"Host {host} has no compute node {nodename}: its driver lists {listed}."
            )
    chosen = sorted(set(wanted) or nodenames)
    if not chosen:
        raise NoSuchNode(f"Host {host} has no compute node: its driver lists none.")
    known = {name: cell.compute_nodes.by_host_and_node(host, name) for name in chosen}
    uuids: dict[str, str] = {}
    if None in known.values():
        uuids = {name: uuid for uuid, name in driver.get_nodenames_by_uuid().items()}
    return [node or _record_from_driver(host, name, uuids, driver) for name, node in known.items()]


def _record_from_driver(
    host: str, nodename: str, uuids: Mapping[str, str], driver: ServiceDriver
) -> ComputeNode:
    if nodename not in uuids:
        raise NoSuchNode(host=host, node=nodename)
    node = ComputeNode(uuids[nodename], host, nodename)
    node.update_from_virt_driver(driver.get_available_resource(nodename))
    return node
