"""Explains why a request has no candidates (architecture.rst D13, extensions.md 5).

`explain` runs the search with an account of its steps (`step_record.py`), and proves for each tree
that it has no candidate (`judged_trees.py`). `nearest.py` and `relaxations.py` say what would give
it one, `explanation_text.py` says all of it in a sentence. `candidate_search.rst` shows an example.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from placement.candidates.budget import Budget, SearchEnded
from placement.candidates.cloud.columns import Mask, Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest
from placement.candidates.slots import WholeSlot
from placement.extensions.explain import explanation_text
from placement.extensions.explain.conditions import (
    Missing,
    Reason,
)
from placement.extensions.explain.conflicts import TreeConflict
from placement.extensions.explain.explanation_text import Reasoned
from placement.extensions.explain.hints import OF_HOSTS, Hint, hints_of
from placement.extensions.explain.judged_trees import judged
from placement.extensions.explain.nearest import Miss, Misses
from placement.extensions.explain.relaxations import Relaxation, Relaxations, relaxations_of
from placement.extensions.explain.step_record import SearchStep, Steps
from placement.schemas.json_schema import Json

#: returns the names of providers by uuid
Naming = Callable[[Iterable[str]], Mapping[str, str]]

#: how many trees without candidates an explanation shows
_MOST_NEAREST = 10
#: the trait of devices that are given out once
_ONE_TIME = "HW_PCI_ONE_TIME_USE"
#: how many names it shows, and how many aggregates of one provider
_MOST_NAMES = 100


def _no_names(uuids: Iterable[str]) -> Mapping[str, str]:
    return {}


@dataclasses.dataclass(frozen=True)
class NamedMiss:
    """A tree without a candidate, or a provider, with uuids and a name; see `Miss`.

    :param root: uuid of the root
    :param providers: the uuids and names of the providers in `missing`, by slot
    :param aggregates: the aggregates of those that are in none of the wanted ones
    """

    root: str
    root_name: str
    uuid: str
    name: str
    missing: tuple[Missing, ...]
    providers: Mapping[int, tuple[str, str]]
    aggregates: Mapping[int, list[str]]

    def as_json(self) -> Json:
        """Return it as an answer has it."""
        missing = [self._missing(one) for one in self.missing]
        return {
            "root": self.root,
            "root_name": self.root_name,
            "uuid": self.uuid,
            "name": self.name,
            "missing": missing,
        }

    def _missing(self, one: Missing) -> Json:
        shown: Json = {"group": one.group, "reason": one.reason.value, "name": one.name}
        if one.slot is not None and self.providers[one.slot][0] != self.uuid:
            shown["uuid"], shown["provider"] = self.providers[one.slot]
        if one.reason is Reason.AGGREGATE and one.slot is not None:
            shown["aggregates"] = self.aggregates[one.slot]
        if one.asked is not None:
            shown["asked"] = one.asked
        return shown | (dataclasses.asdict(one.amounts) if one.amounts else {})


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why a request has the candidates it has.

    :param message: one sentence, of stable text
    :param verdict: `some` if there are candidates, `none` if there are none, and `unknown` if the
        search was ended before it found one
    :param candidates: how many candidates there are; None: that takes too long to count
    :param total: how many trees there are
    :param fruitful: uuids of the roots whose trees have candidates
    :param undecided: uuids of the roots whose trees weren't searched to the end
    :param ended: what ended the search; None if it wasn't ended early
    :param nearest: the trees without candidates that come nearest to having one
    :param provider: what one provider lacks, if it was asked for
    :param all_tried: whether there was time to try all changes that might help
    :param conflicts: what can't be met together in the trees without candidates
    """

    message: str
    verdict: str
    candidates: int | None
    total: int
    fruitful: tuple[str, ...]
    undecided: tuple[str, ...]
    ended: SearchEnded | None
    steps: tuple[SearchStep, ...]
    reasons: tuple[Reasoned, ...]
    nearest: tuple[NamedMiss, ...]
    relaxations: tuple[Relaxation, ...]
    provider: NamedMiss | None = None
    conflicts: tuple[TreeConflict, ...] = ()
    all_tried: bool = False

    @property
    def left(self) -> int:
        """Return how many trees have candidates."""
        return len(self.fruitful)

    def as_json(self) -> Json:
        """Return it as an answer has it (extensions.md 5)."""
        trees = {"total": self.total, "left": self.left}
        if self.undecided:
            trees["undecided"] = len(self.undecided)
        shown: Json = {
            "message": self.message,
            "verdict": self.verdict,
            "candidates": self.candidates,
            "trees": trees,
            "steps": [_step(step) for step in self.steps],
            "reasons": [reasoned.as_json() for reasoned in self.reasons],
            "nearest": [miss.as_json() for miss in self.nearest],
            "relaxations": [relaxation.as_json() for relaxation in self.relaxations],
            "relaxations_complete": self.all_tried,
        }
        if self.provider is not None:
            shown["provider"] = self.provider.as_json()
        return shown


