"""The order in which a claim tries trees."""

import collections

import numpy as np
import pytest

from placement.extensions.claims.choice import in_order_of, in_random_order

KEYS = {
    "none": [],
    "few": [3, 1, 2, 1],
    "many": [(number * 7919) % 1009 for number in range(1000)],
    "many alike": [number % 3 for number in range(1000)],
    "all alike": [1] * 1000,
    "some without": [np.inf if number % 2 else number for number in range(1000)],
}


@pytest.mark.parametrize("keys", [np.array(keys, float) for keys in KEYS.values()], ids=KEYS)
def test_equal_keys_stay_in_their_order(keys):
    found = np.concatenate([np.array([], int), *in_order_of(keys, None)])
    assert found.tolist() == np.argsort(keys, kind="stable").tolist()


@pytest.mark.parametrize("keys", [np.array(keys, float) for keys in KEYS.values()], ids=KEYS)
def test_chance_decides_only_among_equal_keys(keys):
    found = np.concatenate([np.array([], int), *in_order_of(keys, np.random.default_rng(1))])
    assert sorted(found.tolist()) == list(range(len(keys)))
    assert keys[found].tolist() == sorted(keys.tolist())


def test_chance_does_decide_among_equal_keys():
    keys = np.ones(1000)
    first = {next(in_order_of(keys, np.random.default_rng(seed)))[0] for seed in range(20)}
    assert len(first) > 10


@pytest.mark.parametrize("count", [0, 5, 256, 257, 1000])
def test_in_a_random_order_all_come_once(count):
    found = np.concatenate(list(in_random_order(count, np.random.default_rng(1))))
    assert sorted(found.tolist()) == list(range(count))


def test_in_a_random_order_any_may_be_first():
    first = collections.Counter(
        int(next(in_random_order(300, np.random.default_rng(seed)))[0]) // 30
        for seed in range(2000)
    )
    assert len(first) == 10
    assert max(first.values()) < 2 * min(first.values())
