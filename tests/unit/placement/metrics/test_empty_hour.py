"""What a process remembers of empty searches: bounded, and an hour long."""

import pytest

from placement.metrics.empty_hour import LONGEST_QUERY, MOST_KNOWN, EmptyHour, last_hour
from tests.clock import Clock

HOUR = 3600


@pytest.fixture
def clock():
    return Clock(1_800_000_000.0)


@pytest.fixture
def hour(clock):
    return EmptyHour(clock=clock)


def told(clock, *hours):
    found = last_hour([one.text(32_000) for one in hours], clock())
    return found.searches, {query: one.minutes.total() for query, one in found.queries}


def test_an_hour_is_told(hour, clock):
    hour.found_nothing("a")
    clock.now += HOUR / 2
    hour.found_nothing("a")
    assert told(clock, hour) == (2, {"a": 2})
    clock.now += HOUR / 2
    assert told(clock, hour) == (1, {"a": 1})
    # a process that searches no more has written its last text long ago
    text = hour.text(32_000)
    clock.now += HOUR
    assert last_hour([text], clock()).searches == 0


def test_the_queries_of_late_are_kept_and_all_are_counted(hour, clock):
    for number in range(2 * MOST_KNOWN):
        hour.found_nothing(str(number))
    hour.found_nothing("q" * (LONGEST_QUERY + 1))
    searches, queries = told(clock, hour)
    assert searches == 2 * MOST_KNOWN + 1
    assert sorted(queries, key=int) == [str(n) for n in range(MOST_KNOWN, 2 * MOST_KNOWN)]


def test_a_text_is_never_too_long(hour, clock):
    for number in range(MOST_KNOWN):
        query = f"{number:02}" + "\u00ff" * 900
        for _ in range(60):
            hour.found_nothing(query)
            clock.now += 60 / MOST_KNOWN
        hour.explained(query, "é" * 5000)
    text = hour.text(32_000)
    assert len(text) <= 32_000
    assert 0 < len(last_hour([text], clock()).queries) < MOST_KNOWN


def test_the_newest_reason_is_told(hour, clock):
    other = EmptyHour(clock=clock)
    for one, reason in ((hour, "old"), (other, "new")):
        one.found_nothing("a")
        one.explained("a", reason)
        one.explained("unknown", reason)
        clock.now += 60
    ((_, found),) = last_hour([other.text(32_000), hour.text(32_000)], clock()).queries
    assert found.reason == "new"


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"[[], [[1]]]", b"7", b"\xff"])
def test_a_text_of_another_version_says_nothing(clock, text):
    assert last_hour([text], clock()) == last_hour([], clock())
    assert told(clock, EmptyHour(text, clock)) == (0, {})
