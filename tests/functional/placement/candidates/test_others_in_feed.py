"""A worker in which nothing searches learns of other writers from the change feed."""

import pytest
import sqlalchemy as sa

from placement.candidates.live.foreign_writers import (
    ALWAYS,
    AUTO,
    NEVER,
    WATCHED,
    OthersInFeed,
    OtherWriters,
)
from placement.storage import tables
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind
from tests.clock import Clock
from tests.functional.placement.service import statements


def known(database, others):
    """Return what a read learns, and how many statements that took."""

    def ask(connection):
        cursor = change_feed.start(connection)
        with statements(database) as sent:
            return others.may_write_now(connection, cursor), len(sent)

    return database.read(ask)


@pytest.fixture
def database(service):
    return service.database


def test_others_are_learnt_of_once_the_feed_tells(database):
    others = OthersInFeed(OtherWriters(AUTO))
    assert known(database, others) == (False, 1)
    assert known(database, others) == (False, 0)
    database.write(lambda connection: change_feed.record(connection, [5], ChangeKind.ROW))
    database.write(change_feed.record_names)
    assert known(database, others) == (False, 1)
    database.write(change_feed.record_others)
    assert not others.may_write
    assert known(database, others) == (True, 1)
    assert others.may_write
    assert known(database, others) == (True, 0)


def test_a_new_worker_looks_at_all_that_is_told(database):
    database.write(change_feed.record_others)
    for _ in range(3):
        database.write(change_feed.record_names)
    assert known(database, OthersInFeed(OtherWriters(AUTO)))[0]


def test_what_was_told_long_ago_does_not_count(database):
    database.write(change_feed.record_others)
    with database.transaction() as connection:
        connection.execute(
            sa.update(tables.provider_changes).values(created_at=tables.utcnow().replace(year=2020))
        )
    assert not known(database, OthersInFeed(OtherWriters(AUTO)))[0]


def test_others_are_forgotten_after_an_hour(database):
    clock = Clock(0.0)
    others = OthersInFeed(OtherWriters(AUTO, clock))
    database.write(change_feed.record_others)
    assert known(database, others)[0]
    clock.now += WATCHED + 1
    assert not others.may_write


@pytest.mark.parametrize(("beside", "answer"), [(ALWAYS, True), (NEVER, False)])
def test_an_operator_s_word_counts_alone(database, beside, answer):
    database.write(change_feed.record_others)
    others = OthersInFeed(OtherWriters(beside))
    assert known(database, others) == (answer, 0)
