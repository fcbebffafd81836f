"""What the consumers of trees that are to be emptied ask of the rest of the cloud.

A consumer asks for all that it holds once more, from one tree and the sharing providers that serve
it. What it holds of providers that stay is its own: it may keep that, or give it up.
"""

import collections
import dataclasses
import functools
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest, Group
from placement.storage.holdings import HeldRow

#: (name of the resource class, amount), by name
Amounts = tuple[tuple[str, int], ...]
#: slot of a provider, id of a resource class
SlotClass = tuple[int, int]
#: what is taken, or held, of each inventory
Taken = Mapping[SlotClass, int]
#: the same as a value that can be compared and hashed
TakenItems = tuple[tuple[SlotClass, int], ...]


#: the fields of a group but its resources
_CONDITIONS = tuple(one.name for one in dataclasses.fields(Group) if one.name != "resources")


@dataclasses.dataclass(frozen=True, order=True)
class GivenRequest:
    """What somebody says that a consumer asks for. Requests with the same text are equal.

    :param text: the query
    """

    text: str
    request: CandidateRequest = dataclasses.field(compare=False)

    @functools.cached_property
    def pattern(self) -> Hashable:
        """What it says but for the amounts"""
        asked = dataclasses.replace(self.request, groups=())
        return (
            *(
                (*(getattr(group, name) for name in _CONDITIONS), tuple(group.resources))
                for group in self.request.groups
            ),
            asked,
        )


@dataclasses.dataclass(frozen=True, order=True)
class TreeDemand:
    """What must come from one tree.

    :param main: what the consumer holds of a root and of sharing providers. It may come from any
        provider of the tree, and from sharing providers
    :param groups: what it holds of each provider below the root. Each must come from one provider
    :param shut: uuids of roots that it may not come from
    :param given: the request for it, if that is known: one or none. `main` and `groups` are its
        amounts then
    """

    main: Amounts
    groups: tuple[Amounts, ...] = ()
    shut: tuple[str, ...] = ()
    given: tuple[GivenRequest, ...] = ()

    @classmethod
    def of(cls, text: str, request: CandidateRequest) -> "TreeDemand":
        """Return the demand for what a request asks for.

        :param text: the query that says it
        """
        main = next((group.resources for group in request.groups if not group.suffix), {})
        below = [group.resources for group in request.groups if group.suffix and group.resources]
        return cls(
            tuple(sorted(main.items())),
            tuple(sorted(tuple(sorted(amounts.items())) for amounts in below)),
            given=(GivenRequest(text, dataclasses.replace(request, limit=None)),),
        )

    def request(self, avoid: frozenset[str]) -> CandidateRequest:
        """Return the request for it.

        It has no traits unless the request is given: nothing stores which ones were asked for.
        """
        avoid = avoid.union(self.shut)
        for given in self.given:
            return dataclasses.replace(given.request, avoid=avoid)
        asked = [Group("", dict(self.main))] if self.main else []
        asked += [Group(f"_{number}", dict(one)) for number, one in enumerate(self.groups, 1)]
        return CandidateRequest(tuple(asked), avoid=avoid)

    @property
    def pattern(self) -> Hashable:
        """What is equal for demands of the same form that ask for other amounts.

        Whatever providers can serve one of them can serve another, if they have the room.
        """
        if self.given:
            return self.given[0].pattern, self.shut
        return tuple(tuple(name for name, _ in one) for one in (self.main, *self.groups)), self.shut

    def amounts(self) -> collections.Counter[str]:
        """Return the sum of each class."""
        found: collections.Counter[str] = collections.Counter()
        for amounts in (self.main, *self.groups):
            for name, amount in amounts:
                found[name] += amount
        return found


@dataclasses.dataclass(frozen=True)
class Demand:
    """What a consumer asks for. Consumers that ask for the same are alike: any may go anywhere.

    :param parts: one for each tree that it leaves; if there are several, the largest first
    :param own: what it holds of providers that stay
    :param kept: what it keeps as it is, because it is of other trees than those of `parts`
    :param cores: `parts` without what it holds of sharing providers, if there are several
    :param consumer: its uuid, if others have a say in where it goes: then nobody is like it
    """

    parts: tuple[TreeDemand, ...]
    own: TakenItems = ()
    kept: TakenItems = ()
    cores: tuple[TreeDemand, ...] = ()
    consumer: str = ""

    def amounts(self) -> collections.Counter[str]:
        """Return the sum of each class, without what is kept."""
        return sum((part.amounts() for part in self.parts), collections.Counter())


