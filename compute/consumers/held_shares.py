"""What an instance holds of a node, as its record and its migration say (compute.md §4.9).

An instance that moves holds two shares until the move is confirmed or reverted. The old share is at
its source and has the old flavor; the new share is at its destination and has the new flavor. Both
may be of one node. Usage, NUMA cells, devices, resources and allocations follow from shares.
"""

import enum
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from compute.consumers.rules import is_moving
from compute.provider_tree import Resource
from compute.records import instance as instances
from compute.records.instance import Flavor, Instance, MigrationContext, allows_resource_removal
from compute.records.migration import REVERTED, Migration


class Side(enum.Enum):
    """To which end of a move a share belongs."""

    #: to neither end: the instance doesn't move
    OWN = "own"
    OLD = "old"
    NEW = "new"


@dataclass(frozen=True)
class Share:
    """A part of a node that an instance holds."""

    side: Side
    flavor: Flavor
    numa_topology: Mapping[str, Any] | None = None
    pci_devices: tuple[Mapping[str, Any], ...] = ()
    resources: tuple[Resource, ...] = ()

    @property
    def addresses(self) -> set[str]:
        """The addresses of the share's PCI devices."""
        return {device["address"] for device in self.pci_devices}


@dataclass(frozen=True)
class InstanceHolding:
    """All shares of one node that one instance holds, and the migration that they are held for."""

    instance: Instance
    shares: tuple[Share, ...] = ()
    migration: Migration | None = None

    @property
    def moves(self) -> bool:
        """Whether any share is held for a move."""
        return any(share.side is not Side.OWN for share in self.shares)

    @property
    def flavors(self) -> list[Flavor]:
        """The flavors that the instance may have when its move is over; else its flavor."""
        if self.migration is None or not self.moves:
            return [self.instance.flavor]
        return [
            _old_flavor(self.instance, self.migration),
            _new_flavor(self.instance, self.migration),
        ]

    def without(self, side: Side, ended: Migration | None = None) -> "InstanceHolding":
        """Return what is left when one side of a move is given up.

        :param ended: the move

        The own share of an instance counts as its old side, and as the new side of a move that
        brought it here.
        """
        gone = {side}
        if side is Side.OLD or (ended is not None and _source(ended) != _destination(ended)):
            gone.add(Side.OWN)
        kept = tuple(replace(s, side=Side.OWN) for s in self.shares if s.side not in gone)
        return InstanceHolding(self.instance, kept, ended)

    def with_devices_of(self, instance: Instance) -> "InstanceHolding":
        """Return the same with the PCI devices that the instance's record has now.

        The sides of a move are those of the instance's migration context, if it has one.
        """
        context = instance.migration_context
        has = dict.fromkeys(Side, instance.pci_devices)
        if context is not None:
            has |= {Side.OLD: context.old_pci_devices, Side.NEW: context.new_pci_devices}
        shares = tuple(replace(s, pci_devices=tuple(has[s.side])) for s in self.shares)
        return replace(self, instance=instance, shares=shares)


def holding(
    instance: Instance, migration: Migration | None, host: str, nodename: str
) -> InstanceHolding:
    """Return what the instance holds of a host's node.

    :param migration: the one that `relevant` chose, or None
    """
    here = (host, nodename)
    if instance.deleted or instance.vm_state == instances.DELETED:
        return InstanceHolding(instance, (), migration)
    if migration is not None and is_under_way(instance, migration):
        held = claimed(instance, migration, host, nodename)
        if held.shares or (instance.host, instance.node) != here:
            return held
        # The migration is between other nodes, or has no nodes yet: the instance's record decides.
    if migration is not None and is_reverting(instance, migration):
        old = _share(Side.OLD, _old_flavor(instance, migration), instance)
        return InstanceHolding(instance, (old,) if _source(migration) == here else (), migration)
    return InstanceHolding(instance, _staying(instance, migration, here), migration)


def claimed(instance: Instance, migration: Migration, host: str, nodename: str) -> InstanceHolding:
    """Return what the instance holds of the node while the migration is under way."""
    shares = []
    if _source(migration) == (host, nodename):
        shares.append(_old(instance, migration))
    if _destination(migration) == (host, nodename):
        shares.append(_new(instance, migration))
    return InstanceHolding(instance, tuple(shares), migration)


def built(instance: Instance) -> InstanceHolding:
    """Return what an instance holds of the node that it is built on."""
    return InstanceHolding(instance, (_share(Side.OWN, instance.flavor, instance),))


def relevant(instance: Instance, migrations: Iterable[Migration]) -> Migration | None:
    """Return the migration, of all that the instance ever had, that says what it holds.

    That is the newest migration under way; or the newest of all, while it is being reverted; or the
    migration of the instance's context, which says what an instance that arrived has.
    """
    own = sorted(
        (m for m in migrations if m.instance_uuid == instance.uuid), key=lambda m: m.id or 0
    )
    under_way = [migration for migration in own if is_under_way(instance, migration)]
    if under_way:
        return under_way[-1]
    if own and is_reverting(instance, own[-1]):
        return own[-1]
    context = instance.migration_context
    of_context = [m for m in own if context is not None and m.id == context.migration_id]
    return of_context[-1] if of_context else None


