"""Other ways to distribute consumers, where the first way leaves no room for some of them.

Consumers are placed one after the other, and what one gets may block another although both would
fit: it takes of a device that only the other's group can use, or of a sharing provider that the
other needs. So some more ways are tried. The best one is not searched for: that is bin packing.
"""

import dataclasses
from collections.abc import Sequence

from placement.candidates.budget import Budget
from placement.candidates.cloud.snapshot import Snapshot
from placement.domain.consumer import ConsumerRequest
from placement.errors import SearchUnfinished
from placement.extensions.claims.choice import Chooser, Within
from placement.extensions.claims.claim_plan import ClaimPlan, plan_for

#: how many ways are tried in all, and seconds that those after the first may take together
_WAYS, _SECONDS = 50, 1.0


def matter(cloud: Snapshot) -> bool:
    """Return whether the distribution can make a difference: not where each tree is one provider.

    All consumers of a claim ask for the same, so each takes as much of a tree as any other.
    """
    return cloud.forest.nested or len(cloud.sharing) > 0


def other_plan(
    cloud: Snapshot, chooser: Chooser, wanted: Sequence[ConsumerRequest], budget: Budget
) -> tuple[ClaimPlan | None, int]:
    """Place the consumers in ways that differ from `plan_for` with the same chooser.

    Return a plan for all of them, or None; and how many ways were tried, the first included.

    :param budget: of all ways together; it is shortened. If it is used up, no more ways are tried
    """
    budget.shorten(_SECONDS)
    for way in range(1, _WAYS):
        within = Within.SPARING if way == 1 else Within.CHANCE
        try:
            plan = plan_for(cloud, dataclasses.replace(chooser, within=within), wanted, budget)
        except SearchUnfinished:
            return None, way
        if len(plan.choices) == len(wanted):
            return plan, way + 1
    return None, _WAYS
