"""The group without a suffix: each of its classes comes from one provider of the tree."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from compute.provider_tree.cells import stays_together
from compute.report.consumers.resource_request import RequestGroup
from compute.shares.giver import Giver
from compute.shares.ledger import Parts, ShareLedger
from compute.shares.preferences import Candidates, Preferences

#: how many ways are tried to meet all required traits
_MOST_WAYS = 2_000


class UnsuffixedGroup:
    """Places the classes that nobody knows the place of.

    :param contributing: the providers that other classes of the group come from
    """

    def __init__(
        self,
        group: RequestGroup,
        givers: Sequence[Giver],
        ledger: ShareLedger,
        preferences: Preferences,
        contributing: Collection[str] = (),
    ) -> None:
        # Its required traits are met by its providers together.
        self._plain = replace(group, required_traits=frozenset())
        self._required = group.required_traits if group.resources else frozenset[str]()
        self._givers = {one.uuid: one for one in givers}
        self._ledger = ledger
        self._runs = preferences.runs
        self._candidates = Candidates(givers, ledger, preferences)
        self._contributing = contributing

    def place(self) -> Parts | None:
        """Return where all of it comes from; None if that isn't possible."""
        parts = self._kept()
        left = self._left(parts)
        together = {name: n for name, n in left.items() if stays_together(name)}
        for uuid in self._able(together, {})[:1] if together else ():
            parts |= {(uuid, name): amount for name, amount in together.items()}
        for name, amount in self._left(parts).items():
            found = self._able({name: amount}, parts)
            if found:
                parts[found[0], name] = amount
            elif self._runs and sum((most := self._most(name, amount)).values()) == amount:
                parts |= most
            else:
                return None
        if self._runs or self._meets_traits(parts):
            return parts
        return next(self._ways_with_traits(), None)

    def most(self) -> tuple[Parts, Mapping[str, int], list[str]]:
        """Return as much as there is, what lacks, and why."""
        parts, lacking, reasons = self._kept(), dict[str, int](), list[str]()
        for name, amount in self._left(parts).items():
            found = self._able({name: amount}, parts)
            most = {(found[0], name): amount} if found else self._most(name, amount)
            parts |= most
            if missing := amount - sum(most.values()):
                lacking[name] = missing
                reasons.append(self._no_room(name, amount))
        return parts, lacking, reasons

    def why_not(self) -> tuple[Mapping[str, int], list[str]]:
        """Return what no provider can give, and why."""
        left = self._left(self._kept())
        lacking = {name: n for name, n in left.items() if not self._able({name: n}, {})}
        reasons = [self._no_room(name, amount) for name, amount in lacking.items()]
        if reasons:
            return lacking, reasons
        names = ", ".join(f"{n} {name}" for name, n in left.items())
        return left, [f"no providers of {names} have the traits {_listed(self._required)} together"]

    def _kept(self) -> dict[tuple[str, str], int]:
        """Return what the guest holds of the classes that it has in the right amount."""
        parts = dict[tuple[str, str], int]()
        for name, amount in self._plain.resources.items():
            usable = self._candidates.usable(replace(self._plain, resources={name: amount}))
            kept = {
                (one.uuid, name): n for one in usable if (n := self._ledger.kept(one.uuid, name))
            }
            if sum(kept.values()) == amount:
                parts |= kept
        return parts

    def _left(self, parts: Parts) -> dict[str, int]:
        placed = {name for _, name in parts}
        return {name: n for name, n in self._plain.resources.items() if name not in placed}

    def _able(self, amounts: Mapping[str, int], parts: Parts) -> list[str]:
        group = replace(self._plain, resources=amounts)
        return self._candidates.with_room(group, amounts, {uuid for uuid, _ in parts})

    def _most(self, name: str, amount: int) -> Parts:
        usable = self._candidates.usable(replace(self._plain, resources={name: amount}))
        return self._ledger.most(name, amount, [one.uuid for one in usable])

    def _no_room(self, name: str, amount: int) -> str:
        usable = self._candidates.usable(replace(self._plain, resources={name: amount}))
        return self._ledger.no_room(name, amount, [one.uuid for one in usable])

    def _meets_traits(self, parts: Parts) -> bool:
        providers = {uuid for uuid, _ in parts}.union(self._contributing)
        return self._required <= frozenset[str]().union(
            *(self._givers[uuid].traits for uuid in providers)
        )

    def _ways_with_traits(self) -> Iterator[Parts]:
        """Yield each way that meets the traits, among the first ways there are."""
        options = [
            [((uuid, name), amount) for uuid in self._able({name: amount}, {})]
            for name, amount in self._plain.resources.items()
        ]
        for number, way in enumerate(itertools.product(*options)):
            if number == _MOST_WAYS:
                return
            if self._meets_traits(dict(way)):
                yield dict(way)


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names))
