"""An explanation as one sentence (extensions.md 5). The text is stable: operators alert on it."""

import dataclasses
from collections.abc import Callable, Sequence

from placement.candidates.cloud.columns import Mask
from placement.candidates.request import CandidateRequest
from placement.extensions.explain.conditions import BOTH, Amounts, Reason
from placement.extensions.explain.conflicts import TreeConflict
from placement.extensions.explain.hints import Hint
from placement.extensions.explain.nearest import Miss
from placement.schemas.json_schema import Json

#: how many reasons a message names
_MOST_NAMED = 3
#: how many alternatives of a condition it names
_MOST_ALTERNATIVES = 3

#: the text if no smaller number of groups collides
TOGETHER = "fit each group, but not all together"
_LENDING = "lend to other trees only"
_SINGULAR = {"have": "has", "lack": "lacks", "fail": "fails", "fit": "fits", "lend": "lends"}


@dataclasses.dataclass(frozen=True)
class Reasoned:
    """How many trees have no candidate for one reason.

    :param asked: the amount, where the reason is about one
    :param conflict: all that can't be met together, if that is more than the reason by itself: as
        reason, name and amount
    :param roots: the roots of the trees
    :param lending: how many of the trees only lend, and lack another class that is asked for
    """

    reason: Reason
    group: str
    name: str
    trees: int
    asked: int | None = None
    conflict: tuple[tuple[Reason, str, int | None], ...] = ()
    joint: bool = False
    hint: Hint | None = dataclasses.field(default=None, compare=False)
    lending: int = 0
    roots: Mask | None = dataclasses.field(default=None, compare=False)

    def as_json(self) -> Json:
        """Return it as an answer has it."""
        shown: Json = {
            "reason": self.reason.value,
            "group": self.group,
            "name": self.name,
            "trees": self.trees,
        }
        if self.conflict:
            shown["conflict"] = [
                {"reason": reason.value, "name": name} for reason, name, _ in self.conflict
            ]
        return shown


def reasons(
    conflicts: Sequence[TreeConflict], hints: Sequence[Hint | None], lending: Mask
) -> tuple[Reasoned, ...]:
    """Return how many trees have each reason, the most frequent first.

    :param hints: one for each conflict
    :param lending: the roots of trees that only lend to others
    """
    found: dict[Reasoned, Mask] = {}
    for one, hint in zip(conflicts, hints, strict=True):
        blamed = one.blamed
        all_of_it = tuple((it.reason, it.name, it.asked) for it in one.conditions)
        key = Reasoned(
            blamed.reason,
            one.group,
            blamed.name,
            0,
            blamed.asked,
            all_of_it if len(all_of_it) > 1 else (),
            one.joint,
            hint,
        )
        found[key] = found[key] | one.roots if key in found else one.roots
    counted = [
        dataclasses.replace(
            key, trees=int(roots.sum()), lending=int((roots & lending).sum()), roots=roots
        )
        for key, roots in found.items()
        if roots.any()
    ]
    return tuple(sorted(counted, key=lambda one: -one.trees))


def message(
    total: int,
    left: int,
    undecided: int,
    request: CandidateRequest,
    found: Sequence[Reasoned],
    nearest: Sequence[Miss],
    name_of: Callable[[int], str],
    once: Mask,
) -> str:
    """Say in one sentence why a request has few candidates, or none.

    :param left: how many trees have candidates
    :param undecided: how many trees weren't searched to the end
    :param found: the reasons, that of the most trees first
    :param nearest: the trees without candidates that come nearest to having one
    :param name_of: returns the name of a provider
    :param once: the providers that are given out once
    """
    if not total:
        return "0 of 0 trees: there is no resource provider"
    counts: dict[tuple[str, str], int] = {}
    for one in found:
        # conflicts of many groups differ in what the text doesn't tell
        hint = one.hint.told(name_of) if one.hint is not None else ""
        told = _text(one, request), f"{_of_group(one)}{hint}{_nearest(one, nearest, name_of, once)}"
        counts[told] = counts.get(told, 0) + one.trees - one.lending
    counts[_LENDING, ""] = sum(one.lending for one in found)
    frequent = sorted(((key, n) for key, n in counts.items() if n), key=lambda one: -one[1])
    parts = [f"{_counted(trees, text)}{end}" for (text, end), trees in frequent[:_MOST_NAMED]]
    others = sum(trees for _, trees in frequent[_MOST_NAMED:])
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


