"""Which provider has which slot, through changes; uuids as rows of bytes."""

import uuid

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.candidates.cloud import register
from placement.candidates.cloud.register import Register, UuidTable
from placement.storage.uuid_rows import LENGTH, uuid_rows
from tests.extent import examples

#: some are not spelled as usual
UUIDS = [str(uuid.UUID(int=n << 70)) if n % 5 else f"odd {n}" for n in range(60)]


@pytest.fixture(autouse=True, params=[3, 1000])
def _many(request, monkeypatch):
    """Lay indexes out anew after few changes, or never."""
    monkeypatch.setattr(register, "_MANY", request.param)


def table_of(uuids):
    return UuidTable.of_rows(*uuid_rows(uuids))


def a_register(providers):
    ids = sorted(providers)
    table = table_of([providers[key] for key in ids])
    return Register.of(np.array(ids, np.int64), table)


steps = st.lists(
    st.tuples(st.sets(st.integers(1, 59), max_size=6), st.sets(st.integers(1, 59), max_size=6))
)


@settings(max_examples=examples(40, 200), deadline=None)
@given(first=st.sets(st.integers(1, 59)), steps=steps)
def test_a_changed_register_knows_who_is_there(first, steps):
    there = {key: UUIDS[key] for key in first}
    found = a_register(there)
    for added, removed in steps:
        gone = [key for key in removed if key in there]
        new = [(key, UUIDS[key]) for key in sorted(added) if key not in there]
        before, knew = found, dict(there)
        found = found.changed(new, gone)
        there = {key: text for key, text in there.items() if key not in gone} | dict(new)
        check(found, there)
        check(before, knew)


def check(found, there):
    assert dict(found.slot_of_id) == {key: found.slot_of_id[key] for key in there}
    assert len(found.slot_of_id) == len(there)
    slots = found.slot_of_id.slots(np.arange(60))
    for key, text in enumerate(UUIDS):
        slot = found.slot_of_uuid.get(text)
        if key in there:
            assert found.slot_of_id[key] == slot == slots[key]
            assert (int(found.ids[slot]), found.uuids[slot]) == (key, text)
        else:
            assert (slot, slots[key]) == (None, -1)
            assert key not in found.slot_of_id


def test_a_uuid_may_come_back_with_another_id():
    found = a_register({1: UUIDS[1]}).changed([], [1]).changed([(7, UUIDS[1])], [])

    assert found.slot_of_uuid[UUIDS[1]] == found.slot_of_id[7] == 1


def test_an_unknown_provider_has_no_slot():
    found = a_register({1: UUIDS[1]})

    with pytest.raises(KeyError):
        found.slot_of_uuid[UUIDS[2]]
    assert found.slot_of_uuid.get("short") is None


def test_a_table_of_uuids_that_grows_leaves_the_old_one_as_it_was():
    old = table_of([f"{number:036}" for number in range(256)])

    new = old.with_more(["x" * LENGTH])

    assert old.rows.shape == (256, LENGTH)
    assert new.rows[255].tobytes() == f"{255:036}".encode()
    assert new.rows[256].tobytes() == b"x" * LENGTH
    assert new.even


def test_a_table_says_when_a_uuid_has_another_length():
    usual = table_of(["x" * LENGTH])

    assert not usual.with_more(["short"]).even
    assert not table_of(["x" * (LENGTH + 1)]).with_more(["x" * LENGTH]).even
    assert usual.with_more([]).even


def test_two_tables_that_grow_from_one_have_their_own_uuids():
    old = table_of([f"{number:036}" for number in range(3)]).with_more([f"{3:036}"])

    one, other = old.with_more(["a" * LENGTH]), old.with_more(["b" * LENGTH])

    assert [table[4] for table in (one, other)] == ["a" * LENGTH, "b" * LENGTH]
    assert len(old) == 4


def test_uuids_of_another_length_are_found_at_their_slots():
    usual = "x" * LENGTH

    table = table_of(["first", usual]).with_more([usual, "more", "last"])

    assert list(table) == ["first", usual, usual, "more", "last"]


def test_a_uuid_of_another_length_is_told_from_others():
    table = table_of(["first", "x" * LENGTH])
    slots = np.array([0, 1], np.int32)

    said = [
        table.are_at(slots, uuid_rows(["y" * LENGTH if one is None else one, "x" * LENGTH]))
        for one in ("first", "fifth", None)
    ]
    assert said == [True, False, False]
