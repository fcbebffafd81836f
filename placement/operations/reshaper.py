"""Move inventories and their allocations in one transaction (rest-api.md 3.10, 4.4)."""

import collections
from collections.abc import Container, Mapping, Sequence

from placement.domain.capacity import Entry, Inventory, refuse_no_number
from placement.domain.consumer import ConsumerRequest
from placement.domain.provider import TreePosition
from placement.errors import GenerationConflict, NamedProviderUnknown
from placement.operations.allocations import (
    ProviderRoom,
    refuse_unknown_providers,
    save,
    written_providers,
)
from placement.operations.inventories import refuse_in_use
from placement.operations.locked_consumers import LockedConsumers
from placement.storage import inventories, providers
from placement.storage import resource_classes as classes
from placement.storage.database.engine import TRIES, Connection, Database
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind

#: the provider generation that the caller expects, and the new inventories by class name
Stock = tuple[int, Mapping[str, Inventory]]


def reshape(
    database: Database,
    stocks: Mapping[str, Stock],
    requests: Sequence[ConsumerRequest],
    tries: int = TRIES,
) -> None:
    """Replace the inventories of providers and the allocations of consumers, in one transaction.

    The capacity of a new inventory isn't checked: it may be 0, or less than the usage.

    Raises NamedProviderUnknown or GenerationConflict if a provider isn't as the caller expects,
    BadRequest if a ratio is NaN or infinite, InventoryInUse if a consumer keeps an allocation of an
    inventory that would be gone, what `write_allocations` raises for the allocations, and LostRace
    if other writers interfered `tries` times.

    :param stocks: by provider uuid
    """

    def run(connection: Connection) -> None:
        locked = LockedConsumers.lock(connection, requests)
        named = set(stocks) | {uuid for request in requests for uuid in request.allocations}
        nodes = providers.lock(connection, named, locked.provider_ids())
        check_generations({uuid: given for uuid, (given, _) in stocks.items()}, nodes)
        locked.check_generations()
        refuse_unknown_providers(requests, nodes)
        for _, stock in stocks.values():
            refuse_no_number(stock.values())
        ids = {uuid: node.id for uuid, node in nodes.items()}
        entries = replace(
            connection, {uuid: stock for uuid, (_, stock) in stocks.items()}, locked, ids
        )
        providers.bump_by(connection, _steps(stocks, nodes, entries))
        _record(connection, stocks, nodes, _touched(locked, entries))

    database.write(run, tries)


def check_generations(
    given: Mapping[str, int], nodes: Mapping[str, TreePosition], place: str = "inventories"
) -> None:
    """Raise NamedProviderUnknown or GenerationConflict for the first provider that isn't as given.

    :param given: the generations that the caller expects, by uuid
    :param nodes: the stored providers, by uuid
    :param place: what the request calls the object that names the providers
    """
    for uuid, generation in given.items():
        node = nodes.get(uuid)
        if node is None:
            raise NamedProviderUnknown(uuid=uuid, place=place)
        if node.generation != generation:
            raise GenerationConflict(
                f"resource provider generation conflict for provider {uuid}: "
                f"actual: {node.generation}, given: {generation}"
            )


def replace(
    connection: Connection,
    stocks: Mapping[str, Mapping[str, Inventory]],
    locked: LockedConsumers,
    provider_ids: Mapping[str, int],
    fresh: Container[str] = (),
) -> list[Entry]:
    """Replace inventories of providers and the allocations of consumers at once.

    While the consumers move, a provider has its old and its new inventories. Return the entries
    of the allocations. The caller raises the generations of the providers and appends to the change
    feed. Raises ResourceClassNotFound, InvalidInventory, ConstraintViolated, CapacityExceeded or
    InventoryInUse.

    :param stocks: the new inventories, by provider uuid and class name
    :param provider_ids: of all these providers and those of the allocations, by uuid
    :param fresh: uuids of the providers that this transaction created: they have no inventories
    """
    new_names = dict.fromkeys(name for stock in stocks.values() for name in stock)
    class_ids = classes.ids_to_store(connection, [*new_names, *locked.class_names()])
    new = {
        (provider_ids[uuid], class_ids[name]): inventory
        for uuid, stock in stocks.items()
        for name, inventory in stock.items()
    }
    written = written_providers(locked, provider_ids)
    room = ProviderRoom.read(connection, written, locked.requests).with_stock(new)
    entries = save(connection, locked, provider_ids, class_ids, room)
    changed = {uuid: provider_ids[uuid] for uuid in stocks if uuid not in fresh}
    if changed:
        used = connection.execute(*inventories.in_use_question(changed))
        refuse_in_use(used, changed, keeping=new)
    classes.keep(connection, {class_id for _, class_id in new})
    inventories.replace(connection, changed.values(), new)
    return entries


def _steps(
    stocks: Mapping[str, Stock], nodes: Mapping[str, TreePosition], entries: list[Entry]
) -> dict[int, int]:
    """Return by how much each generation rises: the reference writes in three rounds (4.4)."""
    steps = collections.Counter({entry.provider_id for entry in entries})
    for uuid, (_, stock) in stocks.items():
        steps[nodes[uuid].id] += 2 if stock else 1
    return dict(steps)


def _touched(locked: LockedConsumers, entries: list[Entry]) -> set[int]:
    return locked.provider_ids() | {entry.provider_id for entry in entries}


def _record(
    connection: Connection,
    stocks: Mapping[str, Stock],
    nodes: Mapping[str, TreePosition],
    used: set[int],
) -> None:
    kinds = dict.fromkeys(used, ChangeKind.USAGE)
    for uuid in stocks:
        node_id = nodes[uuid].id
        kinds[node_id] = kinds.get(node_id, ChangeKind(0)) | ChangeKind.INVENTORY
    change_feed.record_each(connection, kinds)
