"""An update goes on while others get in its way: at once, then after pauses, until a deadline."""

import pytest

from compute import config, exceptions
from compute.resource_tracker.reporting.patience import ATTEMPTS, Patience

CONFLICTS = [
    exceptions.ResourceProviderUpdateConflict(uuid="u", generation=1, error="e"),
    exceptions.PlacementReshapeConflict(error="e"),
]


class Clock:
    """Time passes only while somebody sleeps, and by `each` at each try."""

    def __init__(self, each=0.1):
        self.now, self.pauses, self.each = 0.0, [], each

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds

    def patience(self, seconds):
        return Patience(seconds, self.sleep, lambda: self.now)

    def attempt(self, *outcomes):
        """One that raises all of `outcomes` but the last, in turn; the last one for ever."""
        left = list(outcomes)
        self.tries = 0

        def attempt():
            self.tries += 1
            self.now += self.each
            outcome = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        return attempt


@pytest.fixture
def clock():
    return Clock()


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_the_first_tries_come_at_once(clock, conflict):
    attempt = clock.attempt(*[conflict] * (ATTEMPTS - 1), "done")
    assert clock.patience(0).until_undisturbed(attempt, "n") == "done"
    assert (clock.tries, clock.pauses) == (4, [])


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_later_ones_come_after_pauses_of_different_length(clock, conflict):
    attempt = clock.attempt(*[conflict] * 40, "done")
    assert clock.patience(60).until_undisturbed(attempt, "n") == "done"
    assert len(clock.pauses) == 41 - ATTEMPTS
    assert 0 <= min(clock.pauses) < max(clock.pauses) <= 0.5
    assert max(clock.pauses[:2]) <= 0.1
    assert len(set(clock.pauses)) == len(clock.pauses)


@pytest.mark.parametrize("conflict", CONFLICTS)
@pytest.mark.parametrize("seconds", [1, 60])
def test_no_try_is_begun_after_the_deadline(clock, conflict, seconds):
    with pytest.raises(type(conflict)):
        clock.patience(seconds).until_undisturbed(clock.attempt(conflict), "n")
    assert seconds - 1 < clock.now < seconds + clock.each
    assert clock.tries > ATTEMPTS


def test_tries_that_take_longer_than_the_deadline_are_still_four():
    clock = Clock(each=100)
    with pytest.raises(exceptions.PlacementReshapeConflict):
        clock.patience(60).until_undisturbed(clock.attempt(CONFLICTS[1]), "n")
    assert (clock.tries, clock.pauses) == (ATTEMPTS, [])


def test_without_any_time_there_are_four_tries(clock):
    with pytest.raises(exceptions.PlacementReshapeConflict):
        clock.patience(0).until_undisturbed(clock.attempt(CONFLICTS[1]), "n")
    assert (clock.tries, clock.pauses) == (ATTEMPTS, [])


def test_what_somebody_else_created_is_looked_for_again_four_times_in_all(clock):
    taken = exceptions.ResourceProviderCreationFailed(name="n")
    assert clock.patience(60).until_undisturbed(clock.attempt(taken, "found"), "n") == "found"
    with pytest.raises(exceptions.ResourceProviderCreationFailed):
        clock.patience(60).until_undisturbed(clock.attempt(taken), "n")
    assert clock.tries == ATTEMPTS


@pytest.mark.parametrize(
    "failure", [exceptions.ReshapeFailed(error="e"), exceptions.ReshapeNeeded(), ValueError("v")]
)
def test_other_failures_end_it_at_once(clock, failure):
    with pytest.raises(type(failure)):
        clock.patience(60).until_undisturbed(clock.attempt(failure), "n")
    assert clock.tries == 1


def test_the_time_is_an_option():
    conf = config.load(files=[], environ={})
    assert Patience.configured(conf).seconds == 60
    conf.set_override("conflict_retry_time", 5, "berth")
    assert Patience.configured(conf).seconds == 5
