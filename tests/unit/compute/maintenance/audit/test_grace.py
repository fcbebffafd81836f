"""When an orphan counts that was looked for more than once."""

import pytest

from compute.consumers.rules import ConsumerKind, ConsumerVerdict
from compute.maintenance.audit.audit import UNKNOWN, Orphan
from compute.maintenance.audit.grace import Grace


def orphan(consumer="c", provider="p", **resources):
    verdict = ConsumerVerdict(ConsumerKind.UNRECORDED, "nobody knows it")
    resources = resources or {"VCPU": 1}
    return Orphan(consumer, provider, "host1", resources, UNKNOWN, None, None, None, verdict, True)


@pytest.fixture
def now():
    return [100.0]


@pytest.fixture
def grace(now):
    return Grace(60, lambda: now[0])


def test_one_look_is_not_enough(grace, now):
    assert not grace.is_over(orphan())
    assert grace.end_look() == 1


def test_it_counts_when_two_looks_are_far_enough_apart(grace, now):
    grace.is_over(orphan())
    grace.end_look()
    now[0] += 59
    assert not grace.is_over(orphan())
    grace.end_look()
    now[0] += 1
    assert grace.is_over(orphan())


def test_a_look_that_does_not_find_it_begins_anew(grace, now):
    grace.is_over(orphan())
    grace.end_look()
    now[0] += 30
    assert grace.end_look() == 0
    now[0] += 30
    assert not grace.is_over(orphan())


def test_a_look_that_fails_forgets_nothing(grace, now):
    grace.is_over(orphan())
    grace.end_look()
    now[0] += 30
    # this look ends before it has found the orphan: nobody says that it is over
    grace.is_over(orphan("other"))
    now[0] += 30
    assert grace.is_over(orphan())


def test_what_only_a_look_that_failed_has_found_begins_anew(grace, now):
    grace.begin_look()
    grace.is_over(orphan())
    # this look has failed; the next one doesn't find it
    grace.begin_look()
    grace.end_look()
    now[0] += 60
    grace.begin_look()
    assert not grace.is_over(orphan())


@pytest.mark.parametrize(
    "other", [orphan("d"), orphan(provider="q"), orphan(VCPU=2), orphan(VCPU=1, MEMORY_MB=1)]
)
def test_what_is_another_one_or_was_written_meanwhile_begins_anew(grace, now, other):
    grace.is_over(orphan())
    grace.end_look()
    now[0] += 60
    assert not grace.is_over(other)
