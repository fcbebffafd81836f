"""What the cell database says of a node's instances and migrations (compute.md §4.9)."""

import logging

from compute.consumers import held_shares
from compute.consumers.held_shares import Side
from compute.records import migration as migration_record
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.records.migration import Migration
from compute.resource_tracker.node.node import Recorded, TrackedNode

LOG = logging.getLogger(__name__)


class NodeRecords:
    """Reads the records of a node's instances and migrations, when the database changed.

    Reading corrects two things in the records: the link of an instance to its node, and the status
    of a migration that never ended although its instance began a later one: it becomes failed.
    """

    def __init__(self, host: str, cell: CellDatabase) -> None:
        self._host = host
        self._cell = cell

    def read(self, node: TrackedNode) -> Recorded:
        """Return what the records say of the node, and remember it with the node."""
        mark = self._cell.mark()
        if node.mark is None or node.mark != mark:
            node.recorded = self._recorded(node)
            node.own = self._cell.own_allocations.of_node(node.uuid)
            node.own_classes = self._cell.own_allocations.classes_of_node(node.uuid)
            node.mark = mark
        return node.recorded

    def _recorded(self, node: TrackedNode) -> Recorded:
        found = self._cell.instances.by_host_and_node(self._host, node.name)
        for instance in found:
            if instance.compute_id != node.record.id:
                instance.compute_id = node.record.id
                self._cell.instances.save(instance)
        near = self._cell.migrations.unsettled(self._host, node.name)
        here = {instance.uuid: instance for instance in found}
        passing = {migration.instance_uuid for migration in near} - here.keys()
        concerned = [*found, *self._cell.instances.by_uuids(passing)]
        moved = {*passing, *(i.uuid for i in found if i.migration_context is not None)}
        moved.update(migration.instance_uuid for migration in near)
        migrations = self._cell.migrations.of_instances(moved)
        self._end_stale(concerned, migrations)
        holdings = [
            held_shares.holding(
                instance, held_shares.relevant(instance, migrations), self._host, node.name
            )
            for instance in concerned
        ]
        for held in holdings:
            # Show an instance that arrives with what the move claimed for it here.
            if [share.side for share in held.shares] == [Side.NEW]:
                held.instance.apply_migration_context()
        return Recorded(
            found,
            [m for m in near if m.status not in migration_record.ENDED],
            {held.instance.uuid: held for held in holdings},
        )

    def _end_stale(self, concerned: list[Instance], migrations: list[Migration]) -> None:
        """Mark migrations as failed whose instances began a later one."""
        by_uuid = {instance.uuid: instance for instance in concerned}
        for migration in migrations:
            instance = by_uuid.get(migration.instance_uuid)
            if (
                instance is not None
                and held_shares.is_under_way(instance, migration)
                and held_shares.is_stale(instance, migration)
            ):
                LOG.warning(
                    "Migration %s of instance %s is out of date", migration.uuid, instance.uuid
                )
                migration.status = migration_record.ERROR
                self._cell.migrations.save(migration)
