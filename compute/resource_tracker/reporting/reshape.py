"""The driver's part of a reshape: it moves inventory in the tree and rewrites allocations.

Only reads are sent to placement here. The result is for one `POST /reshaper`.
"""

import copy
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compute.driver import ServiceDriver, novas_words
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Allocations
from compute.report import SchedulerReportClient
from compute.report.wire.context import Context

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reshaped:
    """Consumer → allocations of a node: as they are, and as they shall be."""

    before: Allocations
    after: Allocations


def reshaped_allocations(
    driver: ServiceDriver,
    reportclient: SchedulerReportClient,
    context: Context,
    tree: ProviderTree,
    nodename: str,
) -> Reshaped:
    """Let the driver finish `tree` and return the allocations of the node as they shall be.

    Call it when the driver raised ReshapeNeeded over this very tree, however far the driver had
    edited it. Allocations are gathered only then, because that takes two requests or more.

    Raises ReshapeFailed if the driver can't reshape, ReshapeNeeded if the driver is broken.
    """
    allocations = reportclient.get_allocations_for_provider_tree(context, nodename)
    before = copy.deepcopy(allocations)
    with novas_words():
        driver.update_provider_tree(tree, nodename, allocations=allocations)
    for consumer, less in lost(before, allocations).items():
        # That may be right: a driver can find that a guest has less than it was allocated.
        LOG.warning(
            "Reshaping %s leaves consumer %s with less than before: %s",
            nodename,
            consumer,
            ", ".join(f"{amount} {name}" for name, amount in sorted(less.items())),
        )
    return Reshaped(before, allocations)


def lost(
    before: Mapping[str, Mapping[str, object]], after: Mapping[str, Mapping[str, object]]
) -> dict[str, dict[str, int]]:
    """Return consumer → class → amount that the consumer had and has no longer.

    Only a consumer's totals count, not the providers. If one class lost just the amount that
    another gained, the class was renamed, and nothing is lost.
    """
    losses: dict[str, dict[str, int]] = {}
    for consumer, body in before.items():
        had = _totals(body)
        # A consumer that isn't mentioned keeps its allocations.
        has = _totals(after.get(consumer, body))
        gained = list((has - had).values())
        for name, amount in (had - has).items():
            if amount in gained:
                gained.remove(amount)
            else:
                losses.setdefault(consumer, {})[name] = amount
    return losses


def _totals(body: Mapping[str, Any]) -> Counter[str]:
    totals: Counter[str] = Counter()
    for record in body["allocations"].values():
        totals.update(record["resources"])
    return totals
