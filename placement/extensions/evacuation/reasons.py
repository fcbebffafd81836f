"""Says why consumers of trees that are to be emptied find no new home."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from placement.candidates.budget import Budget
from placement.extensions.evacuation.movers import Demand
from placement.extensions.evacuation.plan import Ledger
from placement.extensions.explain.explanation import explain
from placement.extensions.what_if.changed_cloud import Naming

NOT_LOOKED = "the time was over before a place was found"
_NOT_EXPLAINED = "there is no place; the time was over before the reason was known"
_KEPT = "there is no place for what it holds of {} trees at the same time"


class Reasons:
    """Explains why demands have no new home.

    :param ledger: the cloud without the trees that are to be emptied, after all moves
    :param avoid: uuids of the roots of these trees
    :param budgets: returns what a search may cost
    :param seconds: how much processor time all explanations together may take
    :param unsearched: the demands for which a search didn't end in time
    """

    def __init__(
        self,
        ledger: Ledger,
        avoid: frozenset[str],
        budgets: Callable[[], Budget],
        seconds: float,
        unsearched: Collection[Demand] = (),
    ) -> None:
        self._ledger, self._avoid, self._budgets = ledger, avoid, budgets
        self._end = time.thread_time() + seconds
        self._unsearched = unsearched

    def of(self, left: Mapping[Demand, Sequence[str]], naming: Naming) -> dict[str, str]:
        """Return the reason of each consumer. Raises Abandoned if the client left.

        :param left: the consumers' uuids by their demand
        """
        named: set[str] = set()

        def noting(uuids: Iterable[str]) -> Mapping[str, str]:
            named.update(uuids)
            return {}

        reasons = {demand: self._reason(demand, noting) for demand in left}
        # the reasons have uuids in place of names: the names of all are read with one statement
        names = naming(named)
        for demand, text in reasons.items():
            for uuid in named:
                text = text.replace(uuid, names.get(uuid, uuid))
            reasons[demand] = text
        return {
            consumer: reasons[demand]
            for demand, consumers in left.items()
            for consumer in consumers
        }

    def _reason(self, demand: Demand, noting: Naming) -> str:
        if demand in self._unsearched:
            return NOT_LOOKED
        cloud = self._ledger.seen_by(dict(demand.own))
        for part in demand.parts:
            left = self._end - time.thread_time()
            if left <= 0:
                return _NOT_EXPLAINED
            budget = self._budgets()
            budget.shorten(left)
            request = part.request(self._avoid)
            found = explain(cloud, request, budget, naming=noting, relaxations=False)
            if found.verdict != "some":
                return found.message
        return _KEPT.format(len(demand.parts) + bool(demand.kept))
