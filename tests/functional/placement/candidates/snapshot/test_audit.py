"""The audit that catches writers who bypass the change feed."""

import threading
import uuid

import pytest
import sqlalchemy as sa

from placement.candidates.live import comparison
from placement.storage import tables
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind
from tests.functional.placement.candidates.snapshot.comparing import (
    HOST,
    record,
    record_as_before_lanes,
    use,
    used,
)
from tests.functional.placement.candidates.snapshot.writes import (
    new_names,
    rename_a_class,
    reparent,
)
from tests.functional.placement.topology import Cloud

pytestmark = pytest.mark.spread_over_databases

WARNING = "behind the change feed"


CLOUD = [
    {
        "name": "host",
        "inventories": {
            "VCPU": {"total": 8, "allocation_ratio": 0.9},
            "MEMORY_MB": {"total": 64, "allocation_ratio": 1.1},
        },
        "traits": ["HW_CPU_X86_AVX2", "HW_CPU_X86_SSE"],
        "aggregates": [str(uuid.UUID(int=1))],
    },
    {
        "name": "other",
        "inventories": {
            "VCPU": {"total": 8, "allocation_ratio": 16.0},
            "MEMORY_MB": {"total": 64, "allocation_ratio": 1.3},
        },
        "traits": ["HW_CPU_X86_AVX", "HW_CPU_X86_SSE2"],
    },
    {"name": "child", "parent": "host", "inventories": {"VGPU": {"total": 3}}},
]


@pytest.fixture
def rich_cloud(service, database):
    cloud = Cloud(service).build(CLOUD)
    use(database, 1)
    record(database, 1)
    return cloud


def swap_ratios(connection):
    stock = tables.inventories
    for one, other in ((0.9, 77.0), (16.0, 0.9), (77.0, 16.0)):
        change(
            connection,
            stock,
            stock.c.allocation_ratio.between(one - 0.01, one + 0.01),
            allocation_ratio=other,
        )


def exchange_traits(connection):
    """Of both providers the ids add up to the same as before."""
    having = tables.resource_provider_traits
    rows = connection.execute(
        sa.select(having.c.resource_provider_id, having.c.trait_id).order_by(
            having.c.resource_provider_id, having.c.trait_id
        )
    ).all()
    first, second = rows[0], next(row for row in rows if row[0] != rows[0][0])
    for mine, theirs in ((first, second), (second, first)):
        connection.execute(
            sa.delete(having).where(
                having.c.resource_provider_id == mine[0], having.c.trait_id == mine[1]
            )
        )
        connection.execute(
            sa.insert(having), {"resource_provider_id": mine[0], "trait_id": theirs[1]}
        )


def change(connection, table, where, **values):
    assert connection.execute(sa.update(table).where(where).values(**values)).rowcount == 1


def rename(table, before, after):
    return lambda c: change(c, table, table.c.name == before, name=after)


def in_stock(**values):
    def write(connection):
        change(connection, tables.inventories, first_inventory(connection), **values)

    return write


def add_use(connection, class_id=0):
    row = {"resource_provider_id": 1, "resource_class_id": class_id, "consumer_id": "c", "used": 1}
    connection.execute(sa.insert(tables.allocations), row)


def empty(*emptied):
    """Delete all rows of some tables."""

    def write(connection):
        for table in emptied:
            assert connection.execute(sa.delete(table)).rowcount

    return write


def move_use(connection):
    """Leave the sum of all usage as it is."""
    empty(tables.allocations)(connection)
    add_use(connection, class_id=1)


def first_inventory(connection):
    first = sa.select(sa.func.min(tables.inventories.c.id))
    return tables.inventories.c.id == connection.execute(first).scalar()


def delete_inventory(connection):
    connection.execute(sa.delete(tables.inventories).where(first_inventory(connection)))


def leave_inventory_to_nobody(connection):
    """Leave the number of rows as it is."""
    first = first_inventory(connection)
    change(connection, tables.inventories, first, resource_provider_id=4711)


def in_a_savepoint(connection):
    with connection.plain.begin_nested():
        in_stock(total=7)(connection)


def leave_aggregate(connection):
    assert connection.execute(sa.delete(tables.resource_provider_aggregates)).rowcount == 1


def make_a_root(connection):
    table = tables.resource_providers
    change(
        connection,
        table,
        table.c.name == "child",
        parent_provider_id=None,
        root_provider_id=table.c.id,
    )


def other_root(connection):
    table = tables.resource_providers
    other = connection.execute(sa.select(table.c.id).where(table.c.name == "other")).scalar()
    change(connection, table, table.c.name == "child", root_provider_id=other)


def other_uuid(connection):
    change(
        connection,
        tables.resource_providers,
        tables.resource_providers.c.name == "other",
        uuid=str(uuid.uuid4()),
    )


def add_provider(connection):
    values = {"uuid": str(uuid.uuid4()), "name": "new", "generation": 0}
    connection.execute(sa.insert(tables.resource_providers), values)


def delete_all(connection):
    providers = tables.resource_providers
    # some databases delete the parent first otherwise, and refuse that
    of_trees = {"parent_provider_id": None, "root_provider_id": None}
    connection.execute(sa.update(providers).values(of_trees))
    empty(
        tables.allocations,
        tables.inventories,
        tables.resource_provider_traits,
        tables.resource_provider_aggregates,
        providers,
    )(connection)


