"""The search finds an order if one exists, and none otherwise."""

import pytest

from tests.concurrency.history import Call, Explained, Unexplained, explain
from tests.concurrency.model import (
    CONFLICT,
    DONE,
    IN_USE,
    KEPT,
    MISPLACED,
    MISSING,
    NO_CANDIDATE,
    REFUSED,
    Change,
    Claim,
    ReadConsumer,
    ReadPlace,
    ReadProvider,
    ReadUsage,
    Release,
    Reshape,
    Restock,
    Search,
    State,
    Wish,
    Write,
    WriteTree,
)

START = State.fresh(providers=2, consumers=2, total=2)


def take(consumer, generation, *holds):
    return Write((Wish(consumer, generation, holds),))


def one_by_one(*steps):
    """Return a history of one client, from (operation, result)."""
    return [Call(0, 2 * n, 2 * n + 1, *step) for n, step in enumerate(steps)]


def at_once(*steps):
    """Return a history of one concurrent client for each (operation, result)."""
    return [Call(n, 0, 1, *step) for n, step in enumerate(steps)]


GOOD = {
    "nothing happened": [],
    "allocations add up": one_by_one(
        (take(0, None, (0, 1)), DONE),
        (take(1, None, (0, 1), (1, 2)), DONE),
        (ReadUsage(0), (3, 2)),
        (Search(), ()),
    ),
    "the same in another order": at_once(
        (take(0, None, (0, 1)), DONE), (ReadUsage(0), (1, 0)), (ReadUsage(0), (2, 1))
    ),
    "one of two gets the rest": at_once(
        (take(0, None, (0, 2)), DONE), (take(1, None, (0, 1)), REFUSED)
    ),
    "the later writer gets a conflict": at_once(
        (take(0, None, (0, 1)), DONE), (take(0, None, (1, 1)), CONFLICT)
    ),
    "a consumer is created, deleted and created again": one_by_one(
        (take(0, None, (0, 1)), DONE),
        (take(0, 1, (0, 2)), DONE),
        (ReadConsumer(0), (2, ((0, 3, 2),))),
        (Release(0), DONE),
        (Release(0), MISSING),
        (ReadConsumer(0), (None, ())),
        (take(0, None, (0, 1)), DONE),
        (take(0, 1), DONE),
        (ReadProvider(0), (5, 2)),
    ),
    "a new consumer without allocations exists but can not be read": one_by_one(
        (take(0, None), DONE),
        (ReadConsumer(0), (None, ())),
        (Release(0), MISSING),
        (take(0, None, (0, 1)), CONFLICT),
        (take(0, 0), DONE),
        (take(0, 0, (0, 1)), DONE),
        (ReadConsumer(0), (1, ((0, 2, 1),))),
    ),
    "a usage above the capacity may stay but not grow": one_by_one(
        (take(0, None, (0, 2)), DONE),
        (Restock(0, 2, 1), DONE),
        (take(0, 1, (0, 2)), DONE),
        (take(1, None, (0, 1)), REFUSED),
        (Search(), ((1, 2, 0),)),
    ),
    "a reshape moves the allocations": one_by_one(
        (take(0, None, (0, 2)), DONE),
        (Reshape(0, 1, (2, 1), 2, ()), IN_USE),
        (Reshape(0, 1, (2, 1), 2, (Wish(0, 1, ((1, 2),)),)), DONE),
        (ReadProvider(0), (3, None)),
        (ReadProvider(1), (4, 2)),
        (take(1, None, (0, 1)), REFUSED),
    ),
    "a tree is written as a whole": one_by_one(
        (take(0, None, (0, 2)), DONE),
        (WriteTree(0, (Change(1, 1, 0, 5),), ()), (DONE, ((1, 2),))),
        (ReadPlace(1), (2, 0, 0)),
        (WriteTree(1, (Change(1, 2, None, KEPT),), ()), (DONE, ((1, 2),))),
        (WriteTree(1, (Change(1, 2, 0, KEPT),), ()), MISPLACED),
        (WriteTree(0, (Change(0, 2, 1, KEPT), Change(1, 2, 0, KEPT)), ()), MISPLACED),
        (WriteTree(1, (Change(0, 2, 1, None),), ()), IN_USE),
        (
            WriteTree(1, (Change(0, 2, 1, None),), (Wish(0, 1, ((1, 5),)),)),
            (DONE, ((0, 3), (1, 3))),
        ),
        (ReadPlace(0), (3, 1, 1)),
        (ReadProvider(0), (3, None)),
        (WriteTree(1, (), (Wish(1, None, ((1, 1),)),)), REFUSED),
        (WriteTree(0, (Change(0, 2, None, 9),), ()), CONFLICT),
    ),
    "a claim is repeated, and refused to the next": one_by_one(
        (Claim(0, 0, 2, 0), (DONE, 1, 0)),
        (Claim(0, 0, 2, 0), (DONE, 1, 0)),
        (Claim(1, 0, 1), NO_CANDIDATE),
        (Claim(0, 1, 2), CONFLICT),
        (Claim(0, 0, 1), CONFLICT),
        (ReadProvider(0), (2, 2)),
    ),
    "an unanswered write took effect": [
        Call(0, 0, None, take(0, None, (0, 1))),
        Call(1, 5, 6, ReadUsage(0), (1, 0)),
        Call(1, 7, 8, ReadUsage(0), (2, 1)),
    ],
    "an unanswered write never took effect": [
        Call(0, 0, None, take(0, None, (0, 1))),
        Call(1, 5, 6, ReadUsage(0), (1, 0)),
    ],
}
BAD = {
    "more is allocated than the capacity": at_once(
        (take(0, None, (0, 2)), DONE), (take(1, None, (0, 1)), DONE)
    ),
    "nothing fits although something does": one_by_one((Claim(0, 0, 1), NO_CANDIDATE)),
    "a repeated claim takes twice": one_by_one(
        (Claim(0, 0, 1, 0), (DONE, 1, 0)),
        (Claim(0, 0, 1, 0), (DONE, 1, 0)),
        (ReadUsage(0), (3, 2)),
    ),
    "an answered write is lost": one_by_one(
        (take(0, None, (0, 1)), DONE), (ReadConsumer(0), (None, ()))
    ),
    "a result is older than its request": [
        Call(0, 0, 1, take(0, None, (0, 1)), DONE),
        Call(1, 2, 3, Search(), ((0, 2, 0), (1, 2, 0))),
    ],
    "two create the same consumer": at_once(
        (take(0, None, (0, 1)), DONE), (take(0, None, (1, 1)), DONE)
    ),
    "one update is lost": at_once(
        (Restock(0, 1, 5), DONE), (Restock(0, 1, 6), DONE), (ReadProvider(0), (2, 6))
    ),
    "a conflict without another writer": one_by_one((take(0, None, (0, 1)), CONFLICT)),
    "an error although the amount fits": at_once(
        (take(0, None, (0, 1)), DONE), (take(1, None, (0, 1)), REFUSED)
    ),
    "a partial write is visible": at_once(
        (take(0, None, (0, 1), (1, 1)), DONE),
        (Search(), ((0, 2, 1), (1, 2, 0))),
    ),
    "two see two writes in different orders": [
        Call(0, 0, 9, take(0, None, (0, 1)), DONE),
        Call(1, 0, 9, take(1, None, (1, 1)), DONE),
        Call(2, 1, 2, ReadUsage(0), (2, 1)),
        Call(2, 3, 4, ReadUsage(1), (1, 0)),
        Call(3, 1, 2, ReadUsage(1), (2, 1)),
        Call(3, 3, 4, ReadUsage(0), (1, 0)),
    ],
    "time goes back": one_by_one(
        (Restock(0, 1, 5), DONE), (ReadProvider(0), (2, 5)), (ReadProvider(0), (1, 2))
    ),
    "an unanswered write is undone": [
        Call(0, 0, None, take(0, None, (0, 1))),
        Call(1, 5, 6, ReadUsage(0), (2, 1)),
        Call(1, 7, 8, ReadUsage(0), (1, 0)),
    ],
    "half of a tree is written": one_by_one(
        (
            WriteTree(0, (Change(0, 1, None, 5), Change(1, 1, 0, 5)), ()),
            (DONE, ((0, 2), (1, 2))),
        ),
        (ReadPlace(1), (2, None, 1)),
    ),
    "a reshape loses an allocation": one_by_one(
        (take(0, None, (0, 1)), DONE), (Reshape(0, 1, (2, 1), 2, ()), DONE)
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_possible_history_is_explained(name):
    found = explain(GOOD[name], START)
    assert isinstance(found, Explained), str(found)


@pytest.mark.parametrize("name", BAD)
def test_an_impossible_history_is_not(name):
    assert isinstance(explain(BAD[name], START), Unexplained)


def test_a_call_that_can_not_follow_is_reported():
    found = explain(BAD["an answered write is lost"], START)
    assert len(found.order) == 1
    assert [expected for _, expected in found.expected] == [(1, ((0, 2, 1),))]
    assert found.order + found.rest == BAD["an answered write is lost"]
    assert all(str(call) in str(found) for call in BAD["an answered write is lost"])


def test_an_order_keeps_the_order_of_calls_that_did_not_overlap():
    calls = GOOD["a consumer is created, deleted and created again"]
    assert explain(reversed(calls), START).order == calls


@pytest.mark.parametrize(("generation", "verdict"), [(91, Explained), (90, Unexplained)])
def test_many_concurrent_calls_are_explained_quickly(generation, verdict):
    """Six clients allocate and release; without the cache there are 6! orders each time."""
    start = State.fresh(providers=1, consumers=6, total=100)
    calls = []
    for turn in range(15):
        for client in range(6):
            began = 10 * turn
            calls.append(Call(client, began, began + 4, take(client, None, (0, 1)), DONE))
            calls.append(Call(client, began + 5, began + 9, Release(client), DONE))
    calls.append(Call(9, 1000, 1001, ReadUsage(0), (generation, 0)))
    assert isinstance(explain(calls, start), verdict)
