"""Audits let other threads through."""

import pytest

from placement.candidates.audit_schedule import AuditTimes, Pauses


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


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
    assert 0 < sum(waited) <= times.interval / 8 + max(waited)


def test_an_audit_that_a_search_or_the_end_of_the_worker_waits_for_has_no_pause(pauses, clock):
    audit, times, waited = pauses
    times.unwanted()
    audit.rest()
    times.wanted()
    clock.now += 61
    times.wanted()
    audit.rest()
    assert waited == []
