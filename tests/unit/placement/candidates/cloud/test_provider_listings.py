"""What lists say of providers is remembered until they change."""

import datetime

import numpy as np
import pytest

from placement.candidates.cloud import prepared_texts
from placement.candidates.cloud.prepared_texts import FORMS, Item, Listing, Listings


def slots(*numbers):
    return np.array(numbers, np.int32)


def item(number, word="at first"):
    return Item(f"{number} {word}".encode(), f"2026-01-01 00:{number % 60:02}:00")


def filled(numbers):
    listing = Listing()
    listing.add({number: item(number) for number in numbers})
    return listing


def texts(listing, wanted, joins=True):
    items, missing = listing.take(np.asarray(wanted, np.int32), joins)
    assert missing == []
    return b", ".join(each.text for each in items).decode().split(", ")


@pytest.mark.parametrize("count", [1, 15, 16, 17, 255, 256, 257, 600])
def test_all_that_was_added_comes_in_order(count):
    listing = filled(range(count))
    wanted = [f"{number} at first" for number in range(count)]
    for joins in (True, True, False):
        assert texts(listing, range(count), joins) == wanted


def test_many_come_as_one_the_same_the_second_time():
    listing = filled(range(300))
    (first, second), _ = listing.take(np.arange(300, dtype=np.int32))
    again, _ = listing.take(np.arange(300, dtype=np.int32))
    assert [each.text is one.text for each, one in zip(again, (first, second), strict=True)] == [
        True,
        True,
    ]
    assert first.newest == max(item(number).newest for number in range(256))


def test_other_slots_of_a_block_are_another_text():
    listing = filled(range(100))
    assert texts(listing, range(50)) == [f"{number} at first" for number in range(50)]
    assert texts(listing, range(1, 51)) == [f"{number} at first" for number in range(1, 51)]


def test_nothing_is_an_empty_list():
    assert Listing().take(slots()) == ([], [])


def test_missing_slots_are_named():
    listing = filled(range(20))
    assert listing.take(slots(5, 21, 600))[1] == [21, 600]


def test_a_provider_that_changed_is_missing_from_then_on():
    old = filled(range(300))
    texts(old, range(300))
    new = old.forgetting([7])
    assert new.take(np.arange(300, dtype=np.int32))[1] == [7]
    new.add({7: item(7, "changed")})
    assert texts(new, range(300))[7] == "7 changed"
    assert texts(old, range(300))[7] == "7 at first"


def test_a_late_reader_of_the_old_listing_adds_nothing_to_the_new_one():
    for known in ([], range(3)):
        old = filled(known)
        new = old.forgetting([7])
        old.add({7: item(7)})
        assert new.take(slots(7))[1] == [7]


def test_a_late_reader_adds_what_did_not_change():
    old = filled(range(3))
    new = old.forgetting([300])
    old.add({5: item(5)})
    items, missing = new.take(slots(1, 5))
    assert [each.text for each in items if each.text != b"1 at first"] in ([], [b"5 at first"])
    assert missing in ([], [5])


def test_moments_may_be_unknown():
    listing = Listing()
    moment = datetime.datetime(2026, 1, 1)
    listing.add({number: Item(b"", None) for number in range(30)})
    (whole,), _ = listing.take(np.arange(30, dtype=np.int32))
    assert whole.newest is None
    listing.add({30: Item(b"", moment)})
    (whole,), _ = listing.take(np.arange(31, dtype=np.int32))
    assert whole.newest == moment


def test_a_listing_is_bounded(monkeypatch):
    monkeypatch.setattr(prepared_texts, "REMEMBERED", 10)
    listing = filled(range(8))
    listing.add({number: item(number) for number in range(20, 25)})
    assert listing.count == 5
    assert listing.take(slots(1, 20))[1] == [1]


def test_few_forms_are_remembered():
    listings = Listings()
    for form in range(FORMS + 1):
        listings.of(form).add({1: item(1)})
    assert [listings.of(form).count for form in range(FORMS, 0, -1)] == [1] * FORMS
    assert listings.of(0).count == 0


def test_all_forms_forget_what_changed():
    listings = Listings()
    for form in "ab":
        listings.of(form).add({1: item(1), 2: item(2)})
    new = listings.forgetting([1])
    assert [new.of(form).count for form in "ab"] == [1, 1]
    assert Listings().forgetting([1]).of("a").count == 0


def test_a_new_round_begins_for_all_that_was_made_of_it():
    first = Listings()
    first.of("a").add({1: item(1), 2: item(2)})
    second = first.forgetting([1])
    first.forget()
    assert [first.of("a").count, second.of("a").count] == [0, 0]
    second.of("a").add({2: item(2)})
    assert second.of("a").count == 1
