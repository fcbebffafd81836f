"""Which hosts are lost together: each one, each aggregate, sets that are given, or several of them.

A host is a tree of providers. The tree of a sharing provider is none: what it shares outlives the
hosts. Who wants to know what its loss means gives it as a set.
"""

import collections
import dataclasses
import itertools
import math
import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

import numpy as np

from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.snapshot import Snapshot
from placement.domain.uuids import normalised
from placement.errors import BadRequest
from placement.extensions.what_if.refusals import refused_at
from placement.extensions.what_if.trees import check_roots
from placement.http.query import parse_member_of

#: how many sets are judged; of more, so many are drawn by lot
MOST_JUDGED = 20_000
#: of how many names the name of a set is made
MOST_NAMED = 3


@dataclasses.dataclass(frozen=True)
class LostSet:
    """Hosts that are lost together.

    :param roots: slots of the roots of their trees, ascending
    :param names: how the set is called; empty: by the names of its hosts
    """

    roots: tuple[int, ...]
    names: tuple[str, ...] = ()

    def called(self, hosts: Sequence[str]) -> str:
        """Return its name.

        :param hosts: the names of its first hosts, of `MOST_NAMED` at least
        """
        names = self.names or tuple(hosts)
        more = len(self.names or self.roots) - MOST_NAMED
        shown = [*names[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
        return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


@dataclasses.dataclass(frozen=True)
class ChosenSets:
    """The sets that are to be judged.

    :param sets: one of all that are alike, and how many these are
    :param of: how many sets there are, also those that weren't drawn by lot
    """

    sets: Sequence[tuple[LostSet, int]]
    of: int

    @property
    def looked_at(self) -> int:
        """How many sets the answer is about"""
        return sum(count for _, count in self.sets)


def each_host(cloud: Snapshot, among: str | None) -> list[LostSet]:
    """Return each host as a set of its own.

    Raises BadRequest if `among` can't be used.

    :param among: a value of `member_of` that the roots have to meet
    """
    return [LostSet((root,)) for root in np.flatnonzero(_hosts(cloud, among)).tolist()]


def each_aggregate(cloud: Snapshot, among: str | None) -> list[LostSet]:
    """Return the hosts of each aggregate; one without any host is left out.

    Raises BadRequest if `among` can't be used.
    """
    hosts = _hosts(cloud, among)
    found = []
    for uuid, aggregate_id in sorted(cloud.aggregate_ids.items()):
        members = cloud.in_aggregate.get(aggregate_id)
        if members is not None:
            slots = members.slots()
            roots = tuple(slots[hosts[slots]].tolist())
            if roots:
                found.append(LostSet(roots, (uuid,)))
    return found


def given_sets(cloud: Snapshot, given: Sequence[Sequence[str]]) -> list[LostSet]:
    """Return the sets that a request gives by the uuids of their roots.

    Raises BadRequest if a provider doesn't exist, or is no root.
    """
    check_roots(cloud, dict.fromkeys(uuid for one in given for uuid in one))
    return [LostSet(tuple(cloud.roots(one))) for one in given]


def _hosts(cloud: Snapshot, among: str | None) -> Mask:
    hosts = cloud.forest.is_root.copy()
    hosts[cloud.sharing] = False
    if among is not None:
        with refused_at("among.member_of"):
            forbids, uuids = parse_member_of(among)
        hosts &= cloud.is_member(cloud.aggregates(map(normalised, uuids))) ^ forbids
    return hosts


def check_enough(
    cloud: Snapshot, among: str | None, sets: Sequence[LostSet], together: int
) -> None:
    """Raise BadRequest if no host meets `among`, or if fewer sets are there than are to be lost."""
    # who mistyped an aggregate must not read that nothing can be lost as safety
    if among is not None and not _hosts(cloud, among).any():
        raise BadRequest(f"among.member_of: no host meets {among}.")
    if together > max(len(sets), 1):
        raise BadRequest(f"together: there are {len(sets)} sets, and {together} are to be lost.")


def few_enough(sets: Sequence[LostSet]) -> Sequence[LostSet]:
    """Return the sets, or some of them if they are too many to be looked at."""
    if len(sets) <= MOST_JUDGED:
        return sets
    drawn = random.Random(len(sets)).sample(range(len(sets)), MOST_JUDGED)
    return [sets[number] for number in sorted(drawn)]


def chosen(
    sets: Sequence[LostSet], all_sets: int, together: int, key: Callable[[LostSet], Hashable]
) -> ChosenSets:
    """Return one set of all that are alike, of all that `together` of them make.

    :param all_sets: how many sets there are, also those that weren't drawn by lot
    :param key: returns the same for sets that are alike
    """
    of = math.comb(all_sets, together) if sets else 0
    if together == 1:
        return ChosenSets(_alike(sets, key), of)
    if sum(len(one.roots) for one in sets) == len({root for one in sets for root in one.roots}):
        kinds: dict[Hashable, list[LostSet]] = collections.defaultdict(list)
        for one in sets:
            kinds[key(one)].append(one)
        if math.comb(len(kinds) + together - 1, together) <= MOST_JUDGED:
            return ChosenSets(list(_of_kinds(list(kinds.values()), together)), of)
    if math.comb(len(sets), together) <= MOST_JUDGED:
        joined = map(_joined, itertools.combinations(sets, together))
        return ChosenSets(_alike(joined, key), of)
    return ChosenSets(_alike(_drawn(sets, together), key), of)


def _alike(
    sets: Iterable[LostSet], key: Callable[[LostSet], Hashable]
) -> list[tuple[LostSet, int]]:
    first: dict[Hashable, LostSet] = {}
    counts: collections.Counter[Hashable] = collections.Counter()
    for one in sets:
        name = key(one)
        first.setdefault(name, one)
        counts[name] += 1
    return [(one, counts[name]) for name, one in first.items()]


def _of_kinds(kinds: Sequence[Sequence[LostSet]], together: int) -> Iterator[tuple[LostSet, int]]:
    """Yield one of all choices that take as many sets of each kind, and how many these are.

    That holds for sets without a common host alone.
    """
    for numbers in itertools.combinations_with_replacement(range(len(kinds)), together):
        times = collections.Counter(numbers)
        count = math.prod(math.comb(len(kinds[number]), many) for number, many in times.items())
        if count:
            yield (
                _joined([one for number, many in times.items() for one in kinds[number][:many]]),
                count,
            )


def _drawn(sets: Sequence[LostSet], together: int) -> Iterator[LostSet]:
    source = random.Random(len(sets))
    drawn: dict[tuple[int, ...], None] = {}
    # there are more choices than are drawn, so that there is always another one
    while len(drawn) < MOST_JUDGED:
        drawn[tuple(sorted(source.sample(range(len(sets)), together)))] = None
    for numbers in drawn:
        yield _joined([sets[number] for number in numbers])


def _joined(sets: Sequence[LostSet]) -> LostSet:
    names = tuple(name for one in sets for name in one.names)
    return LostSet(tuple(sorted({root for one in sets for root in one.roots})), names)
