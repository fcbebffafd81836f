"""What consumers ask for that leave lost hosts, and where they may go that others have a say in."""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping

from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.slots import WholeSlot
from placement.extensions.evacuation.movers import Demand, TreeDemand, demand_of
from placement.extensions.evacuation.plan import NewHome, Rules
from placement.extensions.plans.terms import Terms
from placement.extensions.survives.holders import Holders, HostHolder


class Askers:
    """Says what consumers ask for, as the terms of a request have it."""

    def __init__(self, cloud: Snapshot, holders: Holders, terms: Terms) -> None:
        self._cloud, self._holders, self._terms = cloud, holders, terms
        #: what single consumers ask for, by uuid
        self.given: Mapping[str, TreeDemand] = terms.requests
        constraints = terms.constraints
        #: the consumers that constraints name
        self.named: frozenset[str] = constraints.named.union(constraints.not_on)
        self._known: dict[tuple[object, ...], Demand] = {}

    def wanted(
        self, holders: Iterable[HostHolder], leaving: frozenset[int]
    ) -> dict[Demand, list[str]]:
        """Return the uuids of consumers by what they ask for.

        :param leaving: the slots of the roots of the trees that are lost
        """
        movers = list(holders)
        going = {one.consumer for one in movers}
        found: dict[Demand, list[str]] = {}
        for one in movers:
            demand = self._demand(one, leaving)
            if one.consumer in self.named:
                demand = self._alone(one.consumer, demand, leaving, going)
            found.setdefault(demand, []).append(one.consumer)
        return found

    def rules(self, wanted: Mapping[Demand, object], leaving: frozenset[int]) -> Rules | None:
        """Return where consumers may go that others have a say in; None: nobody has."""
        constraints = self._terms.constraints
        if not any(demand.consumer in constraints.named for demand in wanted if demand.consumer):
            return None
        movers = {demand.consumer for demand in wanted}

        def may_go(demand: Demand, homes: Mapping[str, NewHome]) -> Callable[[int], bool]:
            if demand.consumer not in constraints.named:
                return lambda root: True

            def roots(others: Iterable[str]) -> set[int]:
                found: set[int] = set()
                for one in others:
                    if one in homes:
                        found.add(homes[one].roots[0])
                    elif one not in movers:
                        found |= self._staying(one, leaving)
                return found

            shut = roots(constraints.partners(demand.consumer))
            must = roots(constraints.companions(demand.consumer))
            return lambda root: root not in shut and must <= {root}

        return may_go

    def _demand(self, one: HostHolder, leaving: frozenset[int]) -> Demand:
        given = self.given.get(one.consumer)
        key = (one.rows, one.roots & leaving, given)
        demand = self._known.get(key)
        if demand is None:
            demand = demand_of(self._cloud, one.rows, leaving, self._holders.sharing, given)
            self._known[key] = demand
        return demand

    def _alone(
        self, consumer: str, demand: Demand, leaving: frozenset[int], going: Collection[str]
    ) -> Demand:
        """Return the demand of a consumer that constraints name."""
        uuids = self._cloud.register.uuids
        partners = self._terms.constraints.partners(consumer)
        places = {
            other: {uuids[WholeSlot(root)] for root in self._staying(other, leaving)}
            for other in partners - set(going)
        }
        shut = tuple(sorted(self._terms.constraints.shut(consumer, places)))
        parts = tuple(dataclasses.replace(part, shut=shut) for part in demand.parts)
        return dataclasses.replace(demand, parts=parts, consumer=consumer)

    def _staying(self, consumer: str, leaving: frozenset[int]) -> frozenset[int]:
        """Return the trees on which a consumer stays."""
        known = self._holders.known.get(consumer)
        return frozenset() if known is None else known.trees - leaving
