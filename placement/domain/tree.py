"""The rules for moving a provider within and between trees (rest-api.md 5)."""

from collections.abc import Iterable

from placement.domain.provider import Node

NO_SUCH_PARENT = "parent provider UUID does not exist."
OWN_PARENT = (
    "parent provider UUID cannot be same as UUID. "
    "Please set parent provider UUID to None if there is no parent."
)
LOOP = "creating loop in the provider tree is not allowed."
NO_REPARENTING = "re-parenting a provider is not currently allowed."
NO_UNPARENTING = "un-parenting a provider is not currently allowed."


def subtree(tree: Iterable[Node], top: int) -> list[int]:
    """Return the ids of the provider `top` and of its descendants, given all nodes of its tree."""
    children: dict[int, list[int]] = {}
    for node in tree:
        if node.parent_id is not None:
            children.setdefault(node.parent_id, []).append(node.id)
    found = [top]
    for parent in found:
        found.extend(children.get(parent, ()))
    return found


def why_not_move(
    node: Node, new_parent: Node | None, below: Iterable[int], may_reparent: bool
) -> str | None:
    """Return the reason why `node` can't be put under `new_parent`; None if it can.

    :param new_parent: None: the node is to become a root
    :param below: ids of the node and its descendants
    :param may_reparent: whether a provider that has a parent may change it (microversion 1.37)
    """
    has_parent = node.parent_id is not None
    if new_parent is None:
        return NO_UNPARENTING if has_parent and not may_reparent else None
    if has_parent and new_parent.id != node.parent_id and not may_reparent:
        return NO_REPARENTING
    if new_parent.id in below:
        return LOOP
    return None
