"""Inventory that is widened while a command moves allocations, and what it is to be afterwards.

A provider takes over allocations that its inventory doesn't admit, for example because it was
lowered below its use. For that moment, `widened` makes room for what is held and nothing more. The
record that is wanted stands beside it, as the record of a class of its own, which nobody requests.
So whoever comes next knows it, whatever happened to the command: another run of it, or the agent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from compute.provider_tree import ProviderTree
from compute.provider_tree.inventory_record import DEFAULTS, Inventory, completed

KEPT = "CUSTOM_BERTH_KEPT_"
_LONGEST = 255


def kept_name(resource_class: str) -> str:
    """Return the class whose record is what the record of `resource_class` is to be."""
    name = f"{KEPT}{resource_class}"
    if len(name) <= _LONGEST:
        return name
    return f"{KEPT}{hashlib.sha256(resource_class.encode()).hexdigest().upper()}"


def widened(held: Iterable[int]) -> dict[str, object]:
    """Return a record that admits what is held, and no more."""
    return completed({"total": sum(held)})


def kept(record: Mapping[str, object], wanted: Mapping[str, object], name: str) -> Inventory:
    """Return the widened record of a class, and beside it the one that is wanted."""
    return {name: dict(record), kept_name(name): dict(wanted)}


def restored(inventory: Mapping[str, Mapping[str, object]]) -> Inventory:
    """Return an inventory with the wanted records in the place of the widened ones.

    A record that somebody changed since it was widened stays.
    """
    found: Inventory = {}
    for name, record in inventory.items():
        if not name.startswith(KEPT):
            wanted = inventory.get(kept_name(name))
            is_widened = wanted is not None and completed(record) == {
                **DEFAULTS,
                "total": record["total"],
            }
            found[name] = dict(wanted if wanted is not None and is_widened else record)
    return found


def restore(tree: ProviderTree, root: str) -> None:
    """Narrow what a command left widened below a root, of whomever the providers are."""
    for uuid in tree.get_provider_uuids(root):
        inventory = tree.data(uuid).inventory
        if any(name.startswith(KEPT) for name in inventory):
            tree.correct_inventory(uuid, restored(inventory))
