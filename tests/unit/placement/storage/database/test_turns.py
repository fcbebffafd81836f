"""Turns of threads to use a database."""

import threading

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from placement.errors import LostRace
from placement.storage.database.modes import modes, one_by_one
from tests.extras import needed_library


def is_free(turn):
    """Say whether another thread gets the turn at once."""
    got = []

    def other():
        try:
            with turn(0):
                got.append(True)
        except LostRace:
            got.append(False)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    return got[0]


def test_a_turn_is_of_one_thread_and_free_afterwards():
    turn = one_by_one()
    with turn(1):
        assert is_free(turn) is False
    assert is_free(turn) is True


def test_a_turn_is_free_after_an_exception():
    turn = one_by_one()
    with pytest.raises(KeyError), turn(1):
        raise KeyError("x")
    assert is_free(turn) is True


def test_time_that_is_over_is_a_lost_race():
    turn = one_by_one()
    with turn(1), pytest.raises(LostRace), turn(-1):
        raise AssertionError("not reached")


@pytest.mark.parametrize(
    ("url", "options", "extra", "others_may_read", "others_may_write"),
    [
        ("sqlite:///a.db", {}, None, True, False),
        ("sqlite://", {"poolclass": StaticPool}, None, False, False),
        ("mysql+pymysql://host/name", {}, "mysql", True, True),
        ("postgresql+psycopg://host/name", {}, "postgresql", True, True),
    ],
)
def test_only_sqlite_makes_writers_wait_and_only_in_memory_its_readers(
    url, options, extra, others_may_read, others_may_write
):
    if extra is not None:
        needed_library(sa.make_url(url).get_driver_name(), extra)
    reads, writes = modes(sa.create_engine(url, **options))
    with writes.turn(1):
        assert (is_free(reads.turn), is_free(writes.turn)) == (others_may_read, others_may_write)
