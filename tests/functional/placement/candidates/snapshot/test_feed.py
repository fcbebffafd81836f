"""The change feed as a snapshot reads it: late commits, other histories, trimming, falling off."""

import contextlib

import pytest
import sqlalchemy as sa

from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.storage import tables
from placement.storage.feed import change_feed, feed_lanes
from placement.storage.feed.change_feed import ChangeKind
from tests.databases.fixtures import CHOSEN
from tests.functional.placement.candidates.snapshot.comparing import (
    record,
    record_as_before_lanes,
    use,
    used,
)

pytestmark = pytest.mark.spread_over_databases

FEED, LANES = tables.provider_changes, tables.change_lanes
USAGE = {"resource_provider_id": 1, "resource_class_id": 0, "consumer_id": "c", "used": 3}


@contextlib.contextmanager
def held_up(database):
    """Write a usage of 3 of the provider, and commit only when the block ends."""
    with database.transaction() as connection:
        connection.execute(sa.insert(tables.allocations).values(USAGE))
        change_feed.record(connection, [1], ChangeKind.USAGE)
        yield


#: SQLite lets one write in at a time: none can commit past another
several_writers = pytest.mark.parametrize(
    "database_kind", [kind for kind in CHOSEN if kind != "sqlite"], indirect=True
)


def record_in_a_new_lane(connection):
    lane = feed_lanes.open_lane(connection, count=1).lane
    row = {
        "resource_provider_id": 3,
        "kind": int(ChangeKind.AGGREGATES),
        "created_at": tables.utcnow(),
    }
    connection.execute(sa.insert(FEED), row | {"lane": lane, "position": 1, "before": 0})


def lanes_of(database):
    return database.read(change_feed.start).lanes


@several_writers
def test_a_commit_that_is_held_up_is_seen_however_many_come_before_it(
    cloud, live, database, new_connections, clock
):
    live.current()
    with held_up(new_connections()):
        for _ in range(20):
            record(database, 1)
        assert used(live) == 0
        clock.now += 1e6
        assert used(live) == 0

    assert used(live) == 3
    assert live.loads == {"first use": 1}


@several_writers
def test_a_write_that_is_open_while_all_is_loaded_is_seen_however_long_ago_it_began(
    cloud, live, database, new_connections
):
    with held_up(new_connections()):
        database.write(lambda c: change_feed.record(c, range(1, 1501), ChangeKind.USAGE))
        record(database, 1)
        assert used(live) == 0

    assert used(live) == 3
    assert live.loads == {"first use": 1}


@several_writers
def test_writes_never_wait_for_one_that_is_held_up(cloud, database, new_connections):
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            other = stack.enter_context(new_connections().transaction())
            change_feed.record(other, [1], ChangeKind.USAGE)
        record(database, 1)
    before = len(lanes_of(database))
    for _ in range(10):
        record(database, 1)

    assert before >= 6
    assert len(lanes_of(database)) == before


def test_a_write_that_is_rolled_back_leaves_nothing_to_wait_for(cloud, live, database):
    live.current()
    before = lanes_of(database)
    with contextlib.suppress(ZeroDivisionError), database.transaction() as connection:
        change_feed.record(connection, [1], ChangeKind.USAGE)
        raise ZeroDivisionError
    assert lanes_of(database) == before

    use(database, 3)
    record(database, 1)
    assert used(live) == 3
    assert live.loads == {"first use": 1}


def test_ids_may_jump_by_any_number(cloud, live, database):
    """As a sequence does after a failover; nothing is kept for each number that isn't there."""
    live.current()
    row = {"id": 10**9, "resource_provider_id": 1, "kind": 0, "lane": -1}
    database.write(lambda c: c.execute(sa.insert(FEED).values(row)))
    use(database, 3)
    record(database, 1)

    assert used(live) == 3
    assert live.loads == {"first use": 1}


def test_news_are_read_once(cloud, live, database):
    live.current()
    record(database, 1)
    first = live.current()

    assert live.current() is first


def test_a_search_without_news_takes_one_statement(cloud, live, database):
    live.current()
    before = database.statements
    live.current()

    assert database.statements == before + 1


@pytest.mark.parametrize(
    ("few", "new_lane", "expected"),
    [(32, False, 1), (32, True, 2), (0, False, 2), (0, True, 2)],
    ids=["known lanes", "a new lane", "many lanes", "many lanes and a new one"],
)
def test_news_take_one_statement_if_they_are_in_few_known_lanes(
    cloud, database, monkeypatch, few, new_lane, expected
):
    monkeypatch.setattr(change_feed, "_FEW_LANES", few)
    database.write(lambda c: change_feed.record(c, [9], ChangeKind.ROW))
    cursor = database.read(change_feed.start)
    if new_lane:
        database.write(record_in_a_new_lane)
    for provider, kind in ((1, ChangeKind.USAGE), (2, ChangeKind.ROW), (1, ChangeKind.TRAITS)):
        database.write(
            lambda c, provider=provider, kind=kind: change_feed.record(c, [provider], kind)
        )
    before = database.statements
    news = database.read(lambda connection: change_feed.read(connection, cursor))
    assert database.statements - before == expected
    also = {3: ChangeKind.AGGREGATES} if new_lane else {}
    assert news.kinds == {1: ChangeKind.USAGE | ChangeKind.TRAITS, 2: ChangeKind.ROW} | also
    assert news.cursor == database.read(change_feed.start)


