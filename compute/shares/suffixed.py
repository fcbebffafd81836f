"""Groups with suffixes: each comes from one provider."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from compute.shares.giver import Giver, able
from compute.shares.ledger import Parts, ShareLedger
from compute.shares.preferences import Candidates, Preferences
from compute.shares.unsuffixed import UnsuffixedGroup

#: how many providers are tried for groups, before it counts as impossible
MOST_TRIES = 5_000


class SuffixedGroups:
    """Places groups together, as the request wants them.

    :param groups: those of the request that nobody knows the place of
    """

    def __init__(
        self,
        groups: Mapping[str, RequestGroup],
        request: ResourceRequest,
        givers: Sequence[Giver],
        ledger: ShareLedger,
        preferences: Preferences,
    ) -> None:
        self._groups = groups
        self._isolated = request.group_policy == "isolate"
        self._subtrees = [set(one) for one in request.same_subtree if one <= groups.keys()]
        self._givers = givers
        self._parents = {one.uuid: one.parent_uuid for one in givers}
        self._ledger = ledger
        self._candidates = Candidates(givers, ledger, preferences)
        self._tries = 0

    def place(self, unsuffixed: UnsuffixedGroup) -> Parts | None:
        """Return where all groups come from, that without a suffix included; None if impossible."""
        # Those with few ways come first, or others may take what only they can use.
        suffixes = sorted(
            self._groups, key=lambda one: (len(self._options(self._groups[one])), one)
        )
        return next(self._ways(suffixes, {}, unsuffixed), None)

    def alone(self, suffix: str) -> Parts:
        """Return where one group comes from, whatever the others need; nothing if impossible."""
        group = self._groups[suffix]
        return next((_parts(group, uuid) for uuid in self._options(group)), {})

    def lacking(self, suffix: str) -> tuple[Mapping[str, int], str]:
        """Return what a group asks that no provider can give, and why."""
        group = self._groups[suffix]
        amounts = group.resources
        usable = [one.uuid for one in self._candidates.usable(group)]
        if usable:
            for name, amount in amounts.items():
                if not any(self._ledger.has_room(uuid, name, amount) for uuid in usable):
                    return amounts, self._ledger.no_room(name, amount, usable)
            return amounts, f"no provider has room for {_told(amounts)} together"
        for name, amount in amounts.items():
            if not able(self._givers, [name]):
                return amounts, self._ledger.no_room(name, amount, [])
        if not able(self._givers, amounts):
            return amounts, f"no provider has {_told(amounts)} together"
        traits = [
            *sorted(group.required_traits),
            *(f"!{t}" for t in sorted(group.forbidden_traits)),
        ]
        return amounts, f"no provider of {_told(amounts)} has the traits {', '.join(traits)}"

    def why_not(self, unsuffixed: UnsuffixedGroup) -> tuple[Mapping[str, int], list[str]]:
        """Return what can't be given, and why: groups one by one, or all together."""
        lacking, reasons = Counter[str](), list[str]()
        for suffix, group in sorted(self._groups.items()):
            if not any(self._options(group)):
                amounts, reason = self.lacking(suffix)
                lacking.update(amounts)
                reasons.append(reason)
        if unsuffixed.place() is None:
            amounts, told = unsuffixed.why_not()
            lacking.update(amounts)
            reasons += told
        if reasons:
            return lacking, reasons
        groups = [group for _, group in sorted(self._groups.items())]
        for group in groups:
            lacking.update(group.resources)
        parts = ", ".join(_told(group.resources) for group in groups if group.resources)
        policy = " on a provider each" if self._isolated else ""
        return lacking, [f"no room for {parts} in groups{policy}"]

    def _ways(
        self, suffixes: Sequence[str], chosen: dict[str, str], unsuffixed: UnsuffixedGroup
    ) -> Iterator[Parts]:
        if not suffixes:
            rest = unsuffixed.place() if self._are_near(chosen) else None
            if rest is not None:
                yield self._together(chosen, rest)
            return
        suffix, *others = suffixes
        group = self._groups[suffix]
        for uuid in list(self._options(group)):
            self._tries += 1
            if self._tries > MOST_TRIES:
                return
            if self._isolated and group.resources and uuid in self._apart(chosen):
                continue
            parts = _parts(group, uuid)
            self._ledger.take(parts)
            try:
                yield from self._ways(others, chosen | {suffix: uuid}, unsuffixed)
            finally:
                self._ledger.give_back(parts)

    def _options(self, group: RequestGroup) -> Sequence[str]:
        return self._candidates.with_room(group, group.resources)

    def _apart(self, chosen: Mapping[str, str]) -> set[str]:
        return {uuid for suffix, uuid in chosen.items() if self._groups[suffix].resources}

    def _are_near(self, chosen: Mapping[str, str]) -> bool:
        """Say whether one of each set's providers has the others below it."""
        return all(
            any(
                all(top in self._above(chosen[suffix]) for suffix in suffixes)
                for top in (chosen[suffix] for suffix in suffixes)
            )
            for suffixes in self._subtrees
        )

    def _above(self, uuid: str | None) -> Iterator[str]:
        while uuid is not None:
            yield uuid
            uuid = self._parents.get(uuid)

    def _together(self, chosen: Mapping[str, str], rest: Parts) -> Parts:
        whole = dict(rest)
        for suffix, uuid in chosen.items():
            for key, amount in _parts(self._groups[suffix], uuid).items():
                whole[key] = whole.get(key, 0) + amount
        return whole


def _parts(group: RequestGroup, uuid: str) -> Parts:
    return {(uuid, name): amount for name, amount in group.resources.items()}


def _told(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{amount} {name}" for name, amount in amounts.items())
