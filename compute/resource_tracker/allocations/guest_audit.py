"""Guests whose allocations aren't the tracker's: do they hold what they should?"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping

from oslo_config import cfg

from compute.consumers.held_shares import InstanceHolding
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Amounts, Held
from compute.records.instance import Instance
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.resource_tracker.allocations.allocation_places import OWNED, wanted_shares
from compute.resource_tracker.node.node import TrackedNode
from compute.shares.giver import Giver, givers_of
from compute.shares.lacking import lacking, surplus

LOG = logging.getLogger(__name__)


def is_on_shared_storage(conf: cfg.ConfigOpts, driver: object, instance: Instance) -> bool:
    """Say whether driver or configuration put the instance's disk on shared storage."""
    shared = conf.berth.instances_on_shared_storage or getattr(
        driver, "instances_on_shared_storage", False
    )
    return bool(shared) and not instance.booted_from_volume


class LackingNotes:
    """Tells once what a guest lacks in placement, or has too much.

    :param unplaced: called with a class when a guest is found that lacks some of it
    """

    def __init__(self, unplaced: Callable[[str], None]) -> None:
        self._unplaced = unplaced

    def note(self, node: TrackedNode, uuid: str, missing: Amounts, more: Amounts, why: str) -> None:
        """Log it if it isn't what was logged last."""
        before = node.lacking.pop(uuid, {}), node.excess.pop(uuid, {})
        if missing:
            node.lacking[uuid] = missing
        if more:
            node.excess[uuid] = more
        if before == (missing, more) or not (missing or more):
            return
        for name in missing.keys() - before[0].keys():
            self._unplaced(name)
        told = " and ".join(
            text
            for amounts, text in (
                (missing, f"lacks {_told(missing)}"),
                (more, f"has {_told(more)} too much"),
            )
            if amounts
        )
        LOG.warning("Instance %s of node %s %s in placement: %s", uuid, node.name, told, why)


class GuestAudit:
    """Judges guests class by class, group by group, provider by provider."""

    def __init__(
        self,
        driver: object,
        conf: cfg.ConfigOpts,
        reportclient: SchedulerReportClient,
        notes: LackingNotes,
    ) -> None:
        self._driver = driver
        self._conf = conf
        self._reportclient = reportclient
        self._notes = notes

    def run(
        self,
        context: RequestContext,
        node: TrackedNode,
        tree: ProviderTree,
        consumers: Mapping[str, Held],
        skipped: Collection[str],
    ) -> None:
        """Judge the guests of the node. What a moving guest should hold isn't settled.

        :param consumers: consumer → provider of the node's tree → class → amount
        :param skipped: the guests of which the tracker writes what they hold
        """
        for uuid in (node.lacking.keys() | node.excess.keys()) - node.holdings.keys():
            node.lacking.pop(uuid, None)
            node.excess.pop(uuid, None)
        givers = givers_of(tree, node.uuid)
        judged = {
            uuid: held
            for uuid, held in node.holdings.items()
            if not held.moves and uuid not in skipped
        }
        found = {
            uuid: self._judged(held, givers, consumers.get(uuid, {}))
            for uuid, held in judged.items()
        }
        pooled = {name for one in givers if one.shares for name in one.inventories}
        doubtful = [uuid for uuid, (missing, _) in found.items() if pooled & missing.keys()]
        for uuid, has in self._whole(context, doubtful):
            found[uuid] = self._judged(judged[uuid], givers, has)
            doubtful.remove(uuid)
        for uuid, (missing, more) in found.items():
            # What a guest has of pools is unknown where placement doesn't tell it of many at once.
            certain = (name for name in missing if uuid not in doubtful or name not in pooled)
            self._notes.note(
                node,
                uuid,
                {name: missing[name] for name in certain},
                more,
                "its allocations are not the tracker's, and stay",
            )

    def _judged(
        self, held: InstanceHolding, givers: list[Giver], has: Held
    ) -> tuple[dict[str, int], dict[str, int]]:
        pooled = is_on_shared_storage(self._conf, self._driver, held.instance)
        wanted = wanted_shares(held, held.shares, givers, has, pooled)
        requests = [one.request for one in wanted]
        return lacking(requests, givers, has), surplus(requests, givers, has, OWNED)

    def _whole(self, context: RequestContext, uuids: list[str]) -> Iterator[tuple[str, Held]]:
        """Yield all that consumers hold, if placement tells that in one request."""
        if not uuids:
            return
        found = self._reportclient.whole_trees.allocations_of_each(context, list(uuids)) or {}
        for uuid, body in found.items():
            yield uuid, {one: part["resources"] for one, part in body["allocations"].items()}


def _told(amounts: Amounts) -> str:
    return ", ".join(f"{amount} {name}" for name, amount in sorted(amounts.items()))
