"""Write and delete allocations of consumers (rest-api.md 3.8, 3.9, 4.2)."""

from collections.abc import Container, Mapping, Sequence

from placement.domain import allocation
from placement.domain.allocation import Entry, Slot
from placement.domain.capacity import Inventory
from placement.domain.consumer import ConsumerRequest
from placement.errors import NotFound, UnknownProviderNamed
from placement.operations.locked_consumers import LockedConsumers
from placement.storage import allocations, change_feed, consumers, inventories, providers
from placement.storage import resource_classes as classes
from placement.storage.change_feed import Kind
from placement.storage.engine import TRIES, Connection, Database

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
        locked = LockedConsumers.lock(connection, requests)
        named = {uuid for request in requests for uuid in request.allocations}
        store(connection, locked, providers.lock(connection, named, locked.provider_ids()))

    database.write(write, tries)


def store(
    connection: Connection, locked: LockedConsumers, nodes: Mapping[str, providers.Node]
) -> None:
    """Replace the allocations of locked consumers; raises what `write_allocations` raises.

    :param nodes: the locked providers by uuid: those requested, and those with stored allocations
    """
    locked.check_generations()
    refuse_unknown_providers(locked.requests, nodes)
    class_ids = classes.ids_to_store(connection, locked.class_names())
    entries = save(connection, locked, {uuid: node.id for uuid, node in nodes.items()}, class_ids)
    stocked = {entry.provider_id for entry in entries}
    providers.bump(connection, stocked)
    change_feed.record(connection, stocked | locked.provider_ids(), Kind.USAGE)


def save(
    connection: Connection,
    locked: LockedConsumers,
    provider_ids: Mapping[str, int],
    class_ids: Mapping[str, int],
    new: Mapping[Slot, Inventory] = NO_INVENTORIES,
) -> list[Entry]:
    """Store the requested allocations if the inventories have room for them, and return them.

    Neither are generations of providers incremented, nor is the change feed told. Raises
    InvalidInventory, ConstraintViolated, CapacityExceeded or ConcurrentUpdate.

    :param provider_ids: of the requested providers and those with stored allocations, by uuid
    :param class_ids: of the requested classes, by name
    :param new: inventories that replace stored ones in the same transaction
    """
    entries = locked.entries(provider_ids, class_ids)
    if entries:
        stocked = {entry.provider_id for entry in entries}
        wanted = {entry.class_id for entry in entries}
        stock, usages = connection.execute_all(
            inventories.slots_question(stocked, wanted),
            allocations.usages_question(stocked, wanted, locked.uuids),
        )
        with locked.refusing(connection):
            allocation.check(
                entries,
                inventories.slots_in(stock) | _only(new, stocked, wanted),
                allocations.usages_in(usages),
                classes.names_of(connection, wanted),
                {provider_id: uuid for uuid, provider_id in provider_ids.items()},
            )
    locked.save(connection, entries)
    return entries


def _only(
    stock: Mapping[Slot, Inventory], provider_ids: set[int], class_ids: set[int]
) -> dict[Slot, Inventory]:
    """Return the part of `stock` that `inventories.slots_question` would find for these ids."""
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
        change_feed.record(connection, {entry.provider_id for entry in held}, Kind.USAGE)

    database.write(delete)
