"""In which few trees a search looks before it looks at all of the cloud (architecture.rst D5).

A search with a limit ends after its first candidates. Masks of the whole cloud would cost more than
these. So the search begins with a *subset*, the first trees that may have candidates. What it finds
there is what it would find in the whole cloud, or it goes on with a larger subset. A search with
`limit=10` in a cloud of 10,000 trees looks, until it has 10 candidates, at::

    the first 64 trees                         unless past searches found too little there
    the first 64, 256, 1,024 trees with room   as the inventories of one class show
    all 10,000 trees

A condition that few trees meet names the trees by itself: an in_tree, a rare trait, a small
aggregate. Then a subset is made of trees that meet all such conditions, even if there is no limit.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from placement.candidates.cloud.columns import Mask, Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.cloud.tree_subset import TreeSubset, subset_of
from placement.candidates.request import CandidateRequest, Group, Sets
from placement.candidates.slots import WholeSlot, WholeSlots

#: how many trees the first subset has: so many, or so many for each candidate that is wanted
_FEWEST, _EACH = 64, 4
#: how many times as many trees the subsets have
_TIMES = (1, 4, 16)
#: a subset may have one in so many of all trees: a larger one costs nearly what the cloud costs
_MOST = 4
#: conditions that so few providers meet narrow the trees before any other condition
_RARE = 4_096
#: in how many inventories the first trees with room are looked for; then in twice as many
_CHUNK = 1_024
#: trees of one provider, and trees that lend to others, are in every subset: so many at most
_MOST_EXTRA = 2_048


def subsets(
    snapshot: Snapshot, request: CandidateRequest, most: int | None
) -> Iterator[TreeSubset]:
    """Yield subsets of the trees that may have enough candidates, the smallest first.

    :param most: how many candidates are enough; None: only all are
    """
    if not _knows_names(snapshot, request):
        return
    lending = _lending_roots(snapshot)
    if lending is None or (len(lending) and _asks_for_tree(request)):
        return
    largest = len(snapshot.forest.roots) // _MOST
    narrowed = _among_few(snapshot, request, may_borrow=len(lending) > 0)
    if most is None:
        if narrowed is not None and len(narrowed) <= largest:
            yield from _first_trees(snapshot, narrowed, lending, largest)
        return
    length = max(_FEWEST, _EACH * most)
    if narrowed is not None:
        for longer in (length * times for times in _TIMES):
            if min(longer, len(narrowed)) <= largest:
                yield from _first_trees(snapshot, narrowed, lending, longer)
        return
    past = snapshot.past_searches
    if length <= largest and (len(lending) or not past.begins_elsewhere(request)):
        yield from _first_trees(snapshot, snapshot.forest.roots, lending, length)
        # the generator comes here only if the first trees didn't have enough candidates
        past.in_vain(request)
    if not len(lending):
        for longer in (length * times for times in _TIMES):
            if longer <= largest:
                roots, is_all = _able(snapshot, request, longer)
                yield from _first_trees(snapshot, roots, lending, longer, is_all, by_usage=True)


def _knows_names(snapshot: Snapshot, request: CandidateRequest) -> bool:
    """Say whether all classes and traits exist.

    If one doesn't, whether that is an error depends on all trees: a search that ends before it
    comes to the name has no error (allocation-candidates.md 1.9).
    """
    names = snapshot.names
    traits = [*request.root_required, *request.root_forbidden]
    for group in request.groups:
        if not group.resources.keys() <= names.class_ids.keys():
            return False
        traits += [name for wanted in group.required for name in wanted]
        traits += group.forbidden
    return all(name in names.trait_ids for name in traits)


def _asks_for_tree(request: CandidateRequest) -> bool:
    return any(group.in_tree is not None for group in request.groups)


def _lending_roots(snapshot: Snapshot) -> Slots | None:
    """Return the roots of the trees with sharing providers; None if these trees are too large.

    They are in every subset, as they may lend to any tree of it.
    """
    sharing = snapshot.sharing
    if len(sharing) > _MOST_EXTRA:
        return None
    roots = np.unique(snapshot.forest.root[sharing])
    return roots if int(snapshot.forest.count[roots].sum()) <= _MOST_EXTRA else None


def _first_trees(
    snapshot: Snapshot,
    roots: Slots,
    lending: Slots,
    length: int,
    is_all: bool = True,
    by_usage: bool = False,
) -> Iterator[TreeSubset]:
    """Yield the subset with the first trees that may have candidates.

    :param roots: the roots of such trees, ascending
    :param is_all: whether these are all; otherwise there may be more behind them
    :param by_usage: whether they were chosen by usage
    """
    if not len(roots):
        return
    anchors, lacks_singles = roots, False
    bound: WholeSlot | None = None
    if length < len(roots) or not is_all:
        anchors = roots[:length]
        bound = WholeSlot(int(anchors[-1]))
        singles = snapshot.forest.singles
        if len(singles) > _MOST_EXTRA:
            lacks_singles = int(singles[-1]) > bound
        elif len(singles):
            # a search answers trees of one provider before all other trees
            if is_all and roots is not snapshot.forest.roots:
                singles = np.intersect1d(singles, roots, True)
            anchors = np.union1d(anchors, singles)
    subset = subset_of(
        snapshot, WholeSlots(anchors), WholeSlots(lending), bound, lacks_singles, by_usage
    )
    if subset is not None:
        yield subset


def _among_few(snapshot: Snapshot, request: CandidateRequest, may_borrow: bool) -> Slots | None:
    """Return the roots of the trees that meet all conditions that few trees meet, ascending.

    None if no condition of the request is such a condition.

    :param may_borrow: whether providers of other trees may meet the conditions of a group
    """
    sets = [
        _roots_with_trait(snapshot, name)
        for name in request.root_required
        if _is_rare(snapshot, name)
    ]
    if not may_borrow:
        for group in request.groups:
            sets += _of_group(snapshot, group)
    if not sets:
        return None
    roots = functools.reduce(lambda one, two: np.intersect1d(one, two, True), sorted(sets, key=len))
    return roots[snapshot.forest.is_root[roots]]


def _is_rare(snapshot: Snapshot, trait: str) -> bool:
    """Say whether few providers have the trait."""
    members = snapshot.with_trait.get(snapshot.names.trait_ids[trait])
    return members is None or members.count <= _RARE


def _roots_with_trait(snapshot: Snapshot, trait: str) -> Slots:
    """Return the roots that have a trait themselves."""
    members = snapshot.with_trait.get(snapshot.names.trait_ids[trait])
    slots = np.zeros(0, np.int32) if members is None else members.slots()
    return slots[snapshot.forest.is_root[slots]]


def _of_group(snapshot: Snapshot, group: Group) -> Iterator[Slots]:
    """Yield, for each condition of the group that few trees meet, the roots of these trees."""
    root = snapshot.forest.root
    if group.in_tree is not None and (group.resources or not group.suffix):
        slot = snapshot.slot(group.in_tree)
        yield root[[] if slot is None else [slot]]
    for names in group.required:
        if all(_is_rare(snapshot, name) for name in names):
            yield _union(
                [snapshot.roots_of_trait(snapshot.names.trait_ids[name]) for name in names]
            )
    for uuids in group.member_of:
        ids = snapshot.aggregates(uuids)
        members = [snapshot.in_aggregate[key] for key in ids if key in snapshot.in_aggregate]
        if sum(each.count for each in members) <= _RARE:
            yield _union([snapshot.roots_of_aggregate(key) for key in ids])


def _union(sets: list[Slots]) -> Slots:
    """Return what is in any of some ascending arrays, ascending."""
    if len(sets) == 1:
        return sets[0]
    return np.unique(np.concatenate([np.zeros(0, np.int32), *sets]))


def _able(snapshot: Snapshot, request: CandidateRequest, length: int) -> tuple[Slots, bool]:
    """Return the first roots of trees with room for the group or class that is hardest to serve.

    A tree without room for it has no candidate, whatever room it has for the others. Also return
    whether these are all such roots.

    :param length: how many are enough
    """
    found = [
        _first_able(snapshot, ability, length)
        for group in request.groups
        for ability in _abilities(group)
    ]
    # a complete list is best, then the one that reaches furthest: it passed over most trees
    last = snapshot.size
    return min(
        found,
        key=lambda one: (not one[1], -int(one[0][-1]) if len(one[0]) else -last),
        default=(snapshot.forest.roots, True),
    )


class _Ability(NamedTuple):
    """What a tree needs one provider for.

    :param resources: amounts by class, at least one class
    :param required: sets of traits, one of each is needed
    """

    resources: Mapping[str, int]
    required: Sets
    forbidden: frozenset[str]


def _abilities(group: Group) -> Iterator[_Ability]:
    """Yield what the group needs providers for: a suffixed group needs one provider for all.

    The unsuffixed group may take each class, and each trait, from another provider.
    """
    if group.suffix:
        if group.resources:
            yield _Ability(group.resources, group.required, group.forbidden)
    else:
        for name, amount in group.resources.items():
            yield _Ability({name: amount}, (), group.forbidden)


def _first_able(snapshot: Snapshot, ability: _Ability, length: int) -> tuple[Slots, bool]:
    """Return the first roots of trees with such a provider, and whether these are all such roots.

    It reads the inventories of one class in the order of their roots, a chunk at a time.
    """
    forest, ids = snapshot.forest, snapshot.names.class_ids
    columns = [(snapshot.column(ids[name]), most) for name, most in ability.resources.items()]
    (column, amount), *others = columns
    order, root = forest.by_root(column.slots)
    found: list[Slots] = [np.zeros(0, np.int32)]
    start, step, count = 0, _CHUNK, 0
    while start < len(order) and count < length:
        end = start + step
        places = order[start:end]
        able = column.have_room(places, amount)
        slots = column.slots[places]
        for other, more in others:
            able &= other.rooms_at(slots) >= more
        for names in ability.required:
            able &= _has_trait(snapshot, names, slots)
        if ability.forbidden:
            able &= ~_has_trait(snapshot, ability.forbidden, slots)
        roots = np.unique(root[start:end][able])
        found.append(roots[forest.is_root[roots]])
        count += len(found[-1])
        start, step = end, step * 2
    return np.unique(np.concatenate(found)), start >= len(order)


def _has_trait(snapshot: Snapshot, names: Iterable[str], slots: Slots) -> Mask:
    """Return which of some providers have at least one of the traits."""
    mask = np.zeros(len(slots), np.bool_)
    for name in names:
        members = snapshot.with_trait.get(snapshot.names.trait_ids[name])
        if members is not None:
            mask |= members.holds(slots)
    return mask
