"""Write and delete allocations of consumers (rest-api.md 3.8, 3.9, 4.2).

A write is one transaction of five steps:

1. Lock the consumers that exist, in id order, and read their allocations.
2. Lock the providers, in id order: those that the requests name, and those of these allocations.
   Under the locks, read inventories and usages: the room.
3. Compare the generations of the consumers, and refuse providers and classes that don't exist.
4. Check that what is requested fits into the room.
5. Replace the allocations, raise the generations, and append the changes to the change feed.

Every writer locks consumers before providers, and both in id order, so writers can't deadlock.
"""

import dataclasses
from collections.abc import Collection, Container, Iterable, Mapping, Sequence

from placement.domain.capacity import Entry, Inventory, Slot, SlotUsage, check
from placement.domain.consumer import ConsumerRequest
from placement.errors import DatabaseUnavailable, NotFound, OutcomeUnknown, UnknownProviderNamed
from placement.operations.locked_consumers import LockedConsumers
from placement.storage import (
    allocations,
    consumers,
    holdings,
    inventories,
    providers,
)
from placement.storage import resource_classes as classes
from placement.storage.at_once import allocations as writes_at_once
from placement.storage.at_once import deletion
from placement.storage.database.connection import Question, StatementResult
from placement.storage.database.engine import TRIES, Connection, Database
from placement.storage.feed import change_feed, feed_lanes
from placement.storage.feed.change_feed import ChangeKind


def write_allocations(
    database: Database, requests: Sequence[ConsumerRequest], tries: int = TRIES
) -> None:
    """Replace the allocations of each requested consumer, all in one transaction.

    New consumers, projects, users and consumer types are created. Raises ConcurrentUpdate if a
    consumer has another generation, UnknownProviderNamed or ResourceClassNotFound if a request
    names what doesn't exist, InvalidInventory, ConstraintViolated or CapacityExceeded if an amount
    doesn't fit, LostRace if other writers interfered `tries` times, and OutcomeUnknown.
    """

    def write(connection: Connection) -> None:
        if writes_at_once.suit(connection, requests):
            writes_at_once.write(connection, requests)
            return
        connection.is_repeatable = all(request.generation is None for request in requests)
        locked, nodes, room = lock(connection, requests)
        ids = {uuid: node.id for uuid, node in nodes.items()}
        store(connection, locked, nodes, room, dict.fromkeys(written_providers(locked, ids), 1))

    try:
        database.write(write, tries)
    except OutcomeUnknown:
        if not _found_stored(database, requests):
            raise


def _found_stored(database: Database, requests: Sequence[ConsumerRequest]) -> bool:
    """Return whether all consumers are new ones, and the database tells that it has them.

    What new consumers hold was stored by this request, or by one that asked for the same.
    """
    if any(request.generation is not None or not request.allocations for request in requests):
        return False
    try:
        return database.read(lambda connection: _hold_just_that(connection, requests))
    except DatabaseUnavailable:
        return False


def _hold_just_that(connection: Connection, requests: Sequence[ConsumerRequest]) -> bool:
    """Return whether new consumers are stored as they were requested."""
    stored: dict[str, list[holdings.HeldRow]] = {}
    for row in holdings.of_consumers(connection, [request.uuid for request in requests]):
        stored.setdefault(row.consumer, []).append(row)
    return len(stored) == len(requests) and all(
        request.uuid in stored and _is_just(request, stored[request.uuid]) for request in requests
    )


def _is_just(request: ConsumerRequest, rows: Sequence[holdings.HeldRow]) -> bool:
    owners = {(row.project, row.user, row.generation, row.type_name) for row in rows}
    held = sorted((row.provider_uuid, row.resource_class, row.used) for row in rows)
    asked = sorted(
        (provider, name, amount)
        for provider, resources in request.allocations.items()
        for name, amount in resources.items()
    )
    return held == asked and owners == {(request.project, request.user, 1, request.type_name)}


