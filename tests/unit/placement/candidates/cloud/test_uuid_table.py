"""Uuids as rows of bytes."""

from placement.candidates.cloud.uuid_table import LENGTH, UuidTable
from placement.storage.uuid_rows import uuid_rows


def table_of(uuids):
    return UuidTable.of_rows(*uuid_rows(uuids))


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
