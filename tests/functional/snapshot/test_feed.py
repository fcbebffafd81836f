"""The change feed as a snapshot reads it: gaps, trimming, falling off."""

import sqlalchemy as sa

from placement.storage import changes, tables
from placement.storage.changes import Cursor, Kind
from tests.functional.snapshot.comparing import newest, record, use, used


def test_a_row_that_commits_after_a_later_one_is_not_missed(cloud, live, database):
    live.current()
    late = newest(database) + 1
    record(database, 1, late + 1)
    live.current()
    use(database, 3)

    record(database, 1, late)

    assert used(live) == 3


def test_a_row_that_was_under_way_while_all_was_loaded_is_not_missed(cloud, live, database):
    late = newest(database) + 1
    record(database, 1, late + 1)
    live.current()
    use(database, 3)

    record(database, 1, late)

    assert used(live) == 3


def test_gaps_are_given_up_when_no_write_lasts_as_long(cloud, live, database, clock):
    live.current()
    record(database, 1, newest(database) + 5)
    live.current()
    clock.now += changes.LONGEST_WRITE + 1
    live.current()

    assert live._cursor == Cursor(newest(database), {})


def test_very_many_gaps_are_searched_by_reading_on_from_the_first(cloud, live, database):
    live.current()
    late = newest(database) + 1
    record(database, 1, late + changes.MAX_NAMED_GAPS + 10)
    live.current()
    use(database, 3)

    record(database, 1, late + 3)

    assert used(live) == 3


def test_rows_seen_once_are_not_read_again_beside_gaps(cloud, live, database):
    live.current()
    record(database, 1, newest(database) + 2)
    first = live.current()

    assert live.current() is first


def test_a_reader_that_fell_off_the_feed_loads_everything(cloud, live, database):
    live.current()
    use(database, 3)
    for _ in range(3):
        record(database, 1)
    last = newest(database)
    feed = tables.provider_changes
    database.write(lambda c: c.execute(sa.delete(feed).where(feed.c.id < last)))

    assert used(live) == 3
    assert live.loads == {"first use": 1, "fell off the feed": 1}


def test_old_rows_of_the_feed_are_dropped_by_writers(cloud, database, monkeypatch):
    monkeypatch.setattr(changes, "KEPT", 10)
    monkeypatch.setattr(changes, "TRIM_EVERY", 5)

    for _ in range(40):
        database.write(lambda c: changes.record(c, [1], Kind.USAGE))

    feed = tables.provider_changes
    count = database.read(lambda c: c.execute(sa.select(sa.func.count(feed.c.id))).scalar())
    assert 10 <= count <= 16


def test_a_write_of_many_rows_drops_old_ones_too(cloud, database, monkeypatch):
    monkeypatch.setattr(changes, "KEPT", 10)
    monkeypatch.setattr(changes, "TRIM_EVERY", 50)
    first = newest(database)

    for _ in range(20):
        database.write(lambda c: changes.record(c, range(1, 8), Kind.USAGE))

    feed = tables.provider_changes
    oldest = database.read(lambda c: c.execute(sa.select(sa.func.min(feed.c.id))).scalar())
    assert oldest > first + 7


def test_a_database_that_went_back_is_noticed_at_once(cloud, live, database):
    """Restored from a backup, or a replica promoted before it had the last writes."""
    live.current()
    use(database, 3)
    feed = tables.provider_changes
    database.write(lambda c: c.execute(sa.delete(feed).where(feed.c.id == newest(database))))

    assert used(live) == 3
    assert live.loads == {"first use": 1, "fell off the feed": 1}
