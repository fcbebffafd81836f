"""The cloud, and the answer of the database to a question, both of one moment."""

import pytest
import sqlalchemy as sa

from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.candidates.live.table_snapshot import TableSnapshot
from placement.storage import tables
from tests.functional.placement.candidates.snapshot.comparing import record, use

pytestmark = pytest.mark.spread_over_databases

USED = sa.select(sa.func.coalesce(sa.func.sum(tables.allocations.c.used), 0))


def used(connection):
    return int(connection.execute(USED).scalar())


@pytest.mark.parametrize("kind", [LiveSnapshot, TableSnapshot])
def test_what_is_written_between_the_two_is_in_neither(cloud, database, new_connections, kind):
    live, other = kind(database), new_connections()
    live.current()

    def question(connection, seen):
        use(other, 3)
        record(other, 1)
        return int(seen.columns[0].used[0]), used(connection)

    before, amounts = live.at_once(question)
    assert amounts == (0, 0)
    assert int(before.columns[0].used[0]) == 0
    after, amount = live.at_once(lambda connection, _: used(connection))
    assert int(after.columns[0].used[0]) == amount == 3
