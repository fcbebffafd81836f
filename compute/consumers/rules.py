"""Whether a consumer still needs its allocations: the rules of the tracker and of commands.

The records of a host are evidence about that host alone. So a consumer counts as a leftover of this
host only with a proof. One proof is a record that says that the instance is gone or elsewhere. The
other is that the records know instances but not this one, and the provider is of this host alone.
See compute.md §4.9, §4.10, §7.3.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from compute.records import instance as instances
from compute.records.compute_node import ComputeNode
from compute.records.instance import Instance
from compute.records.migration import ENDED, ERROR, Migration

INSTANCE_TYPE, MIGRATION_TYPE = "INSTANCE", "MIGRATION"
#: the consumer types of instances and migrations; placement calls a consumer "unknown" that was
#: written without a type, and None stands for a placement that knows no types
OUR_TYPES = frozenset({INSTANCE_TYPE, MIGRATION_TYPE, "unknown", None})


#: the classes that an instance holds only on the host where it runs
OF_A_HOME = frozenset({"VCPU", "PCPU", "MEMORY_MB"})


class ConsumerKind(enum.StrEnum):
    """How a consumer is related to a provider, as far as this host knows."""

    #: its instance lives there, or its migration begins or ends there
    HERE = "here"
    #: it is coming or leaving, and keeps what it holds until the move is settled
    ON_ITS_WAY = "on its way"
    #: an instance or migration whose record says that it is over
    GONE = "gone"
    #: an instance or migration whose record says that it holds nothing here
    ELSEWHERE = "elsewhere"
    #: it holds something of this host's own provider, and the records, which know instances,
    #: don't know it
    UNRECORDED = "unrecorded"
    #: the hypervisor of this host has it, and the records don't know that: they are wrong
    RUNNING = "running"
    #: the records call it a leftover, and nobody can tell whether the hypervisor has it
    IN_DOUBT = "in doubt"
    #: another host may know it
    NOT_OURS = "not ours to judge"
    #: neither an instance nor a migration, says its type
    OTHER_TYPE = "other type"


#: consumers that rightly hold what they hold
SETTLED = frozenset({ConsumerKind.HERE, ConsumerKind.ON_ITS_WAY})
#: consumers that are proven leftovers of this host
LEFTOVER = frozenset({ConsumerKind.GONE, ConsumerKind.ELSEWHERE, ConsumerKind.UNRECORDED})
#: somebody has to do something about these
TO_DO = LEFTOVER | {ConsumerKind.RUNNING, ConsumerKind.IN_DOUBT}
#: of these, records that are too old may be wrong: only the hypervisor knows
UNLESS_RUNNING = LEFTOVER - {ConsumerKind.GONE}


@dataclass(frozen=True)
class ConsumerVerdict:
    """How a consumer is related to a provider, and the reason, as half a sentence."""

    kind: ConsumerKind
    reason: str


class JudgedProvider(Protocol):
    """A provider. Its attributes are read only where they matter, so they may be lazy."""

    @property
    def node(self) -> ComputeNode | None:
        """The node of this host whose tree has the provider; None if no node's tree has it."""

    @property
    def shares(self) -> bool:
        """Whether it is a sharing provider, of which instances of any host may hold something."""


@dataclass(frozen=True)
class KnownPlace:
    """A provider whose attributes are known."""

    node: ComputeNode | None
    shares: bool


@dataclass(frozen=True)
class Evidence:
    """What is known of a consumer.

    :param host: the host whose records these are
    :param instance: the instance of the consumer's uuid, a deleted one included
    :param migration: the migration of the consumer's uuid, if it is no instance
    :param moved: the instance of that migration
    :param moves: the migrations of the instance
    :param consumer_type: as placement has it; None before it was asked
    :param alone_here: it certainly holds something only of this host's providers and of sharing
        providers
    :param records_know_instances: the records know any instance at all, a deleted one included
    :param moved_is_placed: `moved` itself holds something of its node, if it has a node; True
        until placement was asked
    :param runs_here: the hypervisor of this host has the guest: the consumer, or `moved`; None if
        nobody can tell, and `doubt` is why
    :param holds_here: it holds something of a provider of this host
    """

    host: str
    instance: Instance | None = None
    migration: Migration | None = None
    moved: Instance | None = None
    moves: Sequence[Migration] = ()
    consumer_type: str | None = None
    alone_here: bool = False
    records_know_instances: bool = True
    moved_is_placed: bool = True
    runs_here: bool | None = False
    doubt: str = ""
    holds_here: bool = True

    @property
    def guest(self) -> str | None:
        """The uuid of the guest: for a migration, its instance's; None if it isn't recorded."""
        known = self.instance or self.moved
        return None if known is None else known.uuid


