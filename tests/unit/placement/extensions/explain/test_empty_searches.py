"""The log line about an empty search: how often it comes, under any load."""

import logging
import threading

import pytest

from placement.extensions.explain import empty_searches
from placement.extensions.explain.empty_searches import QUIET, EmptySearches
from tests.clock import Clock

LOGGER = "placement.explain"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def searches(clock, caplog):
    caplog.set_level(logging.INFO, LOGGER)
    return EmptySearches(clock)


def tell(searches, reason="no room", number=1, ours=None):
    searches.log(f"req-{number}", ours, f"resources=VCPU:{number}", lambda: reason)


def test_a_line_names_both_request_ids_the_query_and_the_reason(searches, caplog):
    tell(searches, ours="req-nova")

    assert caplog.messages == [
        "[req-1 req-nova] No allocation candidates for resources=VCPU:1: no room"
    ]


def test_a_caller_without_an_id_is_a_dash(searches, caplog):
    tell(searches)

    assert caplog.messages[0].startswith("[req-1 -] ")


def test_an_equal_message_comes_again_after_a_minute_with_a_count(searches, clock, caplog):
    for number in range(5):
        tell(searches, number=number)
    clock.now += QUIET
    tell(searches, number=9)

    first, last = caplog.messages
    assert first.endswith("resources=VCPU:0: no room")
    assert last.endswith("resources=VCPU:9: no room (4 more since the last line)")


def test_different_messages_come_at_once(searches, caplog):
    tell(searches, "no room")
    tell(searches, "no trait")

    assert len(caplog.messages) == 2


def test_explanations_take_a_tenth_of_the_time_at_most(searches, clock, caplog):
    explained = []

    def slow(number):
        explained.append(number)
        clock.now += 0.5
        return f"reason {number}"

    for number in range(100):
        searches.log(f"req-{number}", None, "resources=VCPU:1", lambda number=number: slow(number))

    # what was saved up is used, then no more until time has passed
    assert len(explained) == 3
    clock.now += 60
    tell(searches, "later")
    assert caplog.messages[-1].endswith("later (97 other searches not explained)")


def test_what_is_remembered_is_bounded(searches, clock, monkeypatch):
    monkeypatch.setattr(empty_searches, "_MOST_KNOWN", 10)

    for number in range(1000):
        tell(searches, f"reason {number}")

    assert len(searches._known) == 10


def test_nothing_is_explained_if_the_line_would_not_be_logged(clock, caplog):
    caplog.set_level(logging.WARNING, LOGGER)

    def fail():
        raise AssertionError

    EmptySearches(clock).log("req-1", None, "resources=VCPU:1", fail)


def test_a_fault_of_the_explanation_is_told_and_costs_no_answer(searches, caplog):
    def fail():
        raise KeyError("secret")

    searches.log("req-1", None, "resources=VCPU:1", fail)

    (line,) = [one.getMessage() for one in caplog.records if one.levelno == logging.INFO]
    assert line.endswith("resources=VCPU:1: the reason can't be told (KeyError)")


def test_many_threads_log_an_equal_message_once(searches, caplog):
    threads = [threading.Thread(target=tell, args=(searches,)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(caplog.messages) == 1