def _step(step: SearchStep) -> Json:
    shown: Json = {"group": step.group, "step": step.step, "name": step.name}
    if step.asked is not None:
        shown["asked"] = step.asked
    shown["providers"] = dict(zip(("before", "after"), step.providers, strict=True))
    shown["trees"] = dict(zip(("before", "after"), step.trees, strict=True))
    return shown


def explain(
    snapshot: Snapshot,
    request: CandidateRequest,
    budget: Budget,
    *,
    naming: Naming = _no_names,
    provider: int | None = None,
    relaxations: bool = True,
    relaxing: Callable[[], Budget] | None = None,
    root_traits: bool = True,
) -> Explanation:
    """Run a search, whatever its limit, and account for every step.

    Raises BadRequest like the search, and Abandoned if the client left.

    :param naming: returns the names of providers; called once, with the few uuids that are shown
    :param provider: the slot of a provider: the explanation then has all that it lacks, or, if it
        is a root, all that its tree lacks
    :param relaxations: whether to find out what would help
    :param relaxing: returns what finding that out may cost, called when it begins; None: what is
        left of `budget`
    :param root_traits: whether a query of this microversion may have root_required
    """
    steps = Steps(snapshot, request)
    found = judged(snapshot, request, steps, budget)
    fruitless = snapshot.forest.is_root & ~found.fruitful & ~found.undecided
    nearest: list[Miss] = []
    misses = None
    if found.conditions is not None:
        misses = Misses(snapshot, request, found.conditions, found.conflicts, fruitless, budget)
        nearest = misses.nearest(_MOST_NEAREST)
    helping = Relaxations()
    if relaxations and not found.ended and found.conditions is not None:
        allowed = budget if relaxing is None else relaxing()
        helping = relaxations_of(
            snapshot, request, found.conditions, found.fruitful, allowed, root_traits
        )
    of_provider = None
    if provider is not None and misses is not None:
        is_root = bool(snapshot.forest.is_root[provider])
        of_provider = misses.of_tree(provider) if is_root else misses.of_provider(provider)
    shown = [*nearest, *([of_provider] if of_provider is not None else [])]
    hints: list[Hint | None] = []
    if found.conditions is not None:
        hints = hints_of(snapshot, found.conditions, found.conflicts, nearest)
    names = _Names(snapshot, shown, [hint for hint in hints if hint], provider, naming)
    named = [names.named(miss, provider if miss is of_provider else None) for miss in shown]
    reasons = explanation_text.reasons(found.conflicts, hints, _only_lending(snapshot, request))
    undecided = _uuids(snapshot, found.undecided)
    fruitful = _uuids(snapshot, found.fruitful)
    once = snapshot.has_trait([snapshot.names.trait_ids.get(_ONE_TIME, -1)])
    message = explanation_text.message(
        steps.total, len(fruitful), len(undecided), request, reasons, nearest, names.of, once
    )
    verdict = "some" if fruitful else "unknown" if undecided else "none"
    return Explanation(
        message,
        verdict,
        found.candidates if fruitful else 0 if not undecided else None,
        steps.total,
        fruitful,
        undecided,
        found.ended,
        tuple(steps.steps),
        reasons,
        tuple(named[: len(nearest)]),
        helping.found,
        named[-1] if of_provider is not None else None,
        tuple(found.conflicts),
        helping.complete,
    )