def judge(place: JudgedProvider, evidence: Evidence) -> ConsumerVerdict:
    """Say how the consumer is related to the provider."""
    if evidence.consumer_type not in OUR_TYPES:
        return ConsumerVerdict(
            ConsumerKind.OTHER_TYPE, f"its consumer type is {evidence.consumer_type}"
        )
    verdict = _by_the_records(place, evidence)
    if verdict.kind in SETTLED:
        return verdict
    if evidence.runs_here and _is_of_the_guest(place, evidence):
        return ConsumerVerdict(
            ConsumerKind.RUNNING,
            "running here, not in the records"
            if verdict.kind in (ConsumerKind.UNRECORDED, ConsumerKind.NOT_OURS)
            else f"running here, but by the records {verdict.reason}",
        )
    if evidence.runs_here is None and verdict.kind in UNLESS_RUNNING:
        return in_doubt(verdict, evidence)
    return verdict


def in_doubt(verdict: ConsumerVerdict, evidence: Evidence) -> ConsumerVerdict:
    """Return that a leftover isn't proven, because nobody can tell what runs here."""
    return ConsumerVerdict(ConsumerKind.IN_DOUBT, f"{verdict.reason}, but {evidence.doubt}")


def _by_the_records(place: JudgedProvider, evidence: Evidence) -> ConsumerVerdict:
    if evidence.instance is not None:
        return _of_instance(place, evidence, evidence.instance)
    if evidence.migration is not None:
        return _of_migration(place, evidence, evidence.migration)
    return _unrecorded(place, evidence)


def _is_of_the_guest(place: JudgedProvider, evidence: Evidence) -> bool:
    """Say whether a guest that runs here may hold the provider for that.

    What it holds of another host is left over there, unless it is all that it holds. A migration
    holds for its guest only where the records have the guest elsewhere.
    """
    moved = evidence.moved
    if moved is not None and not moved.deleted and moved.host == evidence.host:
        return False
    return place.node is not None or place.shares or not evidence.holds_here


def is_alone_here(
    allocations: Mapping[str, Mapping[str, Any]], place_of: Callable[[str], JudgedProvider | None]
) -> bool:
    """Say whether it is certain that a consumer lives on no other host.

    An instance holds processors or memory on the host where it runs. So whatever the consumer
    holds of other providers must be of sharing providers, and neither processors nor memory.

    :param allocations: provider → `{"resources": {class: amount}}`
    :param place_of: returns None for a provider that isn't known
    """
    for provider, part in allocations.items():
        place = place_of(provider)
        if place is None:
            return False
        if place.node is not None:
            continue
        if not OF_A_HOME.isdisjoint(part["resources"]) or not place.shares:
            return False
    return True


def is_on_its_way(instance: Instance) -> bool:
    """Say whether an instance that is on no host is about to get one.

    It is being built, unshelved, spawned or scheduled. Its allocations are written before its host
    is recorded.
    """
    return instance.host is None and (
        instance.vm_state == instances.BUILDING or instance.task_state is not None
    )


def is_moving(instance: Instance) -> bool:
    """Say whether an instance is between two places, or has a move that can be reverted."""
    return (
        instance.vm_state == instances.RESIZED
        or instance.task_state in instances.RESIZING | instances.REBUILDING_STATES
        or instance.task_state == instances.MIGRATING
    )


def _of_instance(place: JudgedProvider, evidence: Evidence, instance: Instance) -> ConsumerVerdict:
    if instance.deleted and not instance.hidden:
        gone = ConsumerVerdict(ConsumerKind.GONE, "the instance is deleted")
        return _if_proven(place, evidence, gone, {instance.host})
    if is_on_its_way(instance):
        return ConsumerVerdict(ConsumerKind.ON_ITS_WAY, "the instance is about to get a host")
    if instance.host is None:
        nowhere = ConsumerVerdict(ConsumerKind.ELSEWHERE, "the instance is on no host")
        return _if_proven(place, evidence, nowhere)
    if _is_at(place, instance.host, instance.node):
        return ConsumerVerdict(ConsumerKind.HERE, "the instance is here")
    if _moves_here(place, evidence, instance):
        return ConsumerVerdict(ConsumerKind.ON_ITS_WAY, "the instance is being moved")
    if place.shares:
        return ConsumerVerdict(ConsumerKind.HERE, "the instance may hold its share wherever it is")
    elsewhere = ConsumerVerdict(
        ConsumerKind.ELSEWHERE,
        f"the instance is on {instance.host} ({instance.node or 'no node yet'})",
    )
    return _if_proven(place, evidence, elsewhere)


