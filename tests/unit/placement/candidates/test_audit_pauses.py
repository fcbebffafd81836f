"""Audits let other threads through."""

import pytest

from placement.candidates.live.audit_schedule import AuditTimes, Pauses
from tests.clock import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def pauses(clock):
    """Pauses of an audit, and what was waited for."""
    waited = []
    times = AuditTimes(0.06, clock)
    return Pauses(times, waited.append), times, waited


def test_an_audit_beside_requests_pauses_for_a_part_of_the_interval_at_most(pauses):
    audit, times, waited = pauses
    for _ in range(100):
        audit.rest()
    assert 0 < sum(waited) <= times.interval / 3 + max(waited)


def test_the_pauses_of_the_next_audit_last_as_long_as_it_does(pauses):
    audit, _, waited = pauses
    for _ in range(100):
        audit.rest()
    before = sum(waited)
    waited.clear()
    audit.begin()
    for _ in range(100):
        audit.rest()
    assert len(waited) == 100
    assert sum(waited) == pytest.approx(before)


def test_an_audit_that_a_search_or_the_end_of_the_worker_waits_for_has_no_pause(pauses, clock):
    audit, times, waited = pauses
    times.unwanted()
    audit.rest()
    times.wanted()
    clock.now += 61
    times.wanted()
    audit.rest()
    assert waited == []


@pytest.mark.parametrize("took", [0, 1, 10, 25])
def test_the_next_audit_begins_so_that_it_ends_before_a_search_has_to_wait(clock, took):
    times = AuditTimes(60, clock)
    for _ in range(20):
        clock.now += times.until_next() + took
        assert not times.is_overdue
        times.renewed(clock.now - took, is_beside=True)


def test_one_that_is_much_slower_than_those_before_ends_in_time_as_well(clock):
    times = AuditTimes(60, clock)
    for took in ([0.5] * 30 + [14]) * 20:
        clock.now += times.until_next() + took
        assert not times.is_overdue
        times.renewed(clock.now - took, is_beside=True)


def test_an_audit_that_was_hurried_says_little_about_the_next(clock):
    times = AuditTimes(60, clock)
    clock.now += 25
    times.renewed(clock.now - 25)
    clock.now += 60
    times.renewed(clock.now - 2)
    clock.now += times.until_next() + 25
    assert not times.is_overdue


def test_workers_that_began_together_have_their_first_audits_at_other_times(clock):
    firsts = sorted(AuditTimes(60, clock).until_next() for _ in range(400))
    assert firsts[0] < 9
    assert firsts[-1] > 25
    assert firsts[300] - firsts[100] > 5


def test_short_audits_are_few(clock):
    """Each is a little slower for the searches beside it."""
    times = AuditTimes(60, clock)
    for _ in range(5):
        clock.now += times.until_next() + 1
        times.renewed(clock.now - 1, is_beside=True)
    begun = clock.now
    for _ in range(100):
        clock.now += times.until_next() + 1
        times.renewed(clock.now - 1, is_beside=True)
    assert 39 < (clock.now - begun) / 100 < 42


def test_audits_that_take_longer_than_the_interval_or_fail_leave_time_between_them(clock):
    times = AuditTimes(60, clock)
    clock.now += 90
    times.renewed(clock.now - 90)
    waits = [times.until_next() for _ in range(20)]
    clock.now += 1000
    waits += [times.until_next() for _ in range(20)]
    assert min(waits) >= 5
    # workers that began at the same time don't go on at the same time
    assert len(set(waits)) == len(waits)


def test_an_audit_that_ended_early_says_little_about_the_pauses_of_the_next(pauses):
    audit, _, waited = pauses
    for rests in (1000, 3, 1000):
        waited.clear()
        audit.begin()
        for _ in range(rests):
            audit.rest()
    assert len(waited) > 400


def test_one_that_is_much_longer_than_those_before_ends_in_time(clock):
    """Its pauses end when the time is up, not its work."""

    def wait(seconds):
        clock.now += seconds

    times = AuditTimes(60, clock)
    audit, ends = Pauses(times, wait), []
    for parts in ([20] * 60 + [5000]) * 5:
        times.wanted()
        wait(times.until_next())
        begun = times.now()
        audit.begin()
        for _ in range(parts):
            wait(0.001)
            audit.rest()
        assert not times.is_overdue
        ends.append(times.now() - begun)
        times.renewed(begun, is_beside=True)
    assert max(ends) > 5 + 2
