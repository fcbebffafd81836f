"""Write and delete allocations of consumers (rest-api.md 3.8, 3.9, 4.2)."""

import dataclasses
from collections.abc import Collection, Container, Mapping, Sequence

from placement.domain import allocation
from placement.domain.allocation import Entry, Slot, SlotUsage
from placement.domain.capacity import Inventory
from placement.domain.consumer import ConsumerRequest
from placement.errors import NotFound, UnknownProviderNamed
from placement.operations.locked_consumers import LockedConsumers
from placement.storage import allocations, consumers, inventories, providers
from placement.storage import resource_classes as classes
from placement.storage.database.connection import Question, StatementResult
from placement.storage.database.engine import TRIES, Connection, Database
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind

NO_INVENTORIES: Mapping[Slot, Inventory] = {}


def write_allocations(
    database: Database, requests: Sequence[ConsumerRequest], tries: int = TRIES
) -> None:
    """Replace the allocations of each requested consumer, all in one transaction.

    New consumers, projects, users and consumer types are created. Raises ConcurrentUpdate (a
    consumer's generation), UnknownProviderNamed, ResourceClassNotFound, InvalidInventory,
    ConstraintViolated or CapacityExceeded; LostRace if other writers interfered `tries` times.
    """

    def write(connection: Connection) -> None:
        store(connection, *lock(connection, requests))

    database.write(write, tries)


@dataclasses.dataclass(frozen=True)
class ProviderRoom:
    """What providers offer, and what others than the consumers of a write use of it, by slot."""

    stock: Mapping[Slot, Inventory]
    usages: Mapping[Slot, SlotUsage]

    @staticmethod
    def questions(
        uuids: Collection[str], requests: Sequence[ConsumerRequest]
    ) -> tuple[Question, Question]:
        """Return the questions for the room of providers; the answers are for `Room.of`."""
        theirs = [request.uuid for request in requests]
        return inventories.slots_question(uuids), allocations.usages_question(uuids, theirs)

    @classmethod
    def of(cls, answers: Sequence[StatementResult]) -> "ProviderRoom":
        """Return what the answers say."""
        stock, usages = answers
        return cls(inventories.slots_in(stock), allocations.usages_in(usages))


def lock(
    connection: Connection, requests: Sequence[ConsumerRequest], also: Collection[str] = ()
) -> tuple[LockedConsumers, Mapping[str, providers.TreePosition], ProviderRoom | None]:
    """Lock the consumers, then the providers requested and those with stored allocations.

    Return the consumers, the providers by uuid, and the room of the requested providers; None if
    that of others is needed, too. What can be asked together is asked in one message.

    :param also: uuids of other providers to lock
    """
    named = {uuid for request in requests for uuid in request.allocations} | set(also)
    if not named or not all(request.allocations for request in requests):
        locked = LockedConsumers.lock(connection, requests)
        return locked, providers.lock(connection, named, locked.provider_ids()), None
    room = ProviderRoom.questions(named, requests)
    locking = providers.lock_question(connection, named)
    if locking is not None and all(request.generation is None for request in requests):
        # a consumer that must be new holds nothing that would have to be locked in order, or else
        # the request is refused
        locked, (found, *answers) = LockedConsumers.lock_and_ask(
            connection, requests, locking, *room
        )
        return locked, providers.nodes_in(found), ProviderRoom.of(answers)
    locked = LockedConsumers.lock(connection, requests)
    nodes, answers = providers.lock_and_ask(connection, named, locked.provider_ids(), *room)
    return locked, nodes, ProviderRoom.of(answers)


def store(
    connection: Connection,
    locked: LockedConsumers,
    nodes: Mapping[str, providers.TreePosition],
    room: ProviderRoom | None = None,
    writes: Mapping[str, int] | None = None,
) -> None:
    """Replace the allocations of locked consumers; raises what `write_allocations` raises.

    :param nodes: the locked providers by uuid: those requested, and those with stored allocations
    :param room: of these providers, read under the locks; None: it is read when it is needed
    :param writes: how many writes are stored together that request each provider, by uuid: its
        generation rises by that, as if one came after the other; None: it is one write
    """
    locked.check_generations()
    refuse_unknown_providers(locked.requests, nodes)
    class_ids = classes.ids_to_store(connection, locked.class_names())
    ids = {uuid: node.id for uuid, node in nodes.items()}
    entries = save(connection, locked, ids, class_ids, room=room)
    stocked = {entry.provider_id for entry in entries}
    if writes is None:
        providers.bump(connection, stocked)
    else:
        providers.bump_by(connection, {ids[uuid]: number for uuid, number in writes.items()})
    change_feed.record(connection, stocked | locked.provider_ids(), ChangeKind.USAGE)


def save(
    connection: Connection,
    locked: LockedConsumers,
    provider_ids: Mapping[str, int],
    class_ids: Mapping[str, int],
    new: Mapping[Slot, Inventory] = NO_INVENTORIES,
    room: ProviderRoom | None = None,
) -> list[Entry]:
    """Store the requested allocations if the inventories have room for them, and return them.

    Neither are generations of providers incremented, nor is the change feed told. Raises
    InvalidInventory, ConstraintViolated, CapacityExceeded or ConcurrentUpdate.

    :param provider_ids: of the requested providers and those with stored allocations, by uuid
    :param class_ids: of the requested classes, by name
    :param new: inventories that replace stored ones in the same transaction
    :param room: of the entries' providers, read under their locks; None: it is read here
    """
    entries = locked.entries(provider_ids, class_ids)
    if entries:
        uuids = {provider_id: uuid for uuid, provider_id in provider_ids.items()}
        stocked = {entry.provider_id for entry in entries}
        wanted = {entry.class_id for entry in entries}
        if room is None:
            asked = ProviderRoom.questions([uuids[key] for key in stocked], locked.requests)
            room = ProviderRoom.of(connection.execute_all(*asked))
        with locked.refusing(connection):
            allocation.check(
                entries,
                _only({**room.stock, **new}, stocked, wanted),
                room.usages,
                classes.names_of(connection, wanted),
                uuids,
            )
    locked.save(connection, entries)
    return entries


def _only(
    stock: Mapping[Slot, Inventory], provider_ids: set[int], class_ids: set[int]
) -> dict[Slot, Inventory]:
    """Return the inventories of these providers and classes."""
    return {
        slot: inventory
        for slot, inventory in stock.items()
        if slot[0] in provider_ids and slot[1] in class_ids
    }


def refuse_unknown_providers(requests: Sequence[ConsumerRequest], known: Container[str]) -> None:
    """Raise UnknownProviderNamed for the first requested provider that isn't in `known`."""
    for request in requests:
        for uuid in request.allocations:
            if uuid not in known:
                raise UnknownProviderNamed(uuid=uuid)


def delete_allocations(database: Database, consumer: str) -> None:
    """Delete a consumer and its allocations; no generation changes. Raises NotFound."""

    def delete(connection: Connection) -> None:
        known = consumers.lock(connection, [consumer])
        held, _ = allocations.entries_of(connection, [consumer])
        if not known or not held:
            raise NotFound(f"No allocations for consumer '{consumer}'")
        allocations.delete(connection, [consumer])
        consumers.delete(connection, [stored.id for stored in known.values()])
        change_feed.record(connection, {entry.provider_id for entry in held}, ChangeKind.USAGE)

    database.write(delete)
