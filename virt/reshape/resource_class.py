"""Renaming resource classes, e.g. a custom one that became standard (compute.md §6.7)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations, give, held, take
from virt.inventory import is_resource_class
from virt.ownership import Ownership

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree


def check_renames(renamed: Mapping[str, str]) -> None:
    """Raise ValueError if a class can't have such a name, or if it is both old and new.

    Renaming a class that is both would never end.
    """
    for name in (*renamed, *renamed.values()):
        if not is_resource_class(name):
            raise ValueError(f"{name!r} is neither a standard nor a custom resource class")
    if not set(renamed).isdisjoint(renamed.values()):
        raise ValueError(f"Resource classes are renamed in a circle or a chain: {dict(renamed)}")


def rename_classes(
    tree: "ProviderTree",
    nodename: str,
    renamed: Mapping[str, str],
    allocations: Allocations | None = None,
    is_ours: Ownership | None = None,
) -> None:
    """Give classes of the driver's providers their new names, in inventories and allocations.

    :param renamed: old class → new class
    :param allocations: None, or the allocations to edit in place
    :param is_ours: says which providers below the root are the driver's; None: it has none there.
        All others keep their classes, and so do their consumers

    Raises ReshapeNeeded if a provider has an old class and `allocations` is None, and what
    `check_renames` raises.

    A provider that has both classes keeps the new one's record with the totals added up. The old
    class itself stays known to Placement.
    """
    check_renames(renamed)
    uuids = [tree.data(nodename).uuid]
    if is_ours is not None:
        uuids += [provider.uuid for provider in is_ours.below_root(tree)]
    to_rename = [uuid for uuid in uuids if not set(renamed).isdisjoint(tree.data(uuid).inventory)]
    if to_rename and allocations is None:
        raise exceptions.ReshapeNeeded()
    for uuid in to_rename:
        tree.update_inventory(uuid, _renamed_inventory(tree.data(uuid).inventory, renamed))
    # On all the driver's providers: no inventory has an old class any more.
    for body in (allocations or {}).values():
        for uuid in uuids:
            for old, new in renamed.items():
                if held(body, uuid, old):
                    # Give first: an empty record is removed, and then comes back as the last.
                    give(body, uuid, new, held(body, uuid, old))
                    take(body, uuid, old)


def _renamed_inventory(
    inventory: Mapping[str, dict[str, Any]], renamed: Mapping[str, str]
) -> dict[str, dict[str, object]]:
    result = {name: dict(record) for name, record in inventory.items() if name not in renamed}
    for old, record in inventory.items():
        if old in renamed:
            new = renamed[old]
            result[new] = _added(result[new], record) if new in result else dict(record)
    return result


def _added(record: dict[str, Any], more: Mapping[str, Any]) -> dict[str, object]:
    """Return the record with both totals. A max_unit that was the total becomes the sum, too."""
    total = record["total"] + more["total"]
    unlimited = record.get("max_unit") == record["total"]
    return record | {"total": total} | ({"max_unit": total} if unlimited else {})
