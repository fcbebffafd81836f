"""Whether this host is the host of its records (compute.md §5.4)."""

from compute import exceptions
from compute.driver import ServiceDriver
from compute.records.cell_database import CellDatabase
from compute.records.node_identity import NodeIdentity
from compute.records.service import Service


class StartChecks:
    """Refuses to start the service on another host, or on a host that was renamed."""

    def __init__(
        self, host: str, driver: ServiceDriver, cell: CellDatabase, identity: NodeIdentity
    ) -> None:
        self._host = host
        self._driver = driver
        self._cell = cell
        self._identity = identity
        # true for a host without a record of this service, until its driver has listed no instances
        self._is_new = False

    def run(self, service_ref: Service | None) -> None:
        """Check the host once its driver is started; the first start makes the node identity.

        :param service_ref: the service's record; None at the very first start of this host

        Raises InvalidConfiguration if identity and records contradict each other.
        """
        self._is_new = service_ref is None
        self.refuse_running_instances()
        if self._driver.rebalances_nodes:
            return
        if service_ref is None:
            self._identity.read_or_create()
        elif self._identity.read() is None:
            raise exceptions.InvalidConfiguration(
                f"Host {self._host} ran this service before, but its node identity file is gone. "
                "Restore it: a new one would be a new resource provider."
            )
        self._refuse_renamed_host()

    def refuse_running_instances(self) -> None:
        """Refuse a new host that has instances; if the driver isn't ready, check again later."""
        if not self._is_new:
            return
        try:
            instances = self._driver.list_instance_uuids()
        except NotImplementedError:
            instances = []
        except exceptions.VirtDriverNotReady:
            return
        if instances:
            raise exceptions.InvalidConfiguration(
                f"Host {self._host} has no record of this service, yet {len(instances)} instances "
                "run on it. Is it another host's state path, or another host name?"
            )
        self._is_new = False

    def _refuse_renamed_host(self) -> None:
        """Refuse a host or a node whose name isn't that in the node's record."""
        uuid = self._identity.read()
        node = self._cell.compute_nodes.by_uuid(uuid) if uuid else None
        if node is None:
            return
        if node.host != self._host:
            raise exceptions.InvalidConfiguration(
                f"The node with uuid {uuid} is recorded for host {node.host}, but this host is "
                f"called {self._host}. Renaming a host is not supported."
            )
        try:
            nodenames = self._driver.get_available_nodes()
        except exceptions.VirtDriverNotReady:
            return
        if node.hypervisor_hostname not in nodenames:
            raise exceptions.InvalidConfiguration(
                f"The node with uuid {uuid} is recorded as {node.hypervisor_hostname}, but the "
                f"driver has {', '.join(sorted(nodenames)) or 'no node'}. Renaming a node is not "
                "supported."
            )
