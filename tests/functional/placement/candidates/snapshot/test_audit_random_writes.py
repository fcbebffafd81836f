"""An audit notices every write that bypasses the feed, in any order with writes that don't."""

import random
import uuid

import pytest
import sqlalchemy as sa

from placement.candidates.live.comparison import differences
from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind
from placement.storage.feed.generation_look import ALL_KINDS
from placement.storage.tables import (
    allocations,
    inventories,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
)
from tests.functional.placement.candidates.snapshot.comparing import assert_fresh, nobody
from tests.functional.placement.candidates.snapshot.test_audit import CLOUD
from tests.functional.placement.topology import Cloud

pytestmark = pytest.mark.spread_over_databases

VCPU, MEMORY_MB = 0, 1
STOCK = {"reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
#: of random writes; more of them are for thorough runs
SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 8))]


@pytest.mark.parametrize("seed", SEEDS)
def test_an_audit_notices_whatever_differs(service, database, clock, seed):
    Cloud(service).build(CLOUD)
    live = LiveSnapshot(database, 60, clock=clock, watch=nobody)
    source, verdicts = random.Random(seed), set()
    for _ in range(30):
        live.current()
        for _ in range(source.randrange(4)):
            is_named = source.random() < 0.85
            with database.transaction() as connection:
                key = write(connection, source)
                if is_named:
                    kinds = ALL_KINDS | ChangeKind.USAGE
                    change_feed.record(connection, [key], kinds)
            if source.random() < 0.3:
                live.current()
        snapshot = live.current()
        different = database.read(lambda c, held=snapshot: differences(c, held))
        verdicts.add(bool(different))
        live.audit_in_background()
        assert live.is_distrusted == bool(different)
        assert_fresh(live, database)

    assert verdicts == {True, False}


def write(connection, source):
    """Write something; return the id of the provider that the feed would name."""
    keys = connection.execute(sa.select(resource_providers.c.id)).scalars().all()
    key, class_id = source.choice(keys), source.choice([VCPU, MEMORY_MB])
    of_class = {"resource_provider_id": key, "resource_class_id": class_id}
    match source.randrange(9):
        case 0:
            row = of_class | {"consumer_id": "c", "used": source.randrange(1, 4)}
            connection.execute(sa.insert(allocations), row)
        case 1:
            rows = connection.execute(sa.select(allocations)).all()
            if rows:
                row = source.choice(rows)
                key = row.resource_provider_id
                delete(connection, allocations, id=row.id)
        case 2:
            delete(connection, inventories, **of_class)
            row = STOCK | of_class | {"total": source.randrange(1, 4)}
            connection.execute(sa.insert(inventories), row)
        case 3:
            delete(connection, inventories, **of_class)
        case 4:
            delete(connection, resource_provider_traits, resource_provider_id=key)
        case 5:
            row = {"resource_provider_id": key, "trait_id": source.randrange(1, 4)}
            delete(connection, resource_provider_traits, **row)
            connection.execute(sa.insert(resource_provider_traits), row)
        case 6:
            delete(connection, resource_provider_aggregates, resource_provider_id=key)
        case 7:
            values = {"uuid": str(uuid.UUID(int=source.getrandbits(128))), "generation": 0}
            made = connection.execute(sa.insert(resource_providers), values)
            key = made.inserted_primary_key[0]
            own = sa.update(resource_providers).where(resource_providers.c.id == key)
            connection.execute(own.values(root_provider_id=key))
        case 8:
            of_one = sa.update(resource_providers).where(resource_providers.c.id == key)
            connection.execute(of_one.values(generation=resource_providers.c.generation + 1))
    return key


def delete(connection, table, **values):
    wanted = (table.c[name] == value for name, value in values.items())
    connection.execute(sa.delete(table).where(*wanted))