def test_a_worker_of_an_earlier_version_is_heard(cloud, live, database):
    live.current()
    use(database, 3)
    record_as_before_lanes(database, 1)

    assert used(live) == 3
    assert live.loads == {"first use": 1}
    first = live.current()
    assert live.current() is first


@several_writers
def test_a_worker_of_an_earlier_version_is_heard_however_late_it_commits(
    cloud, live, database, new_connections
):
    live.current()
    with new_connections().transaction() as connection:
        connection.execute(sa.insert(tables.allocations).values(USAGE))
        row = {"resource_provider_id": 1, "kind": int(ChangeKind.USAGE)}
        connection.execute(sa.insert(FEED).values(row))
        record_as_before_lanes(database, 1)
        record(database, 1)
        assert used(live) == 0

    assert used(live) == 3
    assert live.loads == {"first use": 1}


def test_every_reader_hears_of_workers_of_an_earlier_version(
    cloud, live, database, new_connections
):
    other = LiveSnapshot(new_connections())
    live.current(), other.current()
    use(database, 3)
    for _ in range(change_feed._AT_ONCE + 10):
        record_as_before_lanes(database, 1)

    assert (used(live), used(other)) == (3, 3)
    assert live.loads == other.loads == {"first use": 1}


def test_a_reader_that_fell_off_the_feed_loads_everything(cloud, live, database):
    live.current()
    use(database, 3)
    for _ in range(3):
        record(database, 1)
    newest = sa.select(sa.func.max(FEED.c.id)).scalar_subquery()
    last = database.read(lambda c: c.execute(sa.select(newest)).scalar())
    database.write(lambda c: c.execute(sa.delete(FEED).where(FEED.c.id < last)))

    assert used(live) == 3
    assert live.loads == {"first use": 1, "fell off the feed": 1}


def test_a_reader_whose_last_row_was_trimmed_reads_on(cloud, live, database):
    live.current()
    database.write(lambda c: c.execute(sa.delete(FEED)))
    use(database, 3)
    record(database, 1)

    assert used(live) == 3
    assert live.loads == {"first use": 1}


@pytest.mark.parametrize("step", [1, 2, 4, 5])
def test_old_rows_of_the_feed_are_dropped_by_writers(
    cloud, database, database_kind, monkeypatch, step
):
    monkeypatch.setattr(change_feed, "KEPT", 10)
    monkeypatch.setattr(change_feed, "TRIM_EVERY", 5)

    for number in range(40):
        database.write(lambda c, n=number: write_in_steps(c, database_kind, step, n))

    count = database.read(lambda c: c.execute(sa.select(sa.func.count(FEED.c.id))).scalar())
    assert 10 <= count <= 16


def write_in_steps(connection, kind, step, number):
    """One row, whose id is `step` above the last one, as nodes of a cluster give them."""
    plain = connection.plain
    if kind == "mariadb":
        plain.exec_driver_sql(f"SET SESSION auto_increment_increment = {step}")
    elif kind == "postgresql" and number == 0:
        plain.exec_driver_sql(f"ALTER SEQUENCE berth_provider_changes_id_seq INCREMENT {step}")
    change_feed.record(connection, [1], ChangeKind.USAGE)
    if kind == "sqlite":
        plain.exec_driver_sql(
            f"UPDATE sqlite_sequence SET seq = seq + {step - 1} WHERE name = '{FEED.name}'"
        )


def test_a_write_of_many_rows_drops_old_ones_too(cloud, database, monkeypatch):
    monkeypatch.setattr(change_feed, "KEPT", 10)
    monkeypatch.setattr(change_feed, "TRIM_EVERY", 50)

    for _ in range(20):
        database.write(lambda c: change_feed.record(c, range(1, 8), ChangeKind.USAGE))

    count = database.read(lambda c: c.execute(sa.select(sa.func.count(FEED.c.id))).scalar())
    assert count <= 10 + 50 + 7


@several_writers
def test_dropping_old_rows_waits_for_nobody(cloud, database, new_connections, monkeypatch):
    monkeypatch.setattr(change_feed, "KEPT", 5000)
    database.write(lambda c: change_feed.record(c, range(1, 5001), ChangeKind.USAGE))
    monkeypatch.setattr(change_feed, "TRIM_EVERY", 50)
    with held_up(new_connections()):
        for _ in range(10):
            database.write(lambda c: change_feed.record(c, range(1, 21), ChangeKind.USAGE))

    count = database.read(lambda c: c.execute(sa.select(sa.func.count(FEED.c.id))).scalar())
    assert 5000 <= count <= 5060
