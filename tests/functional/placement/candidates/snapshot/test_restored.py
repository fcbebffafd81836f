"""A database that was set back while services run: restored, or a copy without the last writes.

Whatever was written since, before the next search: it is noticed at once, and all is loaded.
"""

import pytest
import sqlalchemy as sa

from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.storage import tables
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind
from tests.functional.placement.candidates.snapshot.comparing import assert_fresh, record, use, used
from tests.functional.placement.candidates.snapshot.test_feed import held_up, several_writers

KEPT_TABLES = (
    tables.allocations,
    tables.inventories,
    tables.provider_changes,
    tables.change_lanes,
)


def backup(database):
    """Return all rows of the tables."""
    return database.read(
        lambda c: {
            table: [dict(row._mapping) for row in c.execute(sa.select(table))]
            for table in KEPT_TABLES
        }
    )


def restore(database, saved):
    """Make the tables hold that again. Sequences stay ahead, as they do after a failover."""

    def write(connection):
        for table, rows in saved.items():
            connection.execute(sa.delete(table))
            if rows:
                connection.execute(sa.insert(table), rows)

    database.write(write)


def nothing(database):
    pass


def as_many_writes(database):
    """Reach the cursor's position again, with another write."""
    record(database, 1)


def more_writes(database):
    """Pass the cursor's position."""
    for _ in range(5):
        record(database, 1)


def one_large_write(database):
    database.write(lambda c: change_feed.record(c, range(1, 30), ChangeKind.USAGE))


@pytest.mark.parametrize("since", [nothing, as_many_writes, more_writes, one_large_write])
def test_a_database_that_was_set_back_is_noticed_at_once(cloud, live, database, since):
    saved = backup(database)
    use(database, 3)
    record(database, 1)
    assert used(live) == 3

    restore(database, saved)
    since(database)

    assert used(live) == 0
    assert live.loads == {"first use": 1, "fell off the feed": 1}
    assert_fresh(live, database)


@pytest.mark.parametrize("since", [nothing, more_writes])
def test_it_is_noticed_by_a_reader_that_had_not_read_the_lost_writes(cloud, live, database, since):
    live.current()
    saved = backup(database)
    use(database, 3)
    record(database, 1)

    restore(database, saved)
    since(database)

    assert used(live) == 0
    assert_fresh(live, database)


@several_writers
def test_it_is_noticed_beside_a_write_that_is_held_up(cloud, live, database, new_connections):
    with held_up(new_connections()):
        record(database, 1)
        live.current()
    saved = backup(database)
    use(database, 4)
    record(database, 1)
    assert used(live) == 7

    restore(database, saved)
    more_writes(database)

    assert used(live) == 3


def test_another_database_that_nobody_has_written_to_is_not_taken_for_this_one(
    cloud, live, database
):
    """Both are new to Berth: OpenStack Placement has written all that they hold."""
    lanes = {tables.change_lanes: [], tables.provider_changes: []}
    restore(database, lanes)
    database.write(lambda c: change_feed.feed_lanes.open_lane(c))
    live.current()
    use(database, 3)
    restore(database, lanes)
    database.write(lambda c: change_feed.feed_lanes.open_lane(c))

    assert used(live) == 3


def test_readers_that_begin_after_it_have_nothing_to_notice(cloud, live, database):
    saved = backup(database)
    record(database, 1)
    restore(database, saved)

    begun = LiveSnapshot(database)
    begun.current()
    record(database, 1)
    begun.current()

    assert begun.loads == {"first use": 1}
