"""Lanes: as many as there are concurrent writes, however many writes there were."""

import pytest
import sqlalchemy as sa

from placement.storage.feed import change_feed, feed_lanes
from placement.storage.feed.change_feed import ChangeKind
from placement.storage.tables import change_lanes, provider_changes
from tests.databases.connections import connections
from tests.extent import examples
from tests.functional.forked import PROCESSES, code_of

WRITERS, WRITES = 4, examples(300, 1000)
#: by kind of database, where each write waits for the disk or for all others
FEWER = {"sqlite": 50, "mariadb": 200}


def write(url, number, count):
    with connections(url) as opened:
        database = opened()
        for _ in range(count):
            database.write(
                lambda connection: change_feed.record(connection, [number], ChangeKind.USAGE)
            )


def test_writers_beside_each_other_need_few_more_lanes_than_they_are(
    database, database_url, database_kind, forking
):
    """A lane that comes free while a write takes another one costs it nothing."""
    lanes = sa.select(sa.func.count()).select_from(change_lanes)
    before = database.read(lambda connection: connection.execute(lanes).scalar())
    count = FEWER.get(database_kind, WRITES)
    writers = [
        PROCESSES.Process(target=write, args=(database_url, number, count))
        for number in range(1, WRITERS + 1)
    ]
    for writer in writers:
        writer.start()

    assert [code_of(writer) for writer in writers] == [0] * WRITERS
    after = database.read(lambda connection: connection.execute(lanes).scalar())
    assert after <= before + WRITERS
    rows = sa.select(provider_changes.c.lane, provider_changes.c.position).where(
        provider_changes.c.resource_provider_id.between(1, WRITERS)
    )
    positions = [tuple(row) for row in database.read(lambda c: c.execute(rows).all())]
    assert len(positions) == len(set(positions)) == WRITERS * count


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_a_free_lane_is_found_once(database):
    """A subquery of the condition would be asked anew, if another write advanced the lane.

    It could find another lane then, so that none would be advanced, and the write would add one.
    """
    statement = feed_lanes.advance_free(feed_lanes.COUNT).compile(dialect=database.engine.dialect)
    values = statement.construct_params({**feed_lanes.advance(0), "count": 1})
    with database.engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", values).scalar_one()

    def names(node):
        yield from filter(None, [node.get("Subplan Name")])
        for below in node.get("Plans", []):
            yield from names(below)

    assert list(names(plan[0]["Plan"])) == ["CTE free"]
