"""Which provider gives which part of a guest's share, or why none can: a pure function.

The rules are those of placement's search for candidates: a group with a suffix comes from one
provider, and each class of the group without one. Traits, `group_policy`, `same_subtree` and
`in_tree` are kept. Of what is possible, that is taken which the guest is known to use, then what
its allocations say, then what leaves most of its share together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from compute.provider_tree.allocation_records import Held
from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from compute.shares.giver import Giver
from compute.shares.ledger import Parts, ShareLedger
from compute.shares.preferences import Candidates, Preferences
from compute.shares.suffixed import SuffixedGroups
from compute.shares.unsuffixed import UnsuffixedGroup

#: the suffix of the group that several providers may give together
UNSUFFIXED = ""


@dataclass(frozen=True)
class Placed:
    """Which provider gives what.

    :param lacking: class → how much of what is asked no provider gives
    :param reasons: why
    """

    places: Held
    lacking: Mapping[str, int] = field(default_factory=dict)
    reasons: Sequence[str] = ()


def places_of(
    request: ResourceRequest, givers: Sequence[Giver], preferences: Preferences | None = None
) -> Placed:
    """Place a share.

    :param givers: the node's tree, its root first, and the sharing providers that it may use; a
        sharing provider is used only for what the tree has no inventory of, if not for `pooled`
    """
    return _Placing(request, givers, preferences or Preferences()).done()


def possible_givers(
    request: ResourceRequest, givers: Sequence[Giver], preferences: Preferences
) -> dict[str, list[Giver]]:
    """Return class → the providers that any group may get it from, whatever is free."""
    candidates = Candidates(
        givers, ShareLedger(givers, preferences.held, {}, preferences.given), preferences
    )
    possible: dict[str, list[Giver]] = {}
    for suffix, group in request.groups.items():
        whole = candidates.usable(group) if suffix else ()
        for name in group.resources:
            plain = replace(group, required_traits=frozenset(), resources={name: 1})
            found = whole if suffix else candidates.usable(plain)
            known = possible.setdefault(name, [])
            known += [one for one in found if one not in known]
    return possible


def leaves_a_choice(
    request: ResourceRequest, givers: Sequence[Giver], preferences: Preferences
) -> bool:
    """Say whether any part of the request may come from more than one provider."""
    return any(len(found) > 1 for found in possible_givers(request, givers, preferences).values())


class _Placing:
    def __init__(
        self, request: ResourceRequest, givers: Sequence[Giver], preferences: Preferences
    ) -> None:
        self._request = request
        self._givers = givers
        self._preferences = preferences
        self._ledger = ShareLedger(givers, preferences.held, preferences.taken, preferences.given)
        self._places: Held = {}
        self._lacking = Counter[str]()
        self._reasons: list[str] = []

    def done(self) -> Placed:
        if not self._preferences.runs and (reason := self._wrong_root()):
            return Placed({}, self._asked(), [reason])
        rest = self._without_known()
        unsuffixed = UnsuffixedGroup(
            rest.get(UNSUFFIXED, RequestGroup()),
            self._givers,
            self._ledger,
            self._preferences,
            frozenset(self._places),
        )
        suffixed = SuffixedGroups(
            {suffix: group for suffix, group in rest.items() if suffix},
            self._request,
            self._givers,
            self._ledger,
            self._preferences,
        )
        found = suffixed.place(unsuffixed)
        if found is not None:
            self._take(found)
            return self._placed()
        if not self._preferences.runs:
            lacking, reasons = suffixed.why_not(unsuffixed)
            return Placed({}, lacking, reasons)
        for suffix in sorted(rest.keys() - {UNSUFFIXED}):
            self._give_most(suffixed, suffix)
        parts, lacking, reasons = unsuffixed.most()
        self._take(parts)
        self._lacking.update(lacking)
        self._reasons += reasons
        return self._placed()

    def _asked(self) -> Mapping[str, int]:
        asked = Counter[str]()
        for group in self._request.groups.values():
            asked.update(group.resources)
        return asked

    def _wrong_root(self) -> str:
        """Return why the root isn't one that the request may use; nothing if it is."""
        traits = self._givers[0].traits
        if missing := self._request.root_required - traits:
            return f"{self._givers[0].name} lacks the traits {', '.join(sorted(missing))}"
        if wrong := self._request.root_forbidden & traits:
            return f"{self._givers[0].name} has the traits {', '.join(sorted(wrong))}"
        return ""

    def _give_most(self, suffixed: SuffixedGroups, suffix: str) -> None:
        """Give a group as a whole, or not at all, whatever is wrong with the others."""
        parts = suffixed.alone(suffix)
        if parts:
            self._ledger.take(parts)
            self._take(parts)
            return
        lacking, reason = suffixed.lacking(suffix)
        self._lacking.update(lacking)
        self._reasons.append(reason)

    def _without_known(self) -> dict[str, RequestGroup]:
        """Place the classes of which the place is known; return what is left of the groups."""
        asked = self._asked()
        known = {name: parts for name in asked if (parts := self._known(name, asked[name]))}
        for name, parts in known.items():
            self._take_known(name, parts)
        left = {
            suffix: replace(
                group,
                resources={name: n for name, n in group.resources.items() if name not in known},
            )
            for suffix, group in self._request.groups.items()
        }
        # The traits of a group of which nothing is left are those of the known providers.
        return {
            suffix: group
            for suffix, group in left.items()
            if group.resources or not self._request.groups[suffix].resources
        }

    def _known(self, name: str, asked: int) -> dict[str, int]:
        """Return provider → amount, if somebody knows and it's as much as is asked."""
        for teller in self._preferences.known:
            parts = {
                uuid: part[name]
                for uuid, part in teller.items()
                if part.get(name) and uuid in self._ledger.givers
            }
            capable = all(name in self._ledger.givers[uuid].inventories for uuid in parts)
            if parts and capable and sum(parts.values()) == asked:
                return parts
        return {}

    def _take_known(self, name: str, parts: Mapping[str, int]) -> None:
        for uuid, amount in parts.items():
            given = amount
            if not self._ledger.has_room(uuid, name, amount):
                self._reasons.append(self._ledger.no_room(name, amount, [uuid]))
                most = self._ledger.most(name, amount, [uuid]) if self._preferences.runs else {}
                given = sum(most.values())
                self._lacking[name] += amount - given
            if given:
                self._ledger.take({(uuid, name): given})
                self._take({(uuid, name): given})

    def _take(self, parts: Parts) -> None:
        for (uuid, name), amount in parts.items():
            part = self._places.setdefault(uuid, {})
            part[name] = part.get(name, 0) + amount

    def _placed(self) -> Placed:
        lacking = {name: amount for name, amount in self._lacking.items() if amount}
        places = {one: self._places[one] for one in self._ledger.givers if one in self._places}
        return Placed(places, lacking, tuple(self._reasons))
