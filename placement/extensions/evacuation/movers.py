"""What the consumers of hosts that are to be emptied ask of the rest of the cloud.

A consumer asks for all that it holds once more, from one tree and the sharing providers that serve
it. What it holds of providers that stay is its own: it may keep that, or leave it.
"""

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest, Group
from placement.storage.holdings import HeldRow

#: (name of the resource class, amount), by name
Amounts = tuple[tuple[str, int], ...]
#: amounts by (slot, id of the resource class)
Taken = Mapping[tuple[int, int], int]


@dataclasses.dataclass(frozen=True, order=True)
class TreeDemand:
    """What must come from one tree.

    :param main: what may come from any provider of the tree, and from sharing providers: what is
        held of a root or of sharing providers
    :param groups: what must come from one provider each: what is held of one below the root
    """

    main: Amounts
    groups: tuple[Amounts, ...] = ()

    def request(self, avoid: frozenset[str]) -> CandidateRequest:
        """Return the request for it. Traits aren't asked for: nobody keeps them."""
        asked = [Group("", dict(self.main))] if self.main else []
        asked += [Group(f"_{number}", dict(one)) for number, one in enumerate(self.groups, 1)]
        return CandidateRequest(tuple(asked), avoid=avoid)

    def demand(self) -> collections.Counter[str]:
        """Return the sum of each class."""
        found: collections.Counter[str] = collections.Counter()
        for amounts in (self.main, *self.groups):
            for name, amount in amounts:
                found[name] += amount
        return found


@dataclasses.dataclass(frozen=True)
class Demand:
    """What consumers ask for that are alike: each of them can take the place of another.

    :param parts: one for each tree to leave; of those with several, the largest first
    :param own: what such a consumer holds of providers that stay, as `Taken`
    :param kept: what it keeps as it is, because other trees than those of `parts` have it
    :param cores: `parts` without what is held of sharing providers
    """

    parts: tuple[TreeDemand, ...]
    own: tuple[tuple[tuple[int, int], int], ...] = ()
    kept: tuple[tuple[tuple[int, int], int], ...] = ()
    cores: tuple[TreeDemand, ...] = ()

    def demand(self) -> collections.Counter[str]:
        """Return the sum of each class, without what is kept."""
        return sum((part.demand() for part in self.parts), collections.Counter())


def wishes(
    snapshot: Snapshot, held: Iterable[HeldRow], leaving: frozenset[int]
) -> dict[Demand, list[str]]:
    """Return the consumers by what they ask for.

    Holdings of providers that the cloud doesn't have are left out.

    :param held: all that the consumers hold, each one's rows together
    :param leaving: the roots of the trees that are to be emptied
    """
    rows: dict[str, list[tuple[int, str, int]]] = {}
    for row in held:
        slot = snapshot.slot(row.provider_uuid)
        if slot is not None:
            rows.setdefault(row.consumer, []).append((slot, row.resource_class, row.used))
    sharing = frozenset(snapshot.sharing.tolist())
    found: dict[Demand, list[str]] = {}
    for consumer, its in sorted(rows.items()):
        found.setdefault(_wish(snapshot, its, leaving, sharing), []).append(consumer)
    return found


Rows = Sequence[tuple[int, str, int]]


def _wish(
    snapshot: Snapshot, rows: Rows, leaving: frozenset[int], sharing: frozenset[int]
) -> Demand:
    roots = snapshot.forest.root
    by_home: dict[int, list[tuple[int, str, int]]] = collections.defaultdict(list)
    lent = [row for row in rows if row[0] in sharing]
    for row in rows:
        if row[0] not in sharing:
            by_home[int(roots[row[0]])].append(row)
    own = _taken(snapshot, [row for row in rows if int(roots[row[0]]) not in leaving])
    if len(by_home) <= 1:
        return Demand((_part(snapshot, rows, sharing),), own)
    # of several trees: those that stay are left alone, unless what they borrow has to leave
    homes = [home for home in by_home if home in leaving] or [
        max(by_home, key=lambda home: (sum(row[2] for row in by_home[home]), -home))
    ]
    parts = {home: _part(snapshot, by_home[home], sharing) for home in homes}
    ordered = sorted(homes, key=lambda home: (-sum(parts[home].demand().values()), parts[home]))
    first, *others = ordered
    kept = [row for home, its in by_home.items() if home not in homes for row in its]
    return Demand(
        (
            _part(snapshot, [*by_home[first], *lent], sharing),
            *(parts[home] for home in others),
        ),
        own,
        _taken(snapshot, kept),
        tuple(parts[home] for home in ordered),
    )


def _part(snapshot: Snapshot, rows: Rows, sharing: frozenset[int]) -> TreeDemand:
    is_root = snapshot.forest.is_root
    main: collections.Counter[str] = collections.Counter()
    groups: dict[int, dict[str, int]] = collections.defaultdict(dict)
    for slot, name, amount in rows:
        if is_root[slot] or slot in sharing:
            main[name] += amount
        else:
            groups[slot][name] = amount
    return TreeDemand(
        tuple(sorted(main.items())),
        tuple(sorted(tuple(sorted(amounts.items())) for amounts in groups.values())),
    )


def _taken(snapshot: Snapshot, rows: Rows) -> tuple[tuple[tuple[int, int], int], ...]:
    ids = snapshot.names.class_ids
    return tuple(sorted(((slot, ids[name]), amount) for slot, name, amount in rows))


def emptied(snapshot: Snapshot, leaving: Iterable[int]) -> Snapshot:
    """Return the cloud where some trees have no inventory any more, for searches only.

    :param leaving: the roots of the trees
    """
    slots = [slot for root in leaving for slot in snapshot.forest.members(root).tolist()]
    gone = np.asarray(slots, np.int32)
    columns = dict(snapshot.columns)
    for class_id, column in snapshot.columns.items():
        there, _ = column.find(gone)
        if there.any():
            nothing = dict.fromkeys(gone[there].tolist())
            columns[class_id] = column.changed(nothing)
    return dataclasses.replace(snapshot, columns=columns)