def _moves_here(place: JudgedProvider, evidence: Evidence, instance: Instance) -> bool:
    """Say whether the instance may hold something here for a move. Only moves under way count.

    If no record says between which places it moves, its state alone decides.
    """
    if instance.node is None and place.node is not None and place.node.host == instance.host:
        return True
    under_way = [migration for migration in evidence.moves if migration.in_progress]
    if not under_way:
        return is_moving(instance)
    return any(_touches(place, migration) for migration in under_way)


def _of_migration(
    place: JudgedProvider, evidence: Evidence, migration: Migration
) -> ConsumerVerdict:
    moved, ends = evidence.moved, {migration.source_compute, migration.dest_compute}
    if moved is not None and moved.deleted and not moved.hidden:
        # Nobody ends the migration of an instance that was deleted while it moved.
        alone = ConsumerVerdict(ConsumerKind.GONE, "the migration's instance is deleted")
        return _if_proven(place, evidence, alone, ends)
    if migration.status in ENDED or (migration.status == ERROR and moved is not None):
        if _is_unsettled(migration, moved):
            return ConsumerVerdict(
                ConsumerKind.ON_ITS_WAY,
                f"the migration is {migration.status}, and its instance isn't back",
            )
        if not migration.is_completed and not evidence.moved_is_placed:
            return ConsumerVerdict(
                ConsumerKind.ON_ITS_WAY,
                f"the migration is {migration.status}, and its instance holds nothing else",
            )
        over = ConsumerVerdict(ConsumerKind.GONE, f"the migration is {migration.status}")
        return _if_proven(place, evidence, over, ends)
    if _touches(place, migration):
        return ConsumerVerdict(ConsumerKind.ON_ITS_WAY, f"the migration is {migration.status}")
    if place.shares:
        return ConsumerVerdict(
            ConsumerKind.HERE, "the migration may hold its share wherever it begins"
        )
    elsewhere = ConsumerVerdict(
        ConsumerKind.ELSEWHERE,
        f"the migration is from {migration.source_node} to {migration.dest_node}",
    )
    return _if_proven(place, evidence, elsewhere)


def _is_unsettled(migration: Migration, moved: Instance | None) -> bool:
    """Say whether the migration may still have to give its allocations back to the instance."""
    return (
        not migration.is_completed
        and moved is not None
        and not moved.deleted
        and (moved.task_state is not None or is_moving(moved))
    )


def _unrecorded(place: JudgedProvider, evidence: Evidence) -> ConsumerVerdict:
    if place.node is None and not place.shares:
        return ConsumerVerdict(
            ConsumerKind.NOT_OURS, "neither the consumer nor the provider's node is in the records"
        )
    reason = "no instance or migration of this uuid is in the records"
    if not evidence.records_know_instances:
        return ConsumerVerdict(ConsumerKind.NOT_OURS, f"{reason}, which know no instance at all")
    if place.shares:
        return ConsumerVerdict(
            ConsumerKind.NOT_OURS, f"{reason}, but other hosts may hold of a sharing provider"
        )
    return ConsumerVerdict(ConsumerKind.UNRECORDED, reason)


def _if_proven(
    place: JudgedProvider,
    evidence: Evidence,
    verdict: ConsumerVerdict,
    hosts: Collection[str | None] = (),
) -> ConsumerVerdict:
    """Return the verdict if this host's records prove it, else that it isn't this host's to judge.

    Allocations of a sharing provider are proven leftovers if the consumer's host – one of `hosts` –
    is this host, and it holds nothing elsewhere: an instance that runs on another host holds
    something of that host.
    """
    if place.shares:
        if evidence.host in hosts and evidence.alone_here:
            return verdict
        return ConsumerVerdict(
            ConsumerKind.NOT_OURS,
            f"{verdict.reason}, but other hosts may hold of a sharing provider",
        )
    if place.node is None:
        return ConsumerVerdict(ConsumerKind.NOT_OURS, verdict.reason)
    return verdict


def _touches(place: JudgedProvider, migration: Migration) -> bool:
    return _is_at(place, migration.source_compute, migration.source_node) or _is_at(
        place, migration.dest_compute, migration.dest_node
    )


def _is_at(place: JudgedProvider, host: str | None, nodename: str | None) -> bool:
    node = place.node
    return node is not None and (node.host, node.hypervisor_hostname) == (host, nodename)
