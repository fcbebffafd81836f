"""Positions of the change feed as texts for clients."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.storage.feed import feed_position
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
