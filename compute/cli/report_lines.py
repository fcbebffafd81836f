"""What `berth-compute --once` says of each node that it reported."""

from collections.abc import Iterable, Iterator

from compute.resource_tracker.node.reported import Reported


def told(nodes: Iterable[Reported | None]) -> Iterator[str]:
    """Yield one line for each node; None stands for a node that wasn't reported."""
    for node in nodes:
        if node is not None:
            yield _line(node)


def _line(node: Reported) -> str:
    totals = ", ".join(f"{name} {total}" for name, total in sorted(node.totals.items()))
    parts = [
        _count(node.providers, "provider", "providers"),
        _count(node.inventories, "inventory", "inventories") + (f" ({totals})" if totals else ""),
        _count(node.traits, "trait", "traits"),
        _count(node.aggregates, "aggregate", "aggregates"),
    ]
    outcome = "changed" if node.changed else "unchanged"
    return f"node {node.name} ({node.uuid}): {', '.join(parts)}; {outcome}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number or 'no'} {one if number == 1 else many}"
