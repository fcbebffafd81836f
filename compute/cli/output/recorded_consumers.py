"""What the records of this host say of consumers, in words for the terminal."""

from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.records.migration import Migration


class RecordedConsumers:
    """Describes consumers by the instances and migrations of a cell database."""

    def __init__(self, cell: CellDatabase) -> None:
        self._cell = cell

    def described(self, consumer: str) -> str | None:
        """Return `instance on host1` or the like; None for a consumer without a record."""
        record = self._record(consumer)
        if record is None:
            return None
        if isinstance(record, Migration):
            return f"{record.status} migration of {record.instance_uuid}"
        if record.deleted:
            return "deleted instance"
        return f"instance on {record.host}" if record.host else "instance on no host"

    def kind_and_host(self, consumer: str) -> tuple[str, str | None]:
        """Return `instance`, `migration` or `unknown`, and the consumer's host.

        The host of a migration is its source.
        """
        record = self._record(consumer)
        if record is None:
            return "unknown", None
        if isinstance(record, Migration):
            return "migration", record.source_compute
        return "instance", record.host

    def _record(self, consumer: str) -> Instance | Migration | None:
        return self._cell.instances.by_uuid(
            consumer, include_deleted=True
        ) or self._cell.migrations.by_uuid(consumer)


class RecordedPlaces(RecordedConsumers):
    """Describes nodes, too."""

    def node(self, uuid: str) -> str | None:
        """Return `node of host1` for the root provider of a node; None without a record."""
        node = self._cell.compute_nodes.by_uuid(uuid)
        if node is None:
            return None
        same = node.hypervisor_hostname == node.host
        return f"node{'' if same else f' {node.hypervisor_hostname}'} of {node.host}"
