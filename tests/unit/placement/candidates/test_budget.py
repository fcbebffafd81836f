"""The budget of a search: time, memory, and whether anybody waits."""

import itertools
from types import SimpleNamespace

import pytest

from placement.candidates.budget import (
    Abandoned,
    Allowance,
    Budget,
    OutOfMemory,
    OutOfTime,
    TooManyToCount,
)
from placement.candidates.ended_search import error_of, what_ended
from placement.candidates.trees.tree_solutions import check_size, text_size


class Clock:
    """Seconds that go on when told."""

    def __init__(self):
        self.now, self.asked = 100.0, 0

    def __call__(self):
        self.asked += 1
        return self.now


def test_time_is_over_when_it_is_over():
    clock = Clock()
    budget = Budget(10, None, clock=clock)
    clock.now += 9.9
    budget.look()
    clock.now += 0.1

    with pytest.raises(OutOfTime):
        budget.look()


def test_a_part_has_its_share_of_the_time_that_is_left():
    clock = Clock()
    budget = Budget(10, None, clock=clock)
    clock.now += 4
    assert budget.share(3).seconds == pytest.approx(2)
    clock.now += 10
    assert budget.share(3).seconds == 0
    assert Budget(None, None, clock=clock).share(3).seconds is None


def test_without_a_bound_it_is_never_over():
    clock = Clock()
    budget = Budget(None, None, clock=clock)
    clock.now += 10**9

    budget.look()
    budget.keep(10**18)


def test_states_are_remembered_up_to_a_bound(monkeypatch):
    monkeypatch.setattr("placement.candidates.budget._MOST_REMEMBERED", 2)
    budget = Budget(None, None)
    assert [budget.remember() for _ in range(3)] == [True, True, False]

    budget.forget(1)
    assert [budget.remember() for _ in range(2)] == [True, False]


def test_an_allowance_is_used_up():
    allowance = Allowance(2)
    allowance.use()
    allowance.use()
    with pytest.raises(TooManyToCount):
        allowance.use()


def test_steps_look_at_the_clock_now_and_then():
    clock = Clock()
    budget = Budget(10, None, clock=clock)

    for _ in range(20_000):
        budget.spend()

    assert clock.asked == 11


def test_the_client_is_asked_for_ten_times_a_second_at_most():
    clock, asked = Clock(), []
    budget = Budget(None, None, client_left=lambda: bool(asked.append(clock.now)), clock=clock)

    for _ in range(100):
        clock.now += 0.01
        budget.look()

    assert 8 <= len(asked) <= 10


def test_a_client_that_left_ends_the_search():
    budget = Budget(None, None, client_left=lambda: True, clock=itertools.count().__next__)

    with pytest.raises(Abandoned):
        budget.look()


def test_memory_is_kept_up_to_the_bound():
    budget = Budget(None, 100)
    budget.keep(60)
    budget.keep(40)

    with pytest.raises(OutOfMemory):
        budget.keep(1)


def test_the_option_is_named_where_it_ended_the_search_and_nowhere_else():
    budget = Budget(3, None, clock=Clock())
    budget.shorten(3)
    assert what_ended(OutOfTime(), budget) == "after 3 seconds ([berth]search_time_limit)"
    budget.shorten(0.1)
    assert what_ended(OutOfTime(), budget) == "after 0.1 seconds, which were all that it had"


def test_many_seconds_are_told_as_a_plain_number():
    budget = Budget(300, None)
    budget.shorten(123.456)
    assert what_ended(OutOfTime(), budget) == "after 123.46 seconds, which were all that it had"


class Tree:
    """A tree with more combinations than a search can look through."""

    root = None

    def options(self):
        return [("_a", 1), ("_b", 12), ("_c", 12), ("", 12)]

    def combinations(self):
        return 10**15


def test_what_was_too_much_to_look_through_is_told():
    assert str(error_of(OutOfTime(Tree(), 7), None, Budget(3, None))) == (
        "The search for allocation candidates was ended after 3 seconds "
        "([berth]search_time_limit), before it was finished. In a tree there are about 10^15 "
        "combinations to look through: 12 providers for each of 3 groups or classes (_b, _c, "
        "without suffix); 1 provider for group _a. There are at least 7 candidates. Ask for fewer "
        "groups, for groups that fewer providers can serve, or with a limit."
    )


class Alike(list):
    """Trees that are alike, with so many candidates each; a stream of these alone."""

    def __init__(self, trees, candidates, repeats=False):
        super().__init__(range(trees))
        self.candidates, self.repeats, self.solutions = candidates, repeats, self

    def families(self):
        return [self]

    def combinations(self):
        return self.candidates

    def count(self, allowance):
        return self.candidates


@pytest.mark.parametrize(
    ("alike", "count"),
    [
        (Alike(4, 10), 40),
        # several trees may have the same ones
        (Alike(4, 30, repeats=True), 30),
    ],
)
def test_a_search_for_more_than_can_be_kept_ends_before_it_begins(alike, count):
    budget = Budget(None, 25 * 50)
    check_size(alike, budget, 25)

    with pytest.raises(OutOfMemory) as ended:
        check_size(alike, budget, 50)

    assert ended.value.count == count


def test_a_candidate_takes_more_the_more_classes_it_has():
    few, more = (
        SimpleNamespace(variables=[SimpleNamespace(demand=demand)])
        for demand in ({1: 1}, {1: 1, 2: 1})
    )
    assert text_size(few) < text_size(more)