@dataclasses.dataclass(frozen=True)
class ProviderRoom:
    """The inventories of providers and what is used of them, by slot, as read under their locks.

    :param usages: with what is used by others than the consumers of the write
    """

    stock: Mapping[Slot, Inventory]
    usages: Mapping[Slot, SlotUsage]

    @staticmethod
    def questions(
        uuids: Collection[str], requests: Sequence[ConsumerRequest]
    ) -> tuple[Question, Question]:
        """Return the questions for the room of providers; the answers are for `ProviderRoom.of`.

        :param requests: without those of consumers that hold nothing, as they make the question
            dearer
        """
        theirs = [request.uuid for request in requests]
        return inventories.slots_question(uuids), allocations.usages_question(uuids, theirs)

    @classmethod
    def of(cls, answers: Sequence[StatementResult]) -> "ProviderRoom":
        """Return the room that the answers describe."""
        stock, usages = answers
        return cls(inventories.slots_in(stock), allocations.usages_in(usages))

    @classmethod
    def read(
        cls, connection: Connection, uuids: Collection[str], requests: Sequence[ConsumerRequest]
    ) -> "ProviderRoom":
        """Read the room of providers, which must be locked."""
        if not uuids:
            return cls({}, {})
        return cls.of(connection.execute_all(*cls.questions(uuids, requests)))

    def with_stock(self, new: Mapping[Slot, Inventory]) -> "ProviderRoom":
        """Return the room with inventories that this transaction adds or replaces."""
        return dataclasses.replace(self, stock={**self.stock, **new})

    def stock_of(self, entries: Iterable[Entry]) -> dict[Slot, Inventory]:
        """Return the inventories of the entries' providers and classes."""
        provider_ids, class_ids = set(), set()
        for entry in entries:
            provider_ids.add(entry.provider_id)
            class_ids.add(entry.class_id)
        return {
            slot: inventory
            for slot, inventory in self.stock.items()
            if slot[0] in provider_ids and slot[1] in class_ids
        }


def lock(
    connection: Connection, requests: Sequence[ConsumerRequest], also: Collection[str] = ()
) -> tuple[LockedConsumers, Mapping[str, providers.TreePosition], ProviderRoom]:
    """Lock the consumers, then the providers requested and those with stored allocations.

    Return the consumers, the providers by uuid, and the room of the providers that the write
    changes. The fewer messages the better, so the room is asked for with the locks where it is
    known by then which providers these are.

    :param also: uuids of other providers to lock
    """
    named = _requested(requests) | set(also)
    are_new = all(request.generation is None for request in requests)
    empties = not all(request.allocations for request in requests)
    if empties:
        # only the stored allocations of a consumer say which providers an empty request changes
        locked = LockedConsumers.lock(connection, requests)
        nodes = providers.lock(connection, named, locked.provider_ids())
        written = written_providers(locked, {uuid: node.id for uuid, node in nodes.items()})
        return locked, nodes, ProviderRoom.read(connection, written, locked.requests)
    room = ProviderRoom.questions(named, () if are_new else requests)
    locking = providers.lock_question(connection, named)
    if locking is not None and are_new:
        # A consumer that must be new holds nothing of other providers, which would have to be
        # locked in id order with the requested ones. If it does hold something, the request is
        # refused. So one message locks all.
        feed_lanes.ask_along(connection)
        locked, (found, *answers) = LockedConsumers.lock_and_ask(
            connection, requests, locking, *room
        )
        nodes = providers.nodes_in(found)
    else:
        asked = providers.ids_question(connection, named)
        locked, ids = LockedConsumers.lock_and_ask(connection, requests, *asked)
        feed_lanes.ask_along(connection)
        nodes, answers = providers.lock_and_ask(
            connection, named, locked.provider_ids(), *room, found=next(iter(ids), None)
        )
    if are_new and locked.held:
        # very old allocations have no consumer
        return locked, nodes, ProviderRoom.read(connection, named, locked.requests)
    return locked, nodes, ProviderRoom.of(answers)


