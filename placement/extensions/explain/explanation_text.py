"""An explanation as one sentence (extensions.md 5). The text is stable: operators alert on it."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Protocol

from placement.candidates.request import CandidateRequest
from placement.extensions.explain.conditions import Reason
from placement.extensions.explain.nearest import Missing
from placement.extensions.explain.step_record import Dropped

#: how many reasons a message names
_MOST_NAMED = 3
#: how many alternatives of a condition it names
_MOST_ALTERNATIVES = 3

_SINGULAR = {"have": "has", "lack": "lacks", "fail": "fails", "fit": "fits"}


@dataclasses.dataclass(frozen=True)
class Reasoned:
    """How many trees have no candidate for one reason.

    :param asked: the amount, where the reason is about one
    """

    reason: Reason
    group: str
    name: str
    trees: int
    asked: int | None = None


class _NamedMiss(Protocol):
    """What a text needs of a `NamedMiss` of `explanation.py`, which imports this file."""

    @property
    def name(self) -> str: ...

    @property
    def missing(self) -> tuple[Missing, ...]: ...


def reasons(dropped: Iterable[Dropped]) -> tuple[Reasoned, ...]:
    """Return how many trees have each reason, the most frequent first."""
    counts: dict[tuple[Reason, str, str, int | None], int] = {}
    for one in dropped:
        key = (one.reason, one.group, one.name, one.asked)
        counts[key] = counts.get(key, 0) + int(one.roots.sum())
    found = [
        Reasoned(reason, group, name, trees, asked)
        for (reason, group, name, asked), trees in counts.items()
    ]
    return tuple(sorted(found, key=lambda reasoned: -reasoned.trees))


def message(
    total: int,
    left: int,
    undecided: int,
    request: CandidateRequest,
    found: Sequence[Reasoned],
    nearest: Sequence[_NamedMiss],
) -> str:
    """Say in one sentence why a request has few candidates, or none.

    :param left: how many trees have candidates
    :param undecided: how many trees weren't searched to the end
    :param found: the reasons, that of the most trees first
    :param nearest: the trees without candidates that come nearest to having one
    """
    if not total:
        return "0 of 0 trees: there is no resource provider"
    parts = [
        f"{_counted(one.trees, _text(one, request))}{_of_group(one)}{_nearest(one, nearest)}"
        for one in found[:_MOST_NAMED]
    ]
    others = sum(one.trees for one in found[_MOST_NAMED:])
    if undecided:
        parts.append(f"{undecided} not searched to the end")
    text = ", ".join(parts) or "each has candidates"
    if others:
        text += f", and {others} more {'tree' if others == 1 else 'trees'} for other reasons"
    return f"{left} of {total} {'tree' if total == 1 else 'trees'}: {text}"


def _counted(trees: int, text: str) -> str:
    """Return the number and the text, whose verb is made singular for one tree."""
    verb, rest = text.split(" ", 1)
    return f"{trees} {_SINGULAR.get(verb, verb) if trees == 1 else verb} {rest}"


def _of_group(one: Reasoned) -> str:
    return f" in group {one.group}" if one.group else ""


def _nearest(one: Reasoned, nearest: Sequence[_NamedMiss]) -> str:
    """Return what the nearest provider has, if the reason is that amounts are too small."""
    if one.reason is not Reason.CAPACITY:
        return ""
    best: tuple[int, str] | None = None
    for miss in nearest:
        for missing in miss.missing:
            same = (missing.group, missing.reason, missing.name)
            if same == (one.group, one.reason, one.name) and missing.amounts is not None:
                free = missing.amounts.free
                if best is None or free > best[0]:
                    best = (free, miss.name)
    return "" if best is None else f" (nearest: {best[1]} has {best[0]})"


def _text(one: Reasoned, request: CandidateRequest) -> str:
    name, amount = one.name, f"{one.name} {one.asked}"
    several = len({sets for group in request.groups for sets in group.member_of}) > 1
    texts = {
        Reason.NO_INVENTORY: f"have no {name}" if name else "asked for nothing that can be had",
        Reason.NO_SHARING: f"have no {name} own or shared",
        Reason.CAPACITY: f"short of {amount}",
        Reason.MIN_UNIT: f"have a min_unit above {amount}",
        Reason.MAX_UNIT: f"have a max_unit below {amount}",
        Reason.STEP_SIZE: f"have a step_size that {amount} does not fit",
        Reason.TRAIT: f"lack {_alternatives(name)}",
        Reason.FORBIDDEN_TRAIT: f"have forbidden {name}",
        Reason.AGGREGATE: f"outside member_of {_alternatives(name)}"
        if several
        else "outside member_of",
        Reason.FORBIDDEN_AGGREGATE: f"in forbidden aggregate {name}",
        Reason.IN_TREE: f"outside the tree of {name}",
        Reason.ROOT_REQUIRED: _root_text(name),
        Reason.SAME_SUBTREE: f"fail same_subtree={name}",
        Reason.ISOLATE: "have too few providers for group_policy=isolate",
        Reason.TOGETHER: "fit each group, but not all together",
        Reason.UNKNOWN_NAME: f"because {_unknown(name, request)}",
    }
    return texts[one.reason]


def _unknown(name: str, request: CandidateRequest) -> str:
    if any(group.in_tree == name for group in request.groups):
        return f"provider {name} does not exist"
    return f"no provider is in aggregate {_alternatives(name)}"


def _alternatives(name: str) -> str:
    names = name.removeprefix("in:").split(",")
    if len(names) > _MOST_ALTERNATIVES:
        names[_MOST_ALTERNATIVES:] = [f"{len(names) - _MOST_ALTERNATIVES} more"]
    return " or ".join(names)


def _root_text(name: str) -> str:
    if name == "avoid":
        return "to be avoided"
    if name.startswith("!"):
        return f"have a root with forbidden {name[1:]}"
    return f"have a root without {name}"
