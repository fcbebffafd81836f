"""Sets of ids by slot: equal ones are kept once, and a change gives new ones."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from placement.candidates.cloud.key_sets import KeySets, SlotSet

SIZE = 30
SETS = st.frozensets(st.integers(1, 6))


def key_sets(by_slot):
    """Make the sets of {slot: ids}."""
    having = {}
    for slot, ids in sorted(by_slot.items()):
        for key in ids:
            having.setdefault(key, []).append(slot)
    return KeySets.of({key: np.array(at, np.int32) for key, at in having.items()}, SIZE)


@given(
    old=st.dictionaries(st.integers(0, SIZE - 1), SETS),
    new=st.dictionaries(st.integers(0, SIZE + 9), SETS),
)
@example(old={}, new={0: {1}, 1: {2}})
def test_changed_sets_are_those_of_the_changed_ids(old, new):
    before = key_sets(old)

    after = before.changed({slot: tuple(sorted(ids)) for slot, ids in new.items()}, SIZE + 10)

    wanted = [tuple(sorted((old | new).get(slot, ()))) for slot in range(SIZE + 10)]
    assert after.take(range(SIZE + 10)) == wanted
    assert [after[slot] for slot in range(SIZE + 10)] == wanted
    assert before.take(range(SIZE)) == [tuple(sorted(old.get(slot, ()))) for slot in range(SIZE)]


@given(by_slot=st.dictionaries(st.integers(0, SIZE - 1), SETS), some=st.sets(st.integers(0, 29)))
def test_pairs_are_those_of_the_sets(by_slot, some):
    slots, keys = key_sets(by_slot).keys_of(np.array(sorted(some), np.int32))

    found = sorted(zip(slots.tolist(), keys.tolist(), strict=True))
    assert found == sorted((slot, key) for slot in some for key in by_slot.get(slot, ()))


def test_a_set_of_all_lacks_providers_that_are_newer():
    everybody = SlotSet(np.arange(8, dtype=np.int32), 8)

    assert everybody.holds(np.array([7, 8, 15], np.int32)).tolist() == [True, False, False]
