"""A provider tree whose editor is stopped half-way."""

from collections.abc import Callable
from functools import partial
from typing import Any

from compute.provider_tree import ProviderTree

_EDITS = frozenset(
    {
        "new_root",
        "new_child",
        "remove",
        "update_inventory",
        "update_traits",
        "add_traits",
        "remove_traits",
        "update_aggregates",
        "add_aggregates",
        "remove_aggregates",
        "update_resources",
    }
)


class Interrupted(BaseException):
    """Raised instead of an edit, to stop the driver there. No driver may catch it."""


class InterruptibleTree(ProviderTree):
    """A copy of `tree` that takes `edits_left` edits and raises Interrupted at the next one.

    `edits_left` None means no limit.
    """

    def __init__(self, tree: ProviderTree, edits_left: int) -> None:
        self.edits_left: int | None = None
        super().__init__()
        for uuid in tree.get_provider_uuids():
            one = tree.data(uuid)
            if one.parent_uuid is None:
                self.new_root(one.name, one.uuid, one.generation)
            else:
                self.new_child(one.name, one.parent_uuid, one.uuid, one.generation)
            self.update_inventory(uuid, one.inventory)
            self.update_traits(uuid, one.traits)
            self.update_aggregates(uuid, one.aggregates)
            self.update_resources(uuid, one.resources)
        self.edits_left = edits_left

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in _EDITS and self.edits_left is not None:
            return partial(self._count_and_edit, found)
        return found

    def _count_and_edit(self, edit: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self.edits_left == 0:
            raise Interrupted
        if self.edits_left is not None:
            self.edits_left -= 1
        return edit(*args, **kwargs)
