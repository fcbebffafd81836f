"""Comparing a snapshot with the tables notices what searches see, and nothing else."""

import contextlib

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.candidates.live import loading
from placement.candidates.live.comparison import differences
from placement.storage import tables
from placement.storage.database.engine import Database, DatabaseSettings
from tests.extent import examples
from tests.functional.placement.candidates.snapshot.comparing import picture
from tests.functional.placement.candidates.snapshot.test_audit import CLOUD
from tests.functional.placement.service import Service
from tests.functional.placement.topology import Cloud

#: every column with a number that some search could depend on, and some that none does
COLUMNS = [
    *(tables.inventories.c[name] for name in ("total", "reserved", "min_unit", "max_unit")),
    tables.inventories.c.step_size,
    tables.inventories.c.allocation_ratio,
    tables.inventories.c.resource_class_id,
    tables.inventories.c.resource_provider_id,
    tables.allocations.c.used,
    tables.allocations.c.resource_class_id,
    tables.allocations.c.resource_provider_id,
    tables.resource_provider_traits.c.trait_id,
    tables.resource_provider_traits.c.resource_provider_id,
    tables.resource_provider_aggregates.c.aggregate_id,
    tables.resource_provider_aggregates.c.resource_provider_id,
    tables.resource_providers.c.generation,
    tables.resource_providers.c.parent_provider_id,
    tables.resource_providers.c.root_provider_id,
    tables.consumers.c.generation,
]


class RolledBack(Exception):
    """Puts the tables back."""


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('comparison')}/placement.db"
    cloud = Cloud(Service(url)).build(CLOUD)
    with contextlib.closing(Database(DatabaseSettings(url, sqlite_synchronous=False))) as opened:
        rows = [
            {"resource_provider_id": 1, "resource_class_id": 0, "consumer_id": "a", "used": 2},
            {"resource_provider_id": 2, "resource_class_id": 0, "consumer_id": "b", "used": 2},
            {"resource_provider_id": 2, "resource_class_id": 9, "consumer_id": "b", "used": 1},
        ]
        assert len(cloud.uuids) == 3
        opened.write(lambda c: c.execute(sa.insert(tables.allocations), rows))
        yield opened


@settings(max_examples=examples(100, 600))
@given(
    columns=st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=3),
    places=st.lists(st.integers(0, 3), min_size=3, max_size=3),
    steps=st.lists(st.sampled_from([-1, 1, 2]), min_size=3, max_size=3),
)
def test_changes_of_some_rows_are_noticed_if_and_only_if_a_load_would_show_them(
    database, columns, places, steps
):
    snapshot = database.read(loading.load)
    before = picture(snapshot)
    with contextlib.suppress(RolledBack), database.transaction() as connection:
        connection.plain.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
        for column, place, step in zip(columns, places, steps, strict=False):
            change(connection, column, place, step)
        anew = loading.load(connection)
        shown = picture(anew), strays(anew)
        found = differences(connection, snapshot)
        raise RolledBack

    assert bool(found) == (shown != (before, strays(snapshot))), found


def strays(snapshot):
    """Return the usage without inventory, by provider."""
    return {
        (snapshot.register.ids[slot], class_id): used
        for (slot, class_id), used in snapshot.stray_usage.items()
    }


def change(connection, column, place, step):
    """Add a step to one row's number, unless a key forbids it."""
    table = column.table
    keys = [key for key in table.primary_key]
    rows = connection.execute(sa.select(*keys).order_by(*keys)).all()
    if not rows:
        return
    row = rows[place % len(rows)]
    where = sa.and_(*(key == value for key, value in zip(keys, row, strict=True)))
    with contextlib.suppress(sa.exc.IntegrityError):
        connection.execute(
            sa.update(table).where(where).values({column: sa.func.coalesce(column, 1) + step})
        )
