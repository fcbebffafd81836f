"""What the records of a host say about consumers, in the form that the rules need."""

from __future__ import annotations

from collections.abc import Iterable

from compute.consumers.rules import Evidence
from compute.records.cell_database import CellDatabase
from compute.records.migration import Migration

#: how many consumers one query names; databases allow about ten thousand
_BATCH = 1000


class RecordedEvidence:
    """Reads the records of a host, anew each time."""

    def __init__(self, cell: CellDatabase, host: str) -> None:
        self._cell = cell
        self._host = host

    def know_instances(self) -> bool:
        """Say whether the records know any instance. If not, they prove nothing."""
        return self._cell.instances.has_any()

    def of(self, consumer: str) -> Evidence:
        """Return what the records say about one consumer."""
        return self.of_each([consumer])[consumer]

    def of_each(self, consumers: Iterable[str]) -> dict[str, Evidence]:
        """Return consumer → what the records say about it, from a few queries for all."""
        found: dict[str, Evidence] = {}
        wanted = sorted(set(consumers))
        for start in range(0, len(wanted), _BATCH):
            found |= self._of_batch(wanted[start : start + _BATCH])
        return found

    def _of_batch(self, consumers: list[str]) -> dict[str, Evidence]:
        cell = self._cell
        instances = {
            instance.uuid: instance
            for instance in cell.instances.by_uuids(consumers, include_deleted=True)
        }
        others = [consumer for consumer in consumers if consumer not in instances]
        migrations = {migration.uuid: migration for migration in cell.migrations.by_uuids(others)}
        moved = {
            instance.uuid: instance
            for instance in cell.instances.by_uuids(
                (migration.instance_uuid for migration in migrations.values()), include_deleted=True
            )
        }
        moves: dict[str, list[Migration]] = {}
        for move in cell.migrations.of_instances(instances):
            moves.setdefault(move.instance_uuid, []).append(move)
        know_instances = bool(instances) or self.know_instances()

        def evidence(consumer: str) -> Evidence:
            migration = migrations.get(consumer)
            return Evidence(
                self._host,
                instances.get(consumer),
                migration,
                None if migration is None else moved.get(migration.instance_uuid),
                moves.get(consumer, ()),
                records_know_instances=know_instances,
            )

        return {consumer: evidence(consumer) for consumer in consumers}
