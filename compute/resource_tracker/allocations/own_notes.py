"""What a tracker writes itself, as the cell database notes it (compute.md §4.10)."""

from collections.abc import Iterable

from compute.records.cell_database import CellDatabase
from compute.resource_tracker.node.node import TrackedNode


class OwnNotes:
    """Notes the consumers that the tracker writes for, and the classes that flavors named for them.

    The flavor may be gone from the records when its share is taken back: its claim failed, or the
    resize ended while placement was away. What others gave of such a class isn't the tracker's.
    """

    def __init__(self, cell: CellDatabase) -> None:
        self._cell = cell

    def add(self, consumer: str, node: TrackedNode, classes: Iterable[str]) -> None:
        """Note, before the first write, that the tracker writes for the consumer, and classes."""
        if consumer not in node.own:
            self._cell.own_allocations.add(consumer, node.uuid)
            node.own.add(consumer)
        for name in sorted(set(classes) - node.own_classes.get(consumer, set())):
            self._cell.own_allocations.add_class(consumer, node.uuid, name)
            node.own_classes.setdefault(consumer, set()).add(name)

    def keep(self, consumer: str, node: TrackedNode, classes: Iterable[str]) -> None:
        """Forget the other classes: the consumer has none of them from the tracker any more."""
        for name in sorted(node.own_classes.get(consumer, set()) - set(classes)):
            self._cell.own_allocations.discard_class(consumer, node.uuid, name)
            node.own_classes[consumer].discard(name)

    def discard(self, consumer: str, node: TrackedNode) -> None:
        """Forget the consumer: what it has of the node is somebody else's, or gone."""
        self.keep(consumer, node, ())
        node.own_classes.pop(consumer, None)
        if consumer in node.own:
            self._cell.own_allocations.discard(consumer, node.uuid)
            node.own.discard(consumer)