def why_none(
    snapshot: Snapshot,
    request: CandidateRequest,
    budget: Budget,
    naming: Naming = _no_names,
) -> str:
    """Return the message of the explanation for a request that has no candidates."""
    return explain(snapshot, request, budget, naming=naming, relaxations=False).message


def _uuids(snapshot: Snapshot, roots: Mask) -> tuple[str, ...]:
    uuids = snapshot.register.uuids
    return tuple([uuids[WholeSlot(root)] for root in np.flatnonzero(roots).tolist()])


def _only_lending(snapshot: Snapshot, request: CandidateRequest) -> Mask:
    """Return the roots of trees that are a pool, and lack a class that is asked for."""
    mask = np.zeros(snapshot.size, np.bool_)

    def have(name: str, slots: Slots) -> Mask:
        return snapshot.column(snapshot.names.class_ids.get(name, -1)).find(slots)[0]

    if len(snapshot.sharing) and len(request.demand) > 1:
        pools = snapshot.sharing[snapshot.forest.count[snapshot.sharing] == 1]
        for name in OF_HOSTS:
            pools = pools[~have(name, pools)]
        for name in request.demand:
            mask[pools[~have(name, pools)]] = True
    return mask


class _Names:
    """The names of the providers that an explanation shows, read at once.

    :param provider: the provider that was asked about
    """

    def __init__(
        self,
        snapshot: Snapshot,
        misses: Iterable[Miss],
        hints: Iterable[Hint],
        provider: int | None,
        naming: Naming,
    ) -> None:
        self._snapshot = snapshot
        self._uuids = snapshot.register.uuids
        slots = [] if provider is None else [provider]
        slots += [slot for miss in misses for slot in (miss.slot, miss.root)]
        slots += [slot for hint in hints for slot in hint.slots]
        slots += [one.slot for miss in misses for one in miss.missing if one.slot is not None]
        wanted = list(dict.fromkeys(slots))[:_MOST_NAMES]
        self._names = naming([self.uuid(slot) for slot in wanted]) if wanted else {}

    def uuid(self, slot: int) -> str:
        """Return the uuid of a provider."""
        return self._uuids[WholeSlot(slot)]

    def of(self, slot: int) -> str:
        """Return the name of a provider, or its uuid."""
        uuid = self.uuid(slot)
        return self._names.get(uuid, uuid)

    def named(self, miss: Miss, provider: int | None) -> NamedMiss:
        """Return a miss with names.

        :param provider: the provider that it is about; None: the one that comes nearest
        """
        slot = miss.slot if provider is None else provider
        slots = {one.slot for one in miss.missing if one.slot is not None}
        outside = slots & {one.slot for one in miss.missing if one.reason is Reason.AGGREGATE}
        return NamedMiss(
            self.uuid(miss.root),
            self.of(miss.root),
            self.uuid(slot),
            self.of(slot),
            miss.missing,
            {slot: (self.uuid(slot), self.of(slot)) for slot in slots},
            {slot: self._aggregates(slot) for slot in outside},
        )

    def _aggregates(self, slot: int) -> list[str]:
        keys = set(self._snapshot.aggregates_of[slot])
        known = self._snapshot.aggregate_ids.items()
        return sorted(uuid for uuid, key in known if key in keys)[:_MOST_NAMES]
