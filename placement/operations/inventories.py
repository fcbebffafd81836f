"""Write the inventories of one provider (rest-api.md 3.3, 4.3)."""

from collections.abc import Container, Iterable, Mapping

from placement.domain.capacity import Inventory, Slot, offers_nothing, refuse_no_number
from placement.domain.provider import TreePosition
from placement.errors import (
    BadRequest,
    GenerationConflict,
    InvalidCapacity,
    InventoryExists,
    InventoryInUse,
    InventoryMissing,
    InventoryNotFound,
)
from placement.storage import allocations, inventories, providers, resource_classes
from placement.storage.at_once import content
from placement.storage.database.connection import Question, StatementResult
from placement.storage.database.engine import Connection, Database
from placement.storage.feed import change_feed, feed_lanes
from placement.storage.feed.change_feed import ChangeKind


def create_inventory(
    database: Database, uuid: str, resource_class: str, inventory: Inventory, may_be_full: bool
) -> int:
    """Add one inventory and return the provider's new generation.

    Raises BadRequest if a ratio is NaN or infinite, and ProviderNotFound, InvalidCapacity,
    ResourceClassNotFound or InventoryExists.

    :param may_be_full: whether `reserved` may equal `total` (since microversion 1.26)
    """

    def create(connection: Connection) -> int:
        node = providers.lock_one(connection, uuid)
        check_capacities({uuid: {resource_class: inventory}}, may_be_full)
        class_id = resource_classes.ids_to_store(connection, [resource_class])[resource_class]
        slot = (node.id, class_id)
        if inventories.exists(connection, slot):
            raise InventoryExists(resource_class=resource_class, uuid=uuid)
        resource_classes.keep(connection, [class_id])
        inventories.insert(connection, {slot: inventory})
        return _finish(connection, node)

    return database.write(create)


def replace_inventories(
    database: Database,
    uuid: str,
    generation: int,
    stock: Mapping[str, Inventory],
    may_be_full: bool,
) -> int:
    """Replace all inventories of the provider with `stock` and return its new generation.

    Raises BadRequest if a ratio is NaN or infinite, InventoryInUse if `stock` lacks a class that
    has allocations, and ProviderNotFound, GenerationConflict, InvalidCapacity or
    ResourceClassNotFound.

    :param generation: the provider generation that the caller expects
    :param stock: inventories by class name
    :param may_be_full: whether `reserved` may equal `total` (since microversion 1.26)
    """

    def replace(connection: Connection) -> int:
        if (
            content.suit(connection, stock, generation)
            and resource_classes.are_standard(stock)
            and _may_be_stored(uuid, stock, may_be_full)
        ):
            content.write_inventories(connection, uuid, generation, stock)
            return generation + 1
        node, (used,) = _lock_at(connection, uuid, generation, inventories.in_use_question([uuid]))
        check_capacities({uuid: stock}, may_be_full)
        ids = resource_classes.ids_to_store(connection, stock)
        slots = {(node.id, ids[name]): inventory for name, inventory in stock.items()}
        refuse_in_use(used, {uuid: node.id}, keeping=slots)
        resource_classes.keep(connection, ids.values())
        inventories.replace(connection, [node.id], slots)
        return _finish(connection, node)

    return database.write(replace)


def update_inventory(
    database: Database,
    uuid: str,
    generation: int,
    resource_class: str,
    inventory: Inventory,
    may_be_full: bool,
) -> int:
    """Overwrite one inventory and return the provider's new generation.

    Raises BadRequest if a ratio is NaN or infinite, and ProviderNotFound, GenerationConflict,
    InvalidCapacity, ResourceClassNotFound or InventoryMissing. For the parameters see
    `replace_inventories`.
    """

    def update(connection: Connection) -> int:
        node, _ = _lock_at(connection, uuid, generation)
        check_capacities({uuid: {resource_class: inventory}}, may_be_full)
        class_id = resource_classes.ids_of(connection, [resource_class])[resource_class]
        if not inventories.update(connection, (node.id, class_id), inventory):
            raise InventoryMissing(resource_class=resource_class)
        return _finish(connection, node)

    return database.write(update)


def delete_inventory(database: Database, uuid: str, resource_class: str) -> None:
    """Remove one inventory.

    Raises ProviderNotFound, ResourceClassNotFound, InventoryInUse or InventoryNotFound.
    """

    def delete(connection: Connection) -> None:
        node = providers.lock_one(connection, uuid)
        class_id = resource_classes.ids_of(connection, [resource_class])[resource_class]
        if allocations.any_of_slot(connection, (node.id, class_id)):
            raise InventoryInUse(resource_classes=resource_class, uuid=uuid)
        if not inventories.delete(connection, (node.id, class_id)):
            raise InventoryNotFound(f"No inventory of class {resource_class} found for delete")
        _finish(connection, node)

    database.write(delete)


def delete_inventories(database: Database, uuid: str) -> None:
    """Remove all inventories of a provider. Raises ProviderNotFound or InventoryInUse."""

    def delete(connection: Connection) -> None:
        node, (used,) = providers.lock_one_and_ask(
            connection, uuid, inventories.in_use_question([uuid])
        )
        refuse_in_use(used, {uuid: node.id})
        inventories.replace(connection, [node.id], {})
        _finish(connection, node)

    database.write(delete)


def _lock_at(
    connection: Connection, uuid: str, generation: int, *questions: Question
) -> tuple[TreePosition, list[StatementResult]]:
    feed_lanes.ask_along(connection)
    connection.is_repeatable = True
    node, answers = providers.lock_one_and_ask(connection, uuid, *questions)
    if node.generation != generation:
        raise GenerationConflict()
    return node, answers


def check_capacities(stocks: Mapping[str, Mapping[str, Inventory]], may_be_full: bool) -> None:
    """Raise BadRequest or InvalidCapacity for the first inventory that must not be stored.

    :param stocks: inventories by provider uuid and class name
    :param may_be_full: whether `reserved` may equal `total` (since microversion 1.26)
    """
    for uuid, stock in stocks.items():
        refuse_no_number(stock.values())
        for name, inventory in stock.items():
            if offers_nothing(inventory, may_be_full):
                bound = "total" if may_be_full else "or equal to total"
                raise InvalidCapacity(resource_class=name, uuid=uuid, bound=bound)


def _may_be_stored(uuid: str, stock: Mapping[str, Inventory], may_be_full: bool) -> bool:
    try:
        check_capacities({uuid: stock}, may_be_full)
    except (BadRequest, InvalidCapacity):
        return False
    return True


def refuse_in_use(
    rows: Iterable[tuple[int, int, str]],
    provider_ids: Mapping[str, int],
    keeping: Container[Slot] = (),
) -> None:
    """Raise InventoryInUse for the first provider that has allocations of a class to be removed.

    :param rows: the answer to `inventories.in_use_question`
    :param provider_ids: by uuid; all their inventories are to be removed, except `keeping`
    """
    used: dict[int, list[str]] = {}
    for provider_id, class_id, name in rows:
        if (provider_id, class_id) not in keeping:
            used.setdefault(provider_id, []).append(name)
    for uuid, provider_id in provider_ids.items():
        if provider_id in used:
            names = ", ".join(used[provider_id])
            raise InventoryInUse(resource_classes=names, uuid=uuid)


def _finish(connection: Connection, node: TreePosition) -> int:
    providers.bump(connection, [node.id])
    change_feed.record(connection, [node.id], ChangeKind.INVENTORY)
    return node.generation + 1
