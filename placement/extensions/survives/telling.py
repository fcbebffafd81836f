"""What an answer tells of the losses of hosts."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from placement.candidates.budget import Budget
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.slots import WholeSlot
from placement.extensions.evacuation.reasons import Reasons
from placement.extensions.survives.judging import IMPOSSIBLE, Loss, LossJudge
from placement.extensions.survives.sets import MOST_NAMED
from placement.extensions.what_if.changed_cloud import Naming
from placement.schemas.json_schema import Json

#: seconds of processor time that all explanations take at most
_EXPLAINING = 2.0
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_NOT_ASKED = "Nova's own filters weren't asked."


@dataclasses.dataclass(frozen=True)
class ToldLoss:
    """A loss that isn't absorbed, as an answer has it.

    :param left: (consumer, what it holds, why it has no new home)
    """

    loss: Loss
    roots: Sequence[tuple[str, str]]
    name: str
    left: Sequence[tuple[str, Mapping[str, int], str]]

    def as_json(self) -> Json:
        """Return it as an answer has it."""
        loss = self.loss
        return {
            "roots": [{"root": uuid, "name": name} for uuid, name in self.roots],
            "name": self.name,
            "verdict": loss.verdict,
            "alike": loss.alike,
            "consumers": loss.consumers,
            "placed": len(loss.homes),
            "left": [
                {"consumer": consumer, "resources": dict(resources), "reason": reason}
                for consumer, resources, reason in self.left
            ],
            "missing": dict(loss.missing),
        }


@dataclasses.dataclass(frozen=True)
class Survival:
    """Which losses can be absorbed.

    :param sets: how many were looked at
    :param of: of how many; 0: there is nothing to lose
    :param what: what a set is called: `host`, `aggregate` or `set`
    """

    sets: int
    of: int
    absorbed: int
    unknown: int
    worst: Sequence[ToldLoss]
    constraints: int
    what: str
    together: int

    @property
    def impossible(self) -> int:
        """How many can't be absorbed"""
        return self.sets - self.absorbed - self.unknown

    @property
    def verdict(self) -> str:
        """Return `possible`, `impossible` or `unknown`: whether all can be absorbed"""
        if self.impossible:
            return "impossible"
        return "unknown" if self.unknown or self.sets < self.of else "possible"

    def as_json(self) -> Json:
        """Return it as it is answered."""
        return {
            "verdict": self.verdict,
            "sets": self.sets,
            "of": self.of,
            "absorbed": self.absorbed,
            "unknown": self.unknown,
            "worst": [one.as_json() for one in self.worst],
            "constraints": self.constraints,
            "message": self.message,
        }

    @property
    def message(self) -> str:
        """Say it in sentences."""
        kind = self.what if self.together == 1 else f"choice of {self.together} {self.what}s"
        plural = f"{kind}s" if self.together == 1 else kind.replace("choice", "choices")
        parts = []
        if self.sets < self.of:
            parts.append(f"{self.sets:,} of {self.of:,} {plural} were drawn by lot.")
        if self.absorbed == self.sets:
            all_of = f"the {kind}" if self.sets == 1 else f"any of {self.sets:,} {plural}"
            parts.append(f"The loss of {all_of} can be absorbed.")
        elif self.sets == 1:
            parts.append(
                f"The loss of the {kind} can't be absorbed."
                if self.impossible
                else f"It isn't known whether the loss of the {kind} can be absorbed."
            )
        else:
            parts.append(f"The loss of {self.absorbed:,} of {self.sets:,} {plural} can be absorbed")
            parts[-1] += f", of {self.impossible:,} it can't" if self.impossible else ""
            parts[-1] += f", of {self.unknown:,} it isn't known" if self.unknown else ""
            parts[-1] += "."
        parts += [_of_worst(one) for one in self.worst[:1]]
        return " ".join([*parts, _NOT_ASKED])


def _of_worst(one: ToldLoss) -> str:
    left = one.loss.consumers - len(one.loss.homes)
    what = "finds" if left == 1 else "find"
    place = "no place" if one.loss.verdict == IMPOSSIBLE else "no place that is known"
    of_all = f"{one.loss.consumers} consumer{'' if one.loss.consumers == 1 else 's'}"
    said = f"{one.name}: {left} of {of_all} {what} {place}"
    missing = ", ".join(f"{name} {amount}" for name, amount in one.loss.missing.items())
    return f"{said}; at least {missing} would have to be added." if missing else f"{said}."


class Telling:
    """Describes the losses of an answer.

    :param limit: of how many consumers of a loss it tells
    """

    def __init__(
        self,
        cloud: Snapshot,
        judge: LossJudge,
        budgets: Callable[[], Budget],
        naming: Naming,
        limit: int,
    ) -> None:
        self._cloud, self._judge, self._budgets = cloud, judge, budgets
        self._naming, self._limit = naming, limit

    def worst(self, losses: Sequence[Loss]) -> list[ToldLoss]:
        """Return the losses with names and reasons. Raises Abandoned if the client left."""
        uuids = self._cloud.register.uuids
        # a loss is called by more of them than it tells of
        most = max(self._limit, MOST_NAMED)
        roots = [[uuids[WholeSlot(root)] for root in loss.lost.roots[:most]] for loss in losses]
        mentioned = {uuid for of_loss in roots for uuid in of_loss}

        def noting(found: Iterable[str]) -> Mapping[str, str]:
            mentioned.update(found)
            return {}

        seconds = _EXPLAINING / max(len(losses), 1)
        left = [self._left(loss, seconds, noting) for loss in losses]
        # what is told has uuids in place of names: the names of all are read with one statement
        names = self._naming(mentioned)
        found = []
        for loss, of_loss, without_names in zip(losses, roots, left, strict=True):
            named = [(uuid, names.get(uuid, uuid)) for uuid in of_loss]
            told = [
                (consumer, self._judge.resources(consumer), _named(reason, names))
                for consumer, reason in without_names
            ]
            called = loss.lost.called([name for _, name in named])
            found.append(ToldLoss(loss, named[: self._limit], called, told))
        return found

    def _left(self, loss: Loss, seconds: float, noting: Naming) -> list[tuple[str, str]]:
        """Return who finds no new home, and why, with uuids in place of providers' names."""
        fixed = [(one.consumer, one.fixed) for one in loss.fixed[: self._limit]]
        few, room = {}, self._limit - len(fixed)
        for demand, consumers in loss.left.items():
            if room > 0:
                few[demand] = consumers[:room]
                room -= len(few[demand])
        ledger, avoid = self._judge.after(loss), self._judge.avoid(loss.lost)
        reasons = Reasons(ledger, avoid, self._budgets, seconds, loss.unsearched)
        return [*fixed, *reasons.of(few, noting).items()]


def _named(text: str, names: Mapping[str, str]) -> str:
    return _UUID.sub(lambda found: names.get(found[0], found[0]), text)