def _nearest(
    one: Reasoned, nearest: Sequence[Miss], name_of: Callable[[int], str], once: Mask
) -> str:
    """Return what the nearest of its trees has, if the reason is that an amount is too large."""
    if one.reason is not Reason.CAPACITY or one.roots is None:
        return ""
    wanted = (one.group, one.reason, one.name)
    same = (
        (missing.amounts, missing.slot)
        for miss in nearest
        if one.roots[miss.root]
        for missing in miss.missing
        if (missing.group, missing.reason, missing.name) == wanted
    )
    best: tuple[Amounts, int] | None = None
    for amounts, slot in same:
        if amounts is None or slot is None:
            continue
        if best is None or amounts.free > best[0].free:
            best = amounts, slot
    if best is None:
        return ""
    amounts, slot = best
    has = f"has {max(amounts.free, 0)}"
    none_left = 0 < amounts.total <= amounts.reserved
    if amounts.free < 0 and not none_left:
        has = f"is over capacity by {-amounts.free}, ratio {amounts.allocation_ratio:g}"
    if none_left or (amounts.free < 0 and amounts.reserved):
        has += f", reserved {amounts.reserved} of {amounts.total}"
        has += ", one-time use, see suspects" if none_left and once[slot] else ""
    return f" (nearest: {name_of(slot)} {has})"


def _text(one: Reasoned, request: CandidateRequest) -> str:
    if len(one.conflict) > 1 and not one.joint:
        return f"have no provider with {_listing([_wanted(*each) for each in one.conflict])}"
    if one.conflict:
        return _joint_text(one, request)
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
        Reason.TOGETHER: _together_text(request),
        Reason.UNKNOWN_NAME: f"because {_unknown(name, request)}",
    }
    return texts[one.reason]


def _together_text(request: CandidateRequest) -> str:
    if len(request.groups) > 1:
        return TOGETHER
    if request.nested:
        return "have no choice of providers with all that is asked for"
    return "have all that is asked for, but not on one provider"


def _joint_text(one: Reasoned, request: CandidateRequest) -> str:
    """Say what can't be met by several groups or providers together."""
    prefixes = {Reason.ISOLATE: "", Reason.SAME_SUBTREE: "same_subtree=", Reason.TRAIT: "required="}
    on_all = [f"{prefixes[reason]}{name}" for reason, name, _ in one.conflict if reason in prefixes]
    if one.reason in (Reason.ISOLATE, Reason.SAME_SUBTREE) and len(on_all) > 1:
        return f"can't meet {_listing(on_all)} together"
    if one.reason is Reason.SAME_SUBTREE:
        return f"fail same_subtree={one.name}"
    if one.reason is Reason.ISOLATE:
        return "have too few providers for group_policy=isolate"
    if one.reason is Reason.TRAIT:
        traits = [_alternatives(name) for reason, name, _ in one.conflict if reason is one.reason]
        if any(reason is Reason.CAPACITY for reason, _, _ in one.conflict):
            return f"have {_listing(traits)} only where nothing of this can be served"
        return f"have no choice of providers with {_listing(traits)} and all that is asked for"
    suffixes = [name or "the unsuffixed group" for _, name, _ in one.conflict]
    if len(suffixes) == len(request.groups) or len(suffixes) > _MOST_ALTERNATIVES:
        return TOGETHER
    return f"fit each group, but not {_listing(suffixes)} together"


def _wanted(reason: Reason, name: str, asked: int | None) -> str:
    """Say what a provider has that meets a condition."""
    texts = {
        Reason.NO_INVENTORY: name,
        Reason.NO_SHARING: name,
        Reason.CAPACITY: f"{name} {asked}",
        Reason.MIN_UNIT: f"a min_unit for {name} {asked}",
        Reason.MAX_UNIT: f"a max_unit for {name} {asked}",
        Reason.STEP_SIZE: f"a step_size for {name} {asked}",
        Reason.FORBIDDEN_TRAIT: f"no {name}",
        Reason.AGGREGATE: f"member_of {_alternatives(name)}",
        Reason.FORBIDDEN_AGGREGATE: f"no forbidden aggregate {name}",
        Reason.IN_TREE: f"in_tree {name}",
    }
    return texts.get(reason, _alternatives(name))


def _listing(names: Sequence[str]) -> str:
    """Return `a, b and c`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _unknown(name: str, request: CandidateRequest) -> str:
    if any(group.in_tree == name for group in request.groups):
        return f"provider {name} does not exist"
    return f"no provider is in aggregate {_alternatives(name)}"


def _alternatives(name: str) -> str:
    sets = []
    for one in name.split(BOTH):
        names = one.removeprefix("in:").split(",")
        if len(names) > _MOST_ALTERNATIVES:
            names[_MOST_ALTERNATIVES:] = [f"{len(names) - _MOST_ALTERNATIVES} more"]
        sets.append(" or ".join(names))
    return " and ".join(sets)


def _root_text(name: str) -> str:
    if name == "avoid":
        return "to be avoided"
    if name.startswith("!"):
        return f"have a root with forbidden {name[1:]}"
    return f"have a root without {name}"