def is_under_way(instance: Instance, migration: Migration) -> bool:
    """Say whether the migration holds anything: it is in progress, and its instance is moving."""
    return (
        migration.in_progress
        and is_moving(instance)
        and (migration.is_live_migration or instance.task_state != instances.MIGRATING)
    )


def is_reverting(instance: Instance, migration: Migration) -> bool:
    """Say whether the destination gave up its share and the source has yet to take it back."""
    return migration.status == REVERTED and (
        instance.vm_state == instances.RESIZED or instance.task_state == instances.RESIZE_REVERTING
    )


def is_stale(instance: Instance, migration: Migration) -> bool:
    """Say whether the instance began a later move although this move never ended.

    An older context is of an earlier move: then nothing is claimed for this move yet.
    """
    context = instance.migration_context
    return context is not None and (context.migration_id or 0) > (migration.id or 0)


def device_holders(
    holdings: Mapping[str, InstanceHolding],
    migrations: Iterable[Migration],
    present: Collection[str],
) -> dict[str, set[str]]:
    """Return consumer → addresses of the node's devices that it should have allocations of.

    :param holdings: instance uuid → holding of the node; a holding that a revert made empty is
        included
    :param migrations: those that are consumers of the node, in any status
    :param present: the consumers that have allocations of the node

    A consumer that isn't in the result keeps what it has: it may be on its way here. If the
    migration has allocations, the old share is the migration's. It stays so after a move that
    failed or was reverted, until somebody moves the allocations back. After a confirmed move the
    migration has nothing to keep.
    """
    holders: dict[str, set[str]] = {}
    deputies: dict[str, Migration] = {}
    for migration in sorted(migrations, key=lambda m: m.id or 0):
        holders[migration.uuid] = set()
        if not migration.is_completed:
            deputies[migration.instance_uuid] = migration
    for uuid, held in holdings.items():
        deputy = deputies.get(uuid)
        for share in held.shares:
            if share.addresses:
                old = deputy is not None and share.side is not Side.NEW
                consumer = deputy.uuid if deputy is not None and old else uuid
                holders.setdefault(consumer, set()).update(share.addresses)
        if not held.shares or (deputy is not None and not deputy.in_progress):
            holders.setdefault(uuid, set())
    return {consumer: holders[consumer] for consumer in holders.keys() & set(present)}


def _staying(
    instance: Instance, migration: Migration | None, here: tuple[str, str]
) -> tuple[Share, ...]:
    if (instance.host, instance.node) != here or allows_resource_removal(
        instance.vm_state, instance.task_state
    ):
        return ()
    context = _context(instance, migration)
    if (
        migration is not None
        and context is not None
        and _destination(migration) == here
        and _source(migration) != here
    ):
        return (
            Share(
                Side.OWN,
                instance.flavor,
                context.new_numa_topology,
                tuple(context.new_pci_devices),
                tuple(context.new_resources),
            ),
        )
    return (_share(Side.OWN, instance.flavor, instance),)


def _old(instance: Instance, migration: Migration) -> Share:
    flavor = _old_flavor(instance, migration)
    context = _context(instance, migration)
    if context is None:
        return _share(Side.OLD, flavor, instance)
    return Share(
        Side.OLD,
        flavor,
        context.old_numa_topology,
        tuple(context.old_pci_devices),
        tuple(context.old_resources),
    )


def _new(instance: Instance, migration: Migration) -> Share:
    flavor = _new_flavor(instance, migration)
    context = _context(instance, migration)
    if context is not None:
        return Share(
            Side.NEW,
            flavor,
            context.new_numa_topology,
            tuple(context.new_pci_devices),
            tuple(context.new_resources),
        )
    arrived = (instance.host, instance.node) == _destination(migration) != _source(migration)
    return _share(Side.NEW, flavor, instance) if arrived else Share(Side.NEW, flavor)


def _share(side: Side, flavor: Flavor, instance: Instance) -> Share:
    return Share(
        side,
        flavor,
        instance.numa_topology,
        tuple(instance.pci_devices),
        tuple(instance.resources),
    )


def _context(instance: Instance, migration: Migration | None) -> MigrationContext | None:
    """Return the instance's context, if it is of this very migration."""
    context = instance.migration_context
    if context is None or migration is None or context.migration_id != migration.id:
        return None
    return context


def _old_flavor(instance: Instance, migration: Migration) -> Flavor:
    # Only a resize changes the flavor: ignore what another resize left in the record.
    return (instance.old_flavor if migration.is_resize else None) or instance.flavor


def _new_flavor(instance: Instance, migration: Migration) -> Flavor:
    return (instance.new_flavor if migration.is_resize else None) or instance.flavor


def _source(migration: Migration) -> tuple[str | None, str | None]:
    return migration.source_compute, migration.source_node


def _destination(migration: Migration) -> tuple[str | None, str | None]:
    return migration.dest_compute, migration.dest_node
