"""Positions of the change feed as texts for clients."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.storage.feed import feed_lanes, feed_position
from placement.storage.feed.change_feed import Cursor

MARK = st.integers(0, 2**48 - 1)
CURSORS = st.dictionaries(
    st.integers(1, 2**48), st.tuples(st.integers(0, 2**55), MARK), max_size=40
).map(Cursor)


@given(CURSORS)
def test_a_position_says_where_its_cursor_is(cursor: Cursor) -> None:
    text = feed_position.written(cursor)
    assert feed_position.parsed(text) == cursor
    assert re.fullmatch("[A-Za-z0-9_-]+", text)


@given(CURSORS)
def test_the_order_of_the_lanes_does_not_matter(cursor: Cursor) -> None:
    other = Cursor(dict(reversed(cursor.lanes.items())))
    assert feed_position.written(other) == feed_position.written(cursor)


@given(CURSORS, st.data())
def test_a_damaged_position_is_refused(cursor: Cursor, data: st.DataObject) -> None:
    text = feed_position.written(cursor)
    at = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from(["", "A", "z", "-", "=", " ", "\n", "\0", "é", "😀"]))
    damaged = text[:at] + letter + text[at + 1 :]
    if damaged != text:
        with pytest.raises(ValueError, match="no position"):
            feed_position.parsed(damaged)


@given(st.text() | st.from_regex("[A-Za-z0-9_-]{0,100}", fullmatch=True))
def test_a_foreign_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no position"):
        feed_position.parsed(text)


def test_a_long_foreign_text_is_refused_soon() -> None:
    with pytest.raises(ValueError, match="no position"):
        feed_position.parsed("A" * 1_000_000)


class Failing:
    """A database with too many lanes, whose first write is tried again."""

    is_read_only = False

    def read(self, operation):
        return operation(None)

    def write(self, operation):
        return [operation(None) for _ in range(2)][-1]


def test_an_end_of_lanes_knows_that_another_one_failed_before(monkeypatch) -> None:
    """So it leaves those alone that another node of a cluster uses."""
    many = Cursor(dict.fromkeys(range(1, feed_lanes.MOST_LANES + 2), (0, 0)))
    told = []
    monkeypatch.setattr(feed_position.change_feed, "start", lambda connection: many)
    monkeypatch.setattr(
        feed_lanes, "end_lanes", lambda connection, is_repeated: told.append(is_repeated) or 0
    )

    assert feed_position.ask(Failing(), lambda connection, cursor: cursor) == many
    assert told == [False, True]
