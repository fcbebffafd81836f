"""Parts of the cloud in which a search is tried before it looks at all of the cloud.

A search with a limit ends after its first candidates. So it begins with few trees: the first ones
that may have candidates, as conditions show that few trees meet. What it finds in a part is what it
would find in the whole cloud, or it goes on with more (architecture.rst D5).
"""

import functools
from collections.abc import Iterator

import numpy as np

from placement.candidates.columns import Slots
from placement.candidates.part import Part, part_of
from placement.candidates.request import CandidateRequest, Group
from placement.candidates.snapshot import Snapshot

#: in clouds of fewer slots, a search looks at the whole cloud at once
_SMALL = 4_000
#: how many trees the first part has: so many, and so many for each candidate that is wanted; the
#: last part has so many times more
_FEWEST, _EACH, _MORE = 64, 4, 16
#: a part may have at most this share of all trees
_MOST = 4
#: conditions that so few providers meet narrow the trees before any other condition
_RARE = 4_096
#: so many trees of one provider, or providers that lend to other trees, are in every part
_MOST_EXTRA = 2_048


def parts(snapshot: Snapshot, request: CandidateRequest, most: int | None) -> Iterator[Part]:
    """Yield parts of the cloud that may have enough candidates, the smallest first.

    :param most: how many candidates are enough; None: only all are
    """
    if snapshot.size < _SMALL or not _knows_names(snapshot, request):
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
    if length <= largest or (narrowed is not None and len(narrowed) <= largest):
        yield from _first_trees(snapshot, narrowed, lending, length)
    if not len(lending):
        narrowed = _with_room(snapshot, request, narrowed)
        for longer in (length, length * _MORE):
            if min(longer, len(narrowed)) <= largest:
                yield from _first_trees(snapshot, narrowed, lending, longer)


def _knows_names(snapshot: Snapshot, request: CandidateRequest) -> bool:
    """Say whether all classes and traits exist: where not, an error may depend on all trees."""
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
    """Return the roots of the trees with sharing providers; None if those have many providers."""
    sharing = snapshot.sharing
    if len(sharing) > _MOST_EXTRA:
        return None
    roots = np.unique(snapshot.forest.root[sharing])
    return roots if int(snapshot.forest.count[roots].sum()) <= _MOST_EXTRA else None


def _first_trees(
    snapshot: Snapshot, narrowed: Slots | None, lending: Slots, length: int
) -> Iterator[Part]:
    """Yield the part with the first trees that may have candidates.

    :param narrowed: the roots of all such trees; None: any tree may have candidates
    """
    forest = snapshot.forest
    anchors = forest.roots if narrowed is None else narrowed
    if not len(anchors):
        return
    bound, lacks_singles = None, False
    if length < len(anchors):
        singles = forest.singles if narrowed is None else _singles(snapshot, narrowed)
        first = anchors[:length]
        bound = int(first[-1])
        if len(singles) <= _MOST_EXTRA:
            # they come before all other trees
            anchors = np.union1d(first, singles)
        else:
            anchors, lacks_singles = first, bool(singles[-1] > bound)
    part = part_of(snapshot, anchors, lending, bound, lacks_singles)
    if part is not None:
        yield part


def _singles(snapshot: Snapshot, roots: Slots) -> Slots:
    return roots[snapshot.forest.count[roots] == 1]


def _among_few(snapshot: Snapshot, request: CandidateRequest, may_borrow: bool) -> Slots | None:
    """Return the roots of the trees that meet the conditions that few trees meet, ascending.

    None if there is no such condition.

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
    members = snapshot.with_trait.get(snapshot.names.trait_ids[trait])
    return members is None or members.count <= _RARE


def _providers_with_trait(snapshot: Snapshot, trait: str) -> Slots:
    members = snapshot.with_trait.get(snapshot.names.trait_ids[trait])
    return np.zeros(0, np.int32) if members is None else members.slots()


def _roots_with_trait(snapshot: Snapshot, trait: str) -> Slots:
    """Return the roots that have a trait themselves."""
    slots = _providers_with_trait(snapshot, trait)
    return slots[snapshot.forest.is_root[slots]]


def _of_group(snapshot: Snapshot, group: Group) -> Iterator[Slots]:
    """Yield the roots of the trees that meet each condition that few trees meet."""
    root = snapshot.forest.root
    if group.in_tree is not None and (group.resources or not group.suffix):
        slot = snapshot.slot(group.in_tree)
        yield root[[] if slot is None else [slot]]
    for names in group.required:
        if all(_is_rare(snapshot, name) for name in names):
            slots = [_providers_with_trait(snapshot, name) for name in names]
            yield np.unique(root[np.concatenate(slots)])
    for uuids in group.member_of:
        members = [
            snapshot.in_aggregate[key]
            for key in snapshot.aggregates(uuids)
            if key in snapshot.in_aggregate
        ]
        if sum(each.count for each in members) <= _RARE:
            slots = [each.slots() for each in members]
            yield np.unique(root[np.concatenate([np.zeros(0, np.int32), *slots])])


def _with_room(snapshot: Snapshot, request: CandidateRequest, narrowed: Slots | None) -> Slots:
    """Return the roots of the trees with room for the amount that the fewest providers have."""
    forest = snapshot.forest
    roots = forest.roots if narrowed is None else narrowed
    wanted = [
        (snapshot.column(snapshot.names.class_ids[name]), amount)
        for group in request.groups
        for name, amount in group.resources.items()
    ]
    if not wanted:
        return roots
    column, amount = min(wanted, key=lambda one: one[0].count_fitting(one[1]))
    fewest = column.fitting(amount)
    if not forest.nested:
        having = fewest
    elif len(fewest) <= _RARE:
        having = np.unique(forest.root[fewest])
    else:
        mask = np.zeros(snapshot.size, np.bool_)
        mask[forest.root[fewest]] = True
        having = np.flatnonzero(mask).astype(np.int32)
    having = having[forest.is_root[having]]
    return having if narrowed is None else np.intersect1d(having, narrowed, True)