def _requested(requests: Sequence[ConsumerRequest]) -> set[str]:
    """Return the uuids of the providers that the requests name."""
    return {uuid for request in requests for uuid in request.allocations}


def written_providers(locked: LockedConsumers, provider_ids: Mapping[str, int]) -> set[str]:
    """Return the uuids of the providers whose generation the write raises.

    These are the requested providers, and those of which an empty request removes allocations. A
    provider that a consumer leaves for another one keeps its generation.

    :param provider_ids: of the locked providers, by uuid
    """
    emptied = locked.emptied_provider_ids()
    return _requested(locked.requests) | {uuid for uuid, i in provider_ids.items() if i in emptied}


def store(
    connection: Connection,
    locked: LockedConsumers,
    nodes: Mapping[str, providers.TreePosition],
    room: ProviderRoom,
    writes: Mapping[str, int],
) -> None:
    """Replace the allocations of locked consumers. Raises what `write_allocations` raises.

    :param nodes: the locked providers by uuid: those requested, and those with stored allocations
    :param room: of the providers that the write changes
    :param writes: by how much the generation of each of these rises, by uuid: a batch of claims
        raises it as often as if one claim came after the other
    """
    locked.check_generations()
    refuse_unknown_providers(locked.requests, nodes)
    class_ids = classes.ids_to_store(connection, locked.class_names())
    ids = {uuid: node.id for uuid, node in nodes.items()}
    entries = save(connection, locked, ids, class_ids, room)
    providers.bump_by(connection, {ids[uuid]: number for uuid, number in writes.items()})
    changed = {entry.provider_id for entry in entries} | locked.provider_ids()
    change_feed.record(connection, changed, ChangeKind.USAGE)


def save(
    connection: Connection,
    locked: LockedConsumers,
    provider_ids: Mapping[str, int],
    class_ids: Mapping[str, int],
    room: ProviderRoom,
) -> list[Entry]:
    """Store the requested allocations if the inventories have room for them, and return them.

    The caller raises the generations of the providers and appends to the change feed. Raises
    InvalidInventory, ConstraintViolated or CapacityExceeded if an amount doesn't fit, and
    ConcurrentUpdate if a consumer has another generation.

    :param provider_ids: of the requested providers and those with stored allocations, by uuid
    :param class_ids: of the requested classes, by name
    :param room: of the entries' providers
    """
    entries = locked.entries(provider_ids, class_ids)
    if entries:
        uuids = {provider_id: uuid for uuid, provider_id in provider_ids.items()}
        class_names = classes.names_of(connection, {entry.class_id for entry in entries})
        with locked.refusing(connection):
            check(entries, room.stock_of(entries), room.usages, class_names, uuids)
    locked.save(connection, entries)
    return entries


def refuse_unknown_providers(requests: Sequence[ConsumerRequest], known: Container[str]) -> None:
    """Raise UnknownProviderNamed for the first requested provider that isn't in `known`."""
    for request in requests:
        for uuid in request.allocations:
            if uuid not in known:
                raise UnknownProviderNamed(uuid=uuid)


def delete_allocations(database: Database, consumer: str) -> None:
    """Delete a consumer and its allocations; no generation changes.

    Raises NotFound if it has none.
    """

    def delete(connection: Connection) -> None:
        if connection.assumes:
            deletion.delete(connection, consumer)
            return
        feed_lanes.ask_along(connection)
        known, (rows,) = consumers.lock_and_ask(
            connection, [consumer], allocations.entries_question([consumer])
        )
        held, _ = allocations.entries_in(rows)
        if not known or not held:
            raise NotFound(f"No allocations for consumer '{consumer}'")
        allocations.delete(connection, [consumer])
        consumers.delete(connection, [stored.id for stored in known.values()])
        change_feed.record(connection, {entry.provider_id for entry in held}, ChangeKind.USAGE)

    database.write(delete)
