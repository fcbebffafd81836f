"""Write and delete allocations of consumers (rest-api.md 3.8, 3.9, 4.2)."""

from collections.abc import Container, Mapping, Sequence

from placement.domain import allocation
from placement.domain.consumer import ConsumerRequest
from placement.errors import NotFound, UnknownProviderNamed
from placement.operations.locked_consumers import LockedConsumers
from placement.storage import allocations, change_feed, consumers, inventories, providers
from placement.storage import resource_classes as classes
from placement.storage.change_feed import Kind
from placement.storage.engine import TRIES, Connection, Database


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
    entries = locked.entries({uuid: node.id for uuid, node in nodes.items()}, class_ids)
    stocked = {entry.provider_id for entry in entries}
    wanted = {entry.class_id for entry in entries}
    if entries:
        with locked.refusing(connection):
            allocation.check(
                entries,
                inventories.slots(connection, stocked, wanted),
                allocations.usages(connection, stocked, wanted, locked.uuids),
                classes.names_of(connection, wanted),
                {node.id: node.uuid for node in nodes.values()},
            )
    locked.save(connection, entries)
    providers.bump(connection, stocked)
    change_feed.record(connection, stocked | locked.provider_ids(), Kind.USAGE)


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
