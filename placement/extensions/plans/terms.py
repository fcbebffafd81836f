"""The terms of a plan: who may move, who may be where, and what the movers ask for.

All of it is of uuids: of consumers, and of the roots of the trees that they are on.
"""

import dataclasses
import functools
from collections.abc import Collection, Iterable, Mapping, Sequence

from placement.candidates.cloud.snapshot import Snapshot
from placement.domain.consumer import UNKNOWN_TYPE
from placement.domain.uuids import normalised
from placement.extensions.evacuation.given_requests import (
    check_requests,
    few,
    given_requests,
    uuid_key,
)
from placement.extensions.evacuation.movers import TreeDemand
from placement.extensions.what_if.trees import root_named
from placement.microversions import Version
from placement.schemas.json_schema import Json

#: the types of consumers that move unless a request names others
DEFAULT_TYPES = frozenset(["INSTANCE"])
#: the types of guests: Nova gives its instances none
GUEST_TYPES = DEFAULT_TYPES | {UNKNOWN_TYPE}

#: uuids of the roots of the trees that each consumer is on; who isn't known is missing
Places = Mapping[str, Collection[str]]


@dataclasses.dataclass(frozen=True)
class Movable:
    """Who may move.

    :param types: consumers of these types; `unknown` is the type of those that have none
    :param but: none of these
    :param only: nobody but these; None: anybody
    """

    types: frozenset[str] = DEFAULT_TYPES
    but: frozenset[str] = frozenset()
    only: frozenset[str] | None = None

    def allows(self, consumer: str, consumer_type: str | None, trees: int) -> bool:
        """Say whether a consumer may move.

        :param consumer_type: None: it has none
        :param trees: on how many trees it is, those of sharing providers aside. One that is on two
            is being moved already
        """
        return (
            trees <= 1
            and (consumer_type or UNKNOWN_TYPE) in self.types
            and consumer not in self.but
            and (self.only is None or consumer in self.only)
        )


@dataclasses.dataclass(frozen=True)
class Constraints:
    """Who may be where, as far as placement can't know it. It is judged of who moves alone.

    :param apart: of each set, no two may be on one tree, whenever one of them arrives
    :param together: each set must be on one tree after the last move
    :param not_on: uuids of roots that a consumer may not go to
    """

    apart: tuple[frozenset[str], ...] = ()
    together: tuple[frozenset[str], ...] = ()
    not_on: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many constraints these are: sets, and consumers that may not be somewhere"""
        return len(self.apart) + len(self.together) + len(self.not_on)

    @functools.cached_property
    def named(self) -> frozenset[str]:
        """The consumers whose places decide where others may go"""
        return frozenset().union(*self.apart, *self.together)

    @functools.cached_property
    def _apart_of(self) -> Mapping[str, Sequence[frozenset[str]]]:
        return _by_member(self.apart)

    @functools.cached_property
    def _together_of(self) -> Mapping[str, Sequence[frozenset[str]]]:
        return _by_member(self.together)

    def partners(self, consumer: str) -> frozenset[str]:
        """Return those that may not be on one tree with a consumer."""
        return frozenset().union(*self._apart_of.get(consumer, ())) - {consumer}

    def companions(self, consumer: str) -> frozenset[str]:
        """Return those that must be on one tree with a consumer."""
        return frozenset().union(*self._together_of.get(consumer, ())) - {consumer}

    def shut(self, consumer: str, places: Places) -> frozenset[str]:
        """Return the roots where a consumer may not arrive.

        :param places: where the others are when it arrives
        """
        occupied = (root for other in self.partners(consumer) for root in places.get(other, ()))
        return self.not_on.get(consumer, frozenset()) | frozenset(occupied)

    def kept(self, moved: Collection[str], places: Places) -> bool:
        """Say whether those that moved are with whom they must be.

        :param places: where everybody is after the last move
        """
        return all(
            len({frozenset(places[one]) for one in members if places.get(one)}) <= 1
            for consumer in moved
            for members in self._together_of.get(consumer, ())
        )


def _by_member(sets: Iterable[frozenset[str]]) -> Mapping[str, Sequence[frozenset[str]]]:
    found: dict[str, list[frozenset[str]]] = {}
    for members in sets:
        for consumer in members:
            found.setdefault(consumer, []).append(members)
    return found


@dataclasses.dataclass(frozen=True)
class Terms:
    """What a request says of a plan.

    :param requests: what consumers ask for, in place of once more what they hold
    """

    movable: Movable = Movable()
    constraints: Constraints = Constraints()
    requests: Mapping[str, TreeDemand] = dataclasses.field(default_factory=dict)


def terms_of(body: Json, version: Version) -> Terms:
    """Read the terms of a request. Raises BadRequest, with the place of what is wrong.

    :param body: valid by `terms_schema.TERMS`
    :param version: what queries are understood as
    """
    movable, constraints = body.get("movable", {}), body.get("constraints", {})
    only = movable.get("only")
    return Terms(
        Movable(
            frozenset(movable.get("consumer_types", DEFAULT_TYPES)),
            _uuids(movable.get("except", ()), "movable.except"),
            None if only is None else _uuids(only, "movable.only"),
        ),
        Constraints(
            _sets(constraints.get("apart", ()), "constraints.apart"),
            _sets(constraints.get("together", ()), "constraints.together"),
            _not_on(constraints.get("not_on", {})),
        ),
        given_requests(body.get("requests", {}), version),
    )


def check_terms(cloud: Snapshot, terms: Terms) -> None:
    """Raise BadRequest, with the place, if terms name a class, trait or root that doesn't exist."""
    for consumer, roots in terms.constraints.not_on.items():
        for root in sorted(roots):
            root_named(cloud, root, f"constraints.not_on.{consumer}")
    check_requests(cloud, terms.requests)


def _not_on(given: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
    place = "constraints.not_on"
    return {
        uuid_key(consumer, place): _uuids(roots, f"{place}.{consumer}")
        for consumer, roots in few(given, place).items()
    }


def _sets(given: Collection[Iterable[str]], place: str) -> tuple[frozenset[str], ...]:
    few([one for members in few(given, place) for one in members], place)
    return tuple(frozenset(map(normalised, members)) for members in given)


def _uuids(given: Collection[str], place: str) -> frozenset[str]:
    return frozenset(map(normalised, few(given, place)))
