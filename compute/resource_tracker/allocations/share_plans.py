"""Plans of what instances shall hold of a node: the one placement of shares, with what is free."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from oslo_config import cfg

from compute.consumers.held_shares import InstanceHolding, Share
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Amounts, Held, ProviderAmounts
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.resource_tracker.allocations.allocation_places import (
    Hypervisor,
    is_always_owned,
    is_open,
    merged,
    named_classes,
    placed,
    wanted_shares,
    wish,
)
from compute.resource_tracker.allocations.guest_audit import is_on_shared_storage
from compute.resource_tracker.node.node import SettledShares, TrackedNode
from compute.shares.giver import Giver, able, givers_of, with_usages

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """What a consumer shall hold: here, and as it does elsewhere.

    :param named: the classes here that are the tracker's only because a flavor names them
    :param lacking: class → how much it should have and doesn't get
    :param reasons: why
    :param lacks_inventory: whether no provider has one of the classes
    """

    wanted: Held
    named: frozenset[str] = frozenset()
    lacking: Mapping[str, int] = field(default_factory=dict)
    reasons: Sequence[str] = ()
    lacks_inventory: bool = False


class SharePlanner:
    """Makes plans. It asks placement what is free only if that matters."""

    def __init__(
        self, driver: object, conf: cfg.ConfigOpts, reportclient: SchedulerReportClient
    ) -> None:
        self._driver = driver
        self._conf = conf
        self._reportclient = reportclient

    def plan(
        self,
        context: RequestContext,
        held: InstanceHolding,
        shares: Sequence[Share],
        node: TrackedNode,
        has: ProviderAmounts,
        given: ProviderAmounts | None,
        with_usage: bool = False,
    ) -> Plan:
        """Plan what the shares of an instance take of the node.

        :param has: what the instance has in placement, here and elsewhere
        :param given: what its claim was told to take. None if it runs here: then it gets as much
            as there is
        :param with_usage: read what others hold, as placement refused a plan without that

        Raises ResourceProviderRetrievalFailed, and ClientException.
        """
        tree: ProviderTree = node.tree  # type: ignore[assignment]
        plan = self._plan(context, held, shares, node, tree, has, given, with_usage)
        if given is None or not plan.lacks_inventory:
            return plan
        # Its aggregates may have got a pool since.
        anew = self._read_anew(context, node)
        return self._plan(context, held, shares, node, anew, has, given, with_usage)

    def _plan(
        self,
        context: RequestContext,
        held: InstanceHolding,
        shares: Sequence[Share],
        node: TrackedNode,
        tree: ProviderTree,
        has: ProviderAmounts,
        given: ProviderAmounts | None,
        with_usage: bool,
    ) -> Plan:
        runs = given is None
        givers = givers_of(tree, node.uuid)
        pooled = is_on_shared_storage(self._conf, self._driver, held.instance)
        wanted = wanted_shares(held, shares, givers, has, pooled)
        classes = named_classes(held) | node.own_classes.get(held.instance.uuid, set())
        choice = is_open(wanted, givers, has, pooled)
        hypervisor = None
        if (
            runs
            and choice
            and not held.moves
            and node.settled.get(held.instance.uuid) != (SettledShares(wish(held), has))
        ):
            hypervisor = self._hypervisor(tree, node.name, held.instance.uuid)

        def made(among: Sequence[Giver]) -> Plan:
            found = placed(wanted, node.name, among, has, pooled, runs, hypervisor, given)
            whole = merged(has, found.places, among, classes)
            missing = [name for name in found.lacking if not able(givers, [name])]
            given_here = {name for part in found.places.values() for name in part}
            named = frozenset(name for name in given_here if not is_always_owned(name))
            return Plan(whole, named, found.lacking, found.reasons, bool(missing))

        first = made(givers)
        if not with_usage and (first.wanted == has or not (choice or first.lacking)):
            return first
        used = self._usages(context, node, givers)
        return made(with_usages(givers, used, has))

    def _read_anew(self, context: RequestContext, node: TrackedNode) -> ProviderTree:
        self._reportclient.invalidate_resource_provider(node.uuid, cacheonly=True)
        return self._reportclient.get_provider_subtree_and_ensure_root(
            context, node.uuid, name=node.name, with_sharing=True
        )

    def _usages(
        self, context: RequestContext, node: TrackedNode, givers: Sequence[Giver]
    ) -> ProviderAmounts:
        """Return provider → class → amount that all consumers hold."""
        rows = self._reportclient.whole_trees.of(context, node.uuid, "usages") or ()
        found = {row["uuid"]: row["usages"] for row in rows}
        for one in givers:
            if one.uuid not in found and one.inventories:
                found[one.uuid] = self._reportclient.get_usages_for_resource_provider(
                    context, one.uuid
                )
        return found

    def _hypervisor(self, tree: ProviderTree, nodename: str, uuid: str) -> Hypervisor | None:
        # A driver that derives from nova's own base class doesn't say.
        ask = getattr(self._driver, "places_of_guest", None)
        if ask is None:
            return None

        def places(resources: Amounts) -> ProviderAmounts:
            try:
                found: ProviderAmounts = ask(tree, nodename, uuid, dict(resources))
            except Exception as error:
                # The hypervisor's library may raise anything.
                LOG.debug("The driver can't tell where %s is: %s", uuid, error)
                return {}
            return found

        return places