def demands_of(
    snapshot: Snapshot,
    held: Iterable[HeldRow],
    leaving: frozenset[int],
    given: Mapping[str, TreeDemand],
) -> dict[Demand, list[str]]:
    """Return the uuids of consumers by what they ask for.

    Allocations of providers that the cloud doesn't have are left out.

    :param held: all that the consumers hold, each one's rows together
    :param leaving: the slots of the roots of the trees that are to be emptied
    :param given: what single consumers ask for, by uuid
    """
    rows: dict[str, list[tuple[int, str, int]]] = {}
    for row in held:
        slot = snapshot.slot(row.provider_uuid)
        if slot is not None:
            rows.setdefault(row.consumer, []).append((slot, row.resource_class, row.used))
    sharing = frozenset(snapshot.sharing.tolist())
    found: dict[Demand, list[str]] = {}
    for consumer, of_consumer in sorted(rows.items()):
        demand = demand_of(snapshot, of_consumer, leaving, sharing, given.get(consumer))
        found.setdefault(demand, []).append(consumer)
    return found


#: (slot, class name, amount) of what a consumer holds
Rows = Sequence[tuple[int, str, int]]


def demand_of(
    snapshot: Snapshot,
    rows: Rows,
    leaving: frozenset[int],
    sharing: frozenset[int],
    given: TreeDemand | None = None,
) -> Demand:
    """Return what a consumer asks for that holds these rows.

    :param leaving: the slots of the roots of the trees that are to be emptied
    :param sharing: the slots of sharing providers
    :param given: what it asks for in place of what it holds of the trees that it leaves
    """
    root_of = snapshot.forest.root
    by_tree: dict[int, list[tuple[int, str, int]]] = collections.defaultdict(list)
    of_sharing = [row for row in rows if row[0] in sharing]
    for row in rows:
        if row[0] not in sharing:
            by_tree[int(root_of[row[0]])].append(row)
    own = _taken(snapshot, [row for row in rows if int(root_of[row[0]]) not in leaving])
    if len(by_tree) <= 1:
        return Demand((given or _part(snapshot, rows, sharing),), own)
    # Only what is held of trees that are emptied has to move. If there is none, a sharing provider
    # is emptied: then the largest tree moves, with what is held of sharing providers.
    roots = [root for root in by_tree if root in leaving] or [
        max(by_tree, key=lambda root: (sum(row[2] for row in by_tree[root]), -root))
    ]
    kept = [row for root, of_tree in by_tree.items() if root not in roots for row in of_tree]
    if given is not None:
        return Demand((given,), own, _taken(snapshot, kept))
    parts = {root: _part(snapshot, by_tree[root], sharing) for root in roots}
    ordered = sorted(roots, key=lambda root: (-sum(parts[root].amounts().values()), parts[root]))
    first, *others = ordered
    return Demand(
        (
            _part(snapshot, [*by_tree[first], *of_sharing], sharing),
            *(parts[root] for root in others),
        ),
        own,
        _taken(snapshot, kept),
        tuple(parts[root] for root in ordered),
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


def _taken(snapshot: Snapshot, rows: Rows) -> TakenItems:
    ids = snapshot.names.class_ids
    return tuple(sorted(((slot, ids[name]), amount) for slot, name, amount in rows))


def emptied(snapshot: Snapshot, leaving: Iterable[int]) -> Snapshot:
    """Return the cloud as if some trees had no inventory, for searches only.

    :param leaving: the slots of the roots of the trees
    """
    slots = [slot for root in leaving for slot in snapshot.forest.members(root).tolist()]
    gone = np.asarray(slots, np.int32)
    columns = dict(snapshot.columns)
    for class_id, column in snapshot.columns.items():
        has_class, _ = column.find(gone)
        if has_class.any():
            columns[class_id] = column.changed(dict.fromkeys(gone[has_class].tolist()))
    return dataclasses.replace(snapshot, columns=columns)