BYPASSING = {
    "two ratios are swapped between providers": swap_ratios,
    "two traits are exchanged": exchange_traits,
    "a class is renamed": rename(tables.resource_classes, "VGPU", "CUSTOM_VGPU"),
    "a trait is renamed": rename(tables.traits, "HW_CPU_X86_AVX", "CUSTOM_AVX"),
    "a total": in_stock(total=9),
    "total and reserved": in_stock(total=9, reserved=1),
    "a ratio, a little": in_stock(allocation_ratio=0.9001),
    "units": in_stock(min_unit=4, max_unit=7),
    "a step": in_stock(step_size=2),
    "a class": in_stock(resource_class_id=7),
    "an inventory goes": delete_inventory,
    "an inventory is a stray": leave_inventory_to_nobody,
    "an inventory, in a savepoint": in_a_savepoint,
    "usage": add_use,
    "usage goes": empty(tables.allocations),
    "usage is elsewhere": move_use,
    "usage is another": lambda c: change(c, tables.allocations, sa.true(), used=2),
    "all traits go": empty(tables.resource_provider_traits),
    "a membership": leave_aggregate,
    "an aggregate's uuid": lambda c: change(
        c, tables.placement_aggregates, sa.true(), uuid=str(uuid.UUID(int=2))
    ),
    "a parent": make_a_root,
    "a root alone": other_root,
    "a provider's uuid": other_uuid,
    "a provider": add_provider,
    "all goes": delete_all,
}


@pytest.mark.parametrize("write", BYPASSING.values(), ids=BYPASSING)
def test_the_audit_notices_whatever_bypasses_the_feed(
    rich_cloud, audited, database, clock, caplog, write
):
    audited.current()
    clock.now += 61
    audited.current()
    assert WARNING not in caplog.text

    database.write(write)
    clock.now += 61
    audited.current()

    assert audited.loads == {"first use": 1, "audit": 1}
    assert caplog.text.count(WARNING) == 1
    clock.now += 61
    audited.current()
    assert audited.loads == {"first use": 1, "audit": 1}


def test_what_no_search_can_see_is_no_difference(rich_cloud, audited, database, clock):
    audited.current()
    strays = {
        tables.allocations: {"resource_class_id": 0, "consumer_id": "c", "used": 1},
        tables.inventories: {
            "resource_class_id": 0,
            "total": 1,
            "reserved": 0,
            "min_unit": 1,
            "max_unit": 1,
            "step_size": 1,
            "allocation_ratio": 1.0,
        },
        tables.resource_provider_aggregates: {"aggregate_id": 1},
    }
    for table, row in strays.items():
        row = row | {"resource_provider_id": 4711}
        database.write(lambda c, t=table, r=row: c.execute(sa.insert(t), r))
    database.write(lambda c: c.execute(sa.update(tables.resource_providers).values(generation=9)))
    clock.now += 61
    audited.current()

    assert audited.loads == {"first use": 1}


def test_a_question_of_one_moment_keeps_what_it_loads(rich_cloud, audited):
    for _ in range(2):
        audited.at_once(lambda connection, snapshot: snapshot)

    assert audited.loads == {"first use": 1}


def test_a_write_that_is_open_during_an_audit_is_noticed_by_the_next(
    rich_cloud, audited, new_connections, caplog
):
    audited.current()
    with new_connections().transaction() as connection:
        add_use(connection)
        audited.audit_in_background()
        assert WARNING not in caplog.text
    audited.audit_in_background()

    assert WARNING in caplog.text


def test_the_audit_finds_nothing_when_all_went_through_the_feed(service, cloud, audited, clock):
    audited.current()
    for write in (rename_a_class, reparent, new_names):
        write(service, cloud)
    clock.now += 61
    audited.audit_in_background()
    audited.current()

    assert audited.loads == {"first use": 1}


def test_what_is_deleted_while_an_audit_reads_is_no_difference(
    service, cloud, audited, monkeypatch, caplog
):
    """The search that takes the deletion in changes nothing of the snapshot that is compared."""
    cloud.build([HOST | {"name": "gone"}])
    audited.current()
    differences = comparison.differences

    def compare_late(*arguments):
        delete_and_search()
        return differences(*arguments)

    def delete_and_search():
        thread = threading.Thread(target=lambda: (delete(), audited.current()))
        thread.start()
        thread.join()

    def delete():
        path = f"/resource_providers/{cloud.uuids['gone']}"
        service.write("DELETE", path)

    monkeypatch.setattr(comparison, "differences", compare_late)
    audited.audit_in_background()
    monkeypatch.undo()

    assert WARNING not in caplog.text
    assert audited.current().slot(cloud.uuids["gone"]) is None
    assert audited.loads == {"first use": 1}


def test_a_worker_of_an_earlier_version_is_no_writer_that_bypasses_the_feed(
    cloud, audited, database, clock
):
    audited.current()
    use(database, 3)
    record_as_before_lanes(database, 1)
    audited.audit_in_background()

    assert used(audited) == 3
    assert audited.loads == {"first use": 1}


def test_names_that_a_newer_version_brings_are_heard_of(cloud, audited, database, clock):
    """Its first start stores them."""
    from placement.storage.schema import schema_upgrade

    database.write(
        lambda c: c.execute(
            sa.delete(tables.traits).where(tables.traits.c.name == "HW_CPU_X86_AVX")
        )
    )
    audited.current()
    schema_upgrade.sync_standard_names(database)

    assert "HW_CPU_X86_AVX" in audited.current().names.trait_ids
    clock.now += 61
    audited.current()
    assert audited.loads == {"first use": 1}


def test_news_that_come_while_it_compares_are_no_difference(cloud, audited, database, clock):
    audited.current()
    use(database, 3)
    record(database, 1, ChangeKind.USAGE)
    audited.audit_in_background()

    assert used(audited) == 3
    assert audited.loads == {"first use": 1}
    assert change_feed.has_news(database, change_feed.Cursor())
