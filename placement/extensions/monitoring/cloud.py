"""What the cloud has, for /metrics: a bounded number of sums over the snapshot."""

import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from prometheus_client.core import GaugeMetricFamily, Metric

from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.monitoring.aside import Aside
from placement.extensions.suspects import snapshot_suspects
from placement.storage import consumers
from placement.storage.database.engine import Database

#: seconds that a page waits for the snapshot, and for which numbers of consumers are kept
PATIENCE = 2.0
KEPT = 60.0
#: how many consumer types have a sample of their own; the others are `other` together
MOST_TYPES = 100
OTHER = "other"


class CloudMetrics:
    """Reads the figures on a thread of its own, and yields them as metrics.

    While the database doesn't answer, the page has the last figures. The snapshot isn't kept.

    :param current: returns the snapshot as of now
    """

    def __init__(
        self,
        database: Database,
        current: Callable[[], Snapshot],
        patience: float = PATIENCE,
    ) -> None:
        self._database, self._current = database, current
        self._patience = patience
        self._counted: tuple[float, Mapping[str, int]] | None = None
        self._reading = Aside(self._read)
        self._latest: list[Metric] = []

    def collect(self) -> Iterator[Metric]:
        """Yield the families; none before the first figures were read."""
        self._reading.attempt(self._patience)
        yield from self._latest

    def _read(self) -> None:
        snapshot = self._current()
        now = time.monotonic()
        if self._counted is None or now - self._counted[0] > KEPT:
            self._counted = now, self._database.read(consumers.counts_by_type)
        self._latest = list(families(snapshot, bounded(self._counted[1])))


def bounded(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return the counts of the most frequent types, and of all others together."""
    if len(counts) <= MOST_TYPES:
        return counts
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    kept = {name: counts[name] for name in ranked[:MOST_TYPES]}
    kept[OTHER] = kept.get(OTHER, 0) + sum(counts[name] for name in ranked[MOST_TYPES:])
    return kept


def families(snapshot: Snapshot, consumers_of: Mapping[str, int]) -> Iterator[Metric]:
    """Yield what the cloud has, by resource class, kind of provider and type of consumer.

    :param consumers_of: how many consumers there are, by type
    """
    texts = {
        "inventory": "All that the inventories have.",
        "reserved": "What the inventories keep back.",
        "capacity": "What can be allocated: (total - reserved) * allocation_ratio.",
        "used": "What is allocated.",
    }
    sums = {
        name: GaugeMetricFamily(f"placement_resource_{name}", text, labels=["resource_class"])
        for name, text in texts.items()
    }
    over = GaugeMetricFamily(
        "placement_providers_over_capacity",
        "Providers whose usage is more than their capacity.",
        labels=["resource_class"],
    )
    # what is allocated without an inventory
    strays: dict[int, int] = {}
    for (_, class_id), used in snapshot.stray_usage.items():
        strays[class_id] = strays.get(class_id, 0) + used
    _, classes = snapshot_suspects.over_capacity(snapshot)
    class_ids, counts = np.unique(classes, return_counts=True)
    too_full = dict(zip(class_ids.tolist(), counts.tolist(), strict=True))
    for class_id in sorted({*snapshot.columns, *strays}):
        column = snapshot.column(class_id)
        stray = strays.get(class_id, 0)
        if not len(column.slots) and not stray:
            continue
        labels = [snapshot.names.classes.get(class_id, str(class_id))]
        sums["inventory"].add_metric(labels, float(column.total.sum()))
        sums["reserved"].add_metric(labels, float(column.reserved.sum()))
        sums["capacity"].add_metric(labels, float(np.floor(column.capacities).sum()))
        sums["used"].add_metric(labels, float(column.used.sum() + stray))
        over.add_metric(labels, too_full.get(class_id, 0))
    yield from sums.values()
    yield over
    yield GaugeMetricFamily(
        "placement_trees_drained",
        "Trees of which everything is reserved.",
        float(len(snapshot_suspects.drained_roots(snapshot))),
    )
    yield _providers(snapshot)
    types = GaugeMetricFamily(
        "placement_consumers", "Consumers, by their type.", labels=["consumer_type"]
    )
    for name, count in sorted(consumers_of.items()):
        types.add_metric([name], count)
    yield types


def _providers(snapshot: Snapshot) -> Metric:
    found = GaugeMetricFamily("placement_providers", "Providers, by their kind.", labels=["kind"])
    forest = snapshot.forest
    shared = np.zeros(snapshot.size, np.bool_)
    shared[snapshot.sharing] = True
    kinds = {
        "root": forest.is_root & ~shared,
        "nested": forest.alive & ~forest.is_root & ~shared,
        "sharing": forest.alive & shared,
    }
    for name, mask in kinds.items():
        found.add_metric([name], int(mask.sum()))
    return found
