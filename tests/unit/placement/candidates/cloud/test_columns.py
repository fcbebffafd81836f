"""The snapshot's building blocks: what changes gives a new one, and the old one stays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.cloud.columns import Column
from placement.candidates.cloud.key_sets import SlotSet

SIZE = 40
PLAIN = (8, 0, 1, 100, 1, 1.0, 0)


def column(stocks):
    """Make a column from {slot: stock}."""
    slots = sorted(stocks)
    fields = list(zip(*(stocks[slot] for slot in slots), strict=True)) or [()] * 7
    return Column.of(slots, fields)


def fitting(found, amount, size=SIZE):
    return np.flatnonzero(found.fits(amount, size)).tolist()


@given(
    old=st.dictionaries(st.integers(0, SIZE - 1), st.just(PLAIN)),
    new=st.dictionaries(st.integers(0, SIZE + 9), st.one_of(st.none(), st.just(PLAIN))),
)
def test_a_changed_column_is_that_of_the_changed_inventories(old, new):
    size = SIZE + 10
    changed = column(old).changed(new)

    now = {slot: stock for slot, stock in (old | new).items() if stock is not None}
    assert fitting(changed, 8, size) == sorted(now)
    assert fitting(changed, 9, size) == []


def test_usage_changes_room_and_nothing_of_the_old_column():
    old = column({3: PLAIN, 5: PLAIN, 9: PLAIN})

    new = old.with_usage({5: 6})

    assert fitting(new, 3) == [3, 9]
    assert fitting(new, 2) == [3, 5, 9]
    assert fitting(old, 8) == [3, 5, 9]


def test_min_unit_and_step_size_are_kept():
    odd = column({1: (8, 0, 2, 6, 2, 1.0, 0), 2: PLAIN})

    assert [slot for slot in (1, 2) if slot in fitting(odd, 3)] == [2]
    assert fitting(odd, 4) == [1, 2]
    assert fitting(odd, 1) == [2]
    assert fitting(odd, 8) == [2]


def test_capacities_are_cut_and_may_be_huge():
    found = column({0: (100, 0, 1, 1000, 1, 0.29, 0), 1: (2**31 - 1, 0, 1, 1000, 1, 3.0e38, 0)})

    assert found.capacity(0) == 28
    assert found.capacity(1) == int((2**31 - 1) * 3.0e38)
    assert fitting(found, 1000) == [1]


def test_what_is_over_committed_has_no_room():
    assert fitting(column({0: (4, 0, 1, 4, 1, 1.0, 9), 1: (4, 9, 1, 4, 1, 1.0, 0)}), 1) == []


@given(
    members=st.sets(st.integers(0, SIZE - 1)),
    added=st.sets(st.integers(0, SIZE + 5)),
    removed=st.sets(st.integers(0, SIZE - 1)),
    crowd=st.sampled_from([SIZE, SIZE * 100]),
)
def test_a_set_changes_by_what_is_added_and_removed(members, added, removed, crowd):
    size = crowd + 6
    old = SlotSet(np.array(sorted(members), np.int32), crowd)

    new = old.changed(added - removed, removed - added, size)

    expected = sorted((members - (removed - added)) | (added - removed))
    assert new.slots().tolist() == expected
    assert np.flatnonzero(new.mask(size)).tolist() == expected
    assert old.slots().tolist() == sorted(members)


ROWS = {slot: (4 + slot % 2, 0, 1, 4, 1, 1.0, slot % 2) for slot in range(0, SIZE, 3)}


@given(slots=st.lists(st.integers(0, SIZE + 5), unique=True).map(sorted))
def test_the_inventories_of_some_providers_are_known_by_their_places(slots):
    some = column(ROWS).with_usage({3: 3}).among(np.array(slots, np.int32))

    places = [place for place, slot in enumerate(slots) if slot in ROWS]
    assert some.slots.tolist() == places
    whole = column(ROWS).with_usage({3: 3})
    wanted = whole.rooms_at(np.array(slots, np.int32))
    assert some.rooms_at(np.arange(len(slots))).tolist() == wanted.tolist()
    assert fitting(some, 3, len(slots)) == [p for p in places if wanted[p] >= 3]


def test_equal_inventories_are_kept_once():
    found = column(ROWS).changed({0: (6, 0, 1, 4, 1, 1.0, 2), 7: (9, 1, 1, 9, 1, 2.0, 0)})

    assert len(found.stocks) == 4
    assert (found.capacity(0), found.used_at(0)) == (6, 2)
    place = int(found.find(np.array([7]))[1][0])
    assert (found.capacity(place), found.stock(place).ratio) == (16, 2.0)


@given(
    members=st.sets(st.integers(0, SIZE - 1)),
    slots=st.lists(st.integers(0, SIZE + 20), unique=True).map(sorted),
    crowd=st.sampled_from([SIZE, SIZE * 100]),
)
def test_the_members_among_some_providers_are_known_by_their_places(members, slots, crowd):
    some = SlotSet(np.array(sorted(members), np.int32), crowd).among(np.array(slots, np.int32))

    assert some.slots().tolist() == [p for p, slot in enumerate(slots) if slot in members]
