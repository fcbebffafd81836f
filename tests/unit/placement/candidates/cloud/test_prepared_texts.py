"""Ready-made texts: written once, joined by the block, forgotten where something changed."""

import numpy as np
import pytest

from placement.candidates.cloud.prepared_texts import (
    SEPARATOR,
    Item,
    Listing,
    PreparedTexts,
    in_blocks,
)

SIZE = 600


class Writer:
    """Writes a slot's number, with the edition at hand, and remembers what it was asked for."""

    def __init__(self):
        self.edition = 1
        self.asked = []

    def __call__(self, slots):
        self.asked += slots
        return [f"{slot}.{self.edition}".encode() for slot in slots]


@pytest.fixture
def write():
    return Writer()


def everything(size=SIZE):
    return np.arange(size, dtype=np.int32)


def whole(size=SIZE):
    return in_blocks(np.ones(size, np.bool_))


def texts_of(texts, slots, counts, write):
    return SEPARATOR.join(texts.of(np.array(slots, np.int32), counts, write)).split(SEPARATOR)


def test_all_of_a_block_comes_as_one_text(write):
    texts = PreparedTexts.unwritten(SIZE)

    pieces = texts.of(everything(), whole(), write)

    assert [piece.count(b".") for piece in pieces] == [256, 256, SIZE - 512]
    assert SEPARATOR.join(pieces) == SEPARATOR.join(b"%d.1" % n for n in range(SIZE))


def test_some_of_a_block_come_one_by_one(write):
    assert PreparedTexts.unwritten(SIZE).of(np.array([3, 300, 599]), whole(), write) == [
        b"3.1",
        b"300.1",
        b"599.1",
    ]


def test_what_can_never_be_wanted_does_not_keep_a_block_from_being_whole(write):
    roots = np.arange(SIZE) % 2 == 0

    pieces = PreparedTexts.unwritten(SIZE).of(np.flatnonzero(roots), in_blocks(roots), write)

    assert len(pieces) == 3


@pytest.mark.parametrize("slots", [range(SIZE), [7, 8, 500]])
def test_nothing_is_written_twice(write, slots):
    texts = PreparedTexts.unwritten(SIZE)
    first = texts_of(texts, slots, whole(), write)

    assert texts_of(texts, slots, whole(), write) == first
    assert sorted(write.asked) == list(slots)


def test_a_change_is_seen_by_the_new_texts_and_not_by_the_old(write):
    old = PreparedTexts.unwritten(SIZE)
    texts_of(old, everything(), whole(), write)
    write.edition = 2

    new = old.forgetting([300], SIZE)

    assert texts_of(new, everything(), whole(), write)[299:302] == [b"299.1", b"300.2", b"301.1"]
    assert texts_of(old, everything(), whole(), write)[300] == b"300.1"
    assert write.asked.count(300) == 2
    assert len(write.asked) == SIZE + 1


def test_growing_makes_a_whole_block_incomplete_until_it_is_written(write):
    texts = PreparedTexts.unwritten(257)
    texts_of(texts, everything(257), whole(257), write)

    grown = texts.forgetting([257, 600], 601)

    assert texts_of(grown, everything(601), whole(601), write) == [b"%d.1" % n for n in range(601)]
    assert len(write.asked) == 601


def test_texts_of_any_order_keep_it(write):
    assert PreparedTexts.unwritten(SIZE).each([500, 1, 500], write) == [b"500.1", b"1.1", b"500.1"]


@pytest.mark.parametrize("joins", [True, False])
def test_a_listing_finds_what_it_has_in_every_block(joins):
    listing = Listing()
    listing.add({slot: Item(b"%d" % slot, None) for slot in range(1, SIZE, 2)})

    found, missing = listing.take(np.arange(1, SIZE, 2), joins=joins)

    assert missing == []
    assert SEPARATOR.join(item.text for item in found).split(SEPARATOR) == [
        b"%d" % slot for slot in range(1, SIZE, 2)
    ]
