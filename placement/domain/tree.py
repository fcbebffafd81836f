"""The rules for moving a provider within and between trees (rest-api.md 5)."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Protocol, TypeVar

NO_SUCH_PARENT = "parent provider UUID does not exist."
OWN_PARENT = (
    "parent provider UUID cannot be same as UUID. "
    "Please set parent provider UUID to None if there is no parent."
)
LOOP = "creating loop in the provider tree is not allowed."
NO_REPARENTING = "re-parenting a provider is not currently allowed."
NO_UNPARENTING = "un-parenting a provider is not currently allowed."

Key = TypeVar("Key", bound=Hashable)


class Child(Protocol):
    """What is known of a provider's place, by database ids."""

    @property
    def id(self) -> int: ...

    @property
    def parent_id(self) -> int | None: ...


def subtree(tree: Iterable[Child], top: int) -> list[int]:
    """Return the ids of the provider `top` and of its descendants, parents first.

    :param tree: all providers of its tree
    """
    children: dict[int, list[int]] = {}
    for node in tree:
        if node.parent_id is not None:
            children.setdefault(node.parent_id, []).append(node.id)
    found = [top]
    for parent in found:
        found.extend(children.get(parent, ()))
    return found


def tops(parents: Mapping[Key, Key | None]) -> dict[Key, Key | None]:
    """Return the top of the way up from each provider; None if that way is a circle.

    :param parents: by provider, its parent, or None; a parent that isn't a key is a top, too
    """
    found: dict[Key, Key | None] = {}
    for start in parents:
        way: dict[Key, None] = {}
        here = start
        while here not in found and here not in way:
            above = parents.get(here)
            if above is None:
                found[here] = here
                break
            way[here] = None
            here = above
        top = None if here in way else found[here]
        found.update(dict.fromkeys(way, top))
    return found


def why_not_move(
    parent: Key | None, new_parent: Key | None, in_circle: bool, may_reparent: bool
) -> str | None:
    """Return the reason why a provider can't get a new parent; None if it can.

    :param new_parent: None: the provider is to become a root
    :param in_circle: whether its way up would be a circle
    :param may_reparent: whether a provider that has a parent may change it (microversion 1.37)
    """
    if parent is not None and parent != new_parent and not may_reparent:
        return NO_UNPARENTING if new_parent is None else NO_REPARENTING
    return LOOP if in_circle else None
