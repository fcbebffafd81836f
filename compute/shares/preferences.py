"""What is known of a guest's place, and which providers come first because of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from compute.provider_tree.allocation_records import Amounts, ProviderAmounts
from compute.report.consumers.resource_request import RequestGroup
from compute.shares.giver import Giver, able
from compute.shares.ledger import ShareLedger


@dataclass(frozen=True)
class Preferences:
    """What is known of a guest's place.

    :param known: what it uses, from several tellers, the surest first. What one says of a class
        counts if it is as much as is asked
    :param held: what it has in placement
    :param given: what it was told to take; preferred like that, if there is room
    :param taken: what other shares of it take of the same providers
    :param pooled: the classes that a sharing provider gives, if there is one
    :param runs: it is there already. It gets as much as there is, and classes may be spread
    """

    known: Sequence[ProviderAmounts] = ()
    held: ProviderAmounts = field(default_factory=dict)
    taken: ProviderAmounts = field(default_factory=dict)
    given: ProviderAmounts = field(default_factory=dict)
    pooled: frozenset[str] = frozenset()
    runs: bool = False


class Candidates:
    """Lists the providers that may give something, the preferred first."""

    def __init__(
        self, givers: Sequence[Giver], ledger: ShareLedger, preferences: Preferences
    ) -> None:
        self._givers = givers
        self._ledger = ledger
        self._pooled = preferences.pooled
        self._order = {one.uuid: number for number, one in enumerate(givers)}
        self._roots = {one.uuid for one in givers if one.parent_uuid is None and not one.shares}

    def usable(self, group: RequestGroup) -> list[Giver]:
        """Return the givers with inventory of the group's classes, its traits, and in its tree.

        Sharing providers give only what the tree has no inventory of, what is `pooled`, and what
        the guest has of them already or was told to take.
        """
        found = [
            one
            for one in able(self._givers, group.resources)
            if group.required_traits <= one.traits
            and group.forbidden_traits.isdisjoint(one.traits)
            and (group.in_tree is None or group.in_tree in self._roots or one.uuid == group.in_tree)
        ]
        own = [one for one in found if not one.shares]
        pools = [one for one in found if one.shares]
        if not own or (pools and self._pooled.issuperset(group.resources)):
            return pools
        held = [one for one in pools if self._keeps(one, group.resources)]
        return held or own

    def with_room(
        self, group: RequestGroup, amounts: Amounts, chosen: Iterable[str] = ()
    ) -> list[str]:
        """Return the usable providers with room for all of the amounts, the preferred first.

        :param chosen: providers that other parts of the share come from, not counted yet
        """
        near = set(chosen)

        def rank(uuid: str) -> tuple[int, int, int]:
            kept = [
                (self._ledger.preferred(uuid, name), amount) for name, amount in amounts.items()
            ]
            # What is as large as it was is the same share; two shares may lie on two providers.
            score = sum(2 * (has == amount) + (has > 0) for has, amount in kept)
            return -score, -(uuid in near or self._ledger.used(uuid)), self._order[uuid]

        roomy = [
            one.uuid
            for one in self.usable(group)
            if all(self._ledger.has_room(one.uuid, *wanted) for wanted in amounts.items())
        ]
        return sorted(roomy, key=rank)

    def _keeps(self, giver: Giver, amounts: Amounts) -> bool:
        return bool(amounts) and all(self._ledger.preferred(giver.uuid, name) for name in amounts)
