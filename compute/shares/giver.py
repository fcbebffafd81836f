"""A provider that may give a guest a part of its share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import os_traits

from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Amounts, ProviderAmounts


@dataclass(frozen=True)
class Giver:
    """A provider of a node's tree, or one that shares with it.

    :param parent_uuid: None for a root
    :param used: class → how much others than the guest hold
    :param shares: it gives to other nodes as well, and isn't in the tree
    """

    uuid: str
    name: str
    parent_uuid: str | None
    inventories: Mapping[str, Mapping[str, Any]]
    traits: frozenset[str] = frozenset()
    used: Amounts = field(default_factory=dict)
    shares: bool = False


def givers_of(tree: ProviderTree, root: str) -> list[Giver]:
    """Return the providers of the root's tree, parents first, and those that share with it.

    :param tree: it may have other roots, of which those that share are taken, by uuid
    """
    own = tree.get_provider_uuids(root)
    others = sorted(
        uuid
        for uuid in set(tree.get_provider_uuids()) - set(own)
        if os_traits.MISC_SHARES_VIA_AGGREGATE in tree.data(uuid).traits
    )
    aggregates = set().union(*(tree.data(uuid).aggregates for uuid in own))
    pools = [one for one in others if not aggregates.isdisjoint(tree.data(one).aggregates)]
    return [*(_giver(tree, one, False) for one in own), *(_giver(tree, one, True) for one in pools)]


def with_usages(
    givers: Iterable[Giver], used: ProviderAmounts, own: ProviderAmounts
) -> list[Giver]:
    """Return the givers with what others hold of them.

    :param used: provider → class → amount that all consumers hold
    :param own: the same of the guest itself
    """

    def others(uuid: str) -> dict[str, int]:
        mine = own.get(uuid, {})
        return {name: max(0, n - mine.get(name, 0)) for name, n in used.get(uuid, {}).items()}

    return [replace(one, used=others(one.uuid)) for one in givers]


def able(givers: Iterable[Giver], names: Collection[str]) -> list[Giver]:
    """Return those that have inventory of all classes."""
    return [one for one in givers if all(name in one.inventories for name in names)]


def _giver(tree: ProviderTree, uuid: str, shares: bool) -> Giver:
    data = tree.data(uuid)
    parent = None if shares else data.parent_uuid
    return Giver(
        data.uuid, data.name, parent, data.inventory, frozenset(data.traits), shares=shares
    )
