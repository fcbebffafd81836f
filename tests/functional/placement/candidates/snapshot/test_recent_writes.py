"""Audits on PostgreSQL read what was written since the audit before, and miss nothing else."""

import random
import uuid

import pytest
import sqlalchemy as sa

from placement.candidates.live import recent_writes
from placement.candidates.live.comparison import differences
from placement.candidates.live.foreign_writers import OtherWriters
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
from tests.functional.placement.candidates.snapshot.comparing import (
    assert_fresh,
    record,
    use,
    used,
)
from tests.functional.placement.candidates.snapshot.test_audit import (
    BYPASSING,
    CLOUD,
    WARNING,
    nobody,
)
from tests.functional.placement.serving.programs import wait_until
from tests.functional.placement.topology import Cloud

pytestmark = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)

VCPU, MEMORY_MB = 0, 1
STOCK = {"reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}


@pytest.fixture
def cloud(service, database):
    found = Cloud(service).build(CLOUD)
    use(database, 1)
    record(database, 1)
    return found


@pytest.fixture
def audited(cloud, database, clock):
    live = LiveSnapshot(database, audit_interval=60, clock=clock, watch=nobody)
    live.current()
    return live


@pytest.fixture
def whole(monkeypatch):
    """Return a list that gets an element whenever all is compared."""
    found = []

    def compare(*arguments):
        found.append(1)
        return differences(*arguments)

    monkeypatch.setattr(recent_writes, "differences", compare)
    return found


def wait_until_nobody_is_older(database):
    """Wait until each transaction of the server began after what is written by now.

    Other tests share the server. A row may be new as long as a transaction is older than it.
    """

    def number_of(end):
        question = sa.text(f"SELECT {end}(pg_current_snapshot())::text")
        return int(database.read(lambda connection: connection.execute(question).scalar_one()))

    written = number_of("pg_snapshot_xmax")
    wait_until(lambda: number_of("pg_snapshot_xmin") >= written, lambda: "somebody is older")


def execute(statement, values=None):
    return lambda connection: connection.execute(statement, values)


def first_of(table):
    return table.c.id == sa.select(sa.func.min(table.c.id)).scalar_subquery()


def in_another_place(connection):
    """Move it: the total stays the same."""
    connection.execute(sa.delete(allocations))
    row = {"resource_provider_id": 1, "resource_class_id": MEMORY_MB, "consumer_id": "c", "used": 1}
    connection.execute(sa.insert(allocations), row)


def replaced_by_a_stray(connection):
    """Leave as many rows as before."""
    connection.execute(sa.delete(inventories).where(first_of(inventories)))
    row = STOCK | {"resource_provider_id": 4711, "resource_class_id": 0, "total": 1}
    connection.execute(sa.insert(inventories), row)


def in_a_savepoint(connection):
    with connection.plain.begin_nested():
        connection.execute(sa.update(inventories).where(first_of(inventories)).values(total=7))


def statements(*texts):
    return lambda connection: [connection.execute(sa.text(text)) for text in texts]


DELETING = {
    "usage goes": execute(sa.delete(allocations)),
    "usage is elsewhere": in_another_place,
    "usage is another": execute(sa.update(allocations).values(used=2)),
    "an inventory goes": execute(sa.delete(inventories).where(first_of(inventories))),
    "an inventory is a stray": replaced_by_a_stray,
    "an inventory, in a savepoint": in_a_savepoint,
    "columns exchange their names": statements(
        "ALTER TABLE inventories RENAME total TO other",
        "ALTER TABLE inventories RENAME min_unit TO total",
        "ALTER TABLE inventories RENAME other TO min_unit",
    ),
    "a column is made anew": statements(
        "ALTER TABLE inventories DROP reserved, ADD reserved integer NOT NULL DEFAULT 3"
    ),
    "a column is of another kind": statements(
        "ALTER TABLE inventories ALTER total TYPE integer USING (total * 2)"
    ),
    "all traits go": execute(sa.delete(resource_provider_traits)),
    "all leave": execute(sa.delete(resource_provider_aggregates)),
    "all goes": lambda connection: [
        connection.execute(sa.delete(table))
        for table in (
            allocations,
            inventories,
            resource_provider_traits,
            resource_provider_aggregates,
            resource_providers,
        )
    ],
}
WRITES = BYPASSING | DELETING


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_whatever_bypasses_the_feed_is_found(audited, database, whole, caplog, monkeypatch, write):
    audited.audit_in_background()
    assert (whole, caplog.text.count(WARNING)) == ([], 0)

    database.write(write)
    wait_until_nobody_is_older(database)
    audited.audit_in_background()

    assert caplog.text.count(WARNING) == 1
    assert_fresh(audited, database)
    assert audited.loads == {"first use": 1, "audit": 1}
    whole.clear()
    audited.audit_in_background()
    assert whole == []


def test_what_went_through_the_feed_is_as_it_was_read(audited, database, service, cloud, whole):
    for number in range(3):
        new = {"name": f"new{number}", "parent": "host", "inventories": {"VCPU": {"total": 4}}}
        cloud.build([new])
        service.write("DELETE", f"/resource_providers/{cloud.uuids['other']}")
        cloud.build([{"name": "other", "inventories": {"VCPU": {"total": 2}}}])
        use(database, 1)
        record(database, 1)
        if number % 2:
            audited.current()
        audited.audit_in_background()

    assert whole == []
    assert_fresh(audited, database)


def test_a_write_that_was_open_during_an_audit_is_found_by_the_next(
    audited, new_connections, whole, caplog
):
    with new_connections().transaction() as connection:
        use_of = {"resource_provider_id": 1, "resource_class_id": MEMORY_MB, "consumer_id": "c"}
        connection.execute(sa.insert(allocations), use_of | {"used": 3})
        audited.audit_in_background()
        # its number is lower than those of others that are finished
        use(new_connections(), 1)
        record(new_connections(), 1)
        audited.current()
        audited.audit_in_background()
        assert (whole, caplog.text.count(WARNING)) == ([], 0)
    audited.audit_in_background()

    assert caplog.text.count(WARNING) == 1


def test_rows_of_providers_that_are_not_there_cost_one_comparison(audited, database, whole, caplog):
    rows = {
        allocations: {"resource_class_id": 0, "consumer_id": "c", "used": 5},
        inventories: STOCK | {"resource_class_id": 0, "total": 1},
        resource_provider_aggregates: {"aggregate_id": 1},
    }
    for table, row in rows.items():
        database.write(execute(sa.insert(table), row | {"resource_provider_id": 4711}))
    wait_until_nobody_is_older(database)
    audited.audit_in_background()
    assert len(whole) == 1
    audited.audit_in_background()
    assert len(whole) == 1

    database.write(execute(sa.delete(allocations).where(allocations.c.used == 5)))
    audited.audit_in_background()
    assert len(whole) == 2
    assert WARNING not in caplog.text
    use(database, 1)
    audited.audit_in_background()
    assert WARNING in caplog.text


def test_a_table_that_gets_old_rows_of_another_is_compared(audited, database, caplog):
    database.write(
        statements(
            "CREATE TABLE kept (LIKE inventories)",
            "INSERT INTO kept SELECT * FROM inventories ORDER BY id LIMIT 1",
            "UPDATE kept SET total = 77",
        )
    )
    audited.audit_in_background()
    database.write(
        statements(
            "DELETE FROM inventories WHERE id IN (SELECT id FROM kept)",
            "ALTER TABLE kept INHERIT inventories",
        )
    )
    audited.audit_in_background()

    assert WARNING in caplog.text


def test_amounts_below_nothing_make_up_for_no_deletion(audited, database, caplog):
    rows = [
        {"resource_provider_id": key, "resource_class_id": 1, "consumer_id": "d", "used": used}
        for key, used in ((1, 5), (2, -5))
    ]
    database.write(execute(sa.insert(allocations), rows))
    audited.audit_in_background()
    audited.current()
    audited.audit_in_background()
    caplog.clear()
    database.write(execute(sa.delete(allocations).where(allocations.c.consumer_id == "d")))
    audited.audit_in_background()

    assert WARNING in caplog.text


def test_a_generation_alone_is_no_difference(audited, database, whole, caplog):
    database.write(execute(sa.update(resource_providers).values(generation=9)))
    audited.audit_in_background()

    assert WARNING not in caplog.text
    assert whole == []


def test_after_so_many_audits_all_is_compared(audited, whole, monkeypatch):
    monkeypatch.setattr(recent_writes, "MOST_IN_TURN", 3)
    for _ in range(8):
        audited.audit_in_background()

    assert len(whole) == 2


def test_after_so_many_writes_all_is_compared(audited, database, whole, caplog, monkeypatch):
    monkeypatch.setattr(recent_writes, "_MANY", 2)
    ids = database.read(lambda c: c.execute(sa.select(resource_providers.c.id)).scalars().all())
    for key in ids[:2]:
        database.write(
            lambda connection, key=key: change_feed.record(connection, [key], ChangeKind.ROW)
        )
        generation = {"generation": resource_providers.c.generation + 1}
        of_one = sa.update(resource_providers).where(resource_providers.c.id == key)
        database.write(execute(of_one.values(generation)))
    audited.audit_in_background()
    assert whole == []

    database.write(execute(sa.update(resource_providers).values(generation)))
    audited.audit_in_background()
    assert len(whole) == 1
    assert WARNING not in caplog.text


def test_on_another_server_all_is_compared(audited, whole, monkeypatch):
    found = recent_writes.row_versions.age
    monkeypatch.setattr(recent_writes.row_versions, "age", lambda *arguments: None)
    audited.audit_in_background()
    assert len(whole) == 1
    monkeypatch.setattr(recent_writes.row_versions, "age", found)
    audited.audit_in_background()
    assert len(whole) == 1


def test_what_a_look_showed_is_not_proven_before_a_search_has_it(
    cloud, database, clock, whole, caplog
):
    """A search may never take it in: the generation may be as it was before by then."""
    live = LiveSnapshot(database, 60, OtherWriters(), clock, nobody)
    live.current()
    generation = resource_providers.c.generation
    of_host = sa.update(resource_providers).where(resource_providers.c.name == "host")
    database.write(execute(sa.update(inventories).where(first_of(inventories)).values(total=7)))
    database.write(execute(of_host.values(generation=generation + 1)))
    live.audit_in_background()
    database.write(execute(of_host.values(generation=generation - 1)))
    live.current()
    live.audit_in_background()

    assert WARNING in caplog.text


def test_a_preloaded_snapshot_brings_its_proof(cloud, database, clock, whole, caplog):
    parent = LiveSnapshot(database, 60, clock=clock, watch=nobody)
    preloaded = parent.preloaded()
    worker = LiveSnapshot(database, 60, clock=clock, watch=nobody, preloaded=preloaded)
    worker.current()
    worker.audit_in_background()
    assert whole == []

    use(database, 3)
    worker.audit_in_background()
    assert used(worker) == 4
    assert caplog.text.count(WARNING) == 1


def test_without_audits_nothing_is_proven(cloud, database, clock, monkeypatch):
    monkeypatch.setattr(recent_writes.row_versions, "moment", None)
    live = LiveSnapshot(database, 0, clock=clock, watch=nobody)
    live.current()

    assert live.loads == {"first use": 1}


#: of random writes; more of them are for thorough runs
SEEDS = [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(3, 8))]


def _write(connection, source):
    """Write something; return the ids of the providers that the feed would name."""
    keys = connection.execute(sa.select(resource_providers.c.id)).scalars().all()
    key, class_id = source.choice(keys), source.choice([VCPU, MEMORY_MB])
    at = {"resource_provider_id": key, "resource_class_id": class_id}
    match source.randrange(9):
        case 0:
            row = at | {"consumer_id": "c", "used": source.randrange(1, 4)}
            connection.execute(sa.insert(allocations), row)
        case 1:
            rows = connection.execute(sa.select(allocations)).all()
            if rows:
                row = source.choice(rows)
                key = row.resource_provider_id
                connection.execute(sa.delete(allocations).where(allocations.c.id == row.id))
        case 2:
            chosen = sa.and_(*(inventories.c[name] == value for name, value in at.items()))
            connection.execute(sa.delete(inventories).where(chosen))
            row = STOCK | at | {"total": source.randrange(1, 4)}
            connection.execute(sa.insert(inventories), row)
        case 3:
            chosen = sa.and_(*(inventories.c[name] == value for name, value in at.items()))
            connection.execute(sa.delete(inventories).where(chosen))
        case 4:
            table = resource_provider_traits
            connection.execute(sa.delete(table).where(table.c.resource_provider_id == key))
        case 5:
            table, trait_id = resource_provider_traits, source.randrange(1, 4)
            of_both = (table.c.resource_provider_id == key) & (table.c.trait_id == trait_id)
            connection.execute(sa.delete(table).where(of_both))
            row = {"resource_provider_id": key, "trait_id": trait_id}
            connection.execute(sa.insert(table), row)
        case 6:
            table = resource_provider_aggregates
            connection.execute(sa.delete(table).where(table.c.resource_provider_id == key))
        case 7:
            values = {"uuid": str(uuid.UUID(int=source.getrandbits(128))), "generation": 0}
            found = connection.execute(
                sa.insert(resource_providers).values(values).returning(resource_providers.c.id)
            )
            key = found.scalar()
            own = resource_providers.c.id == key
            connection.execute(
                sa.update(resource_providers).where(own).values(root_provider_id=key)
            )
        case 8:
            update = sa.update(resource_providers).where(resource_providers.c.id == key)
            connection.execute(update.values(generation=resource_providers.c.generation + 1))
    return [key]


@pytest.mark.parametrize("seed", SEEDS)
def test_it_finds_what_a_comparison_finds_among_writes_of_both_kinds(
    audited, database, monkeypatch, seed
):
    """Writes that the feed names, and writes that it doesn't, in any order, between audits."""
    source, verdicts = random.Random(seed), []

    def compare(connection, snapshot, *others):
        found = recent_writes.compare(connection, snapshot, *others)
        wanted = differences(connection, snapshot)
        verdicts.append((found.different, wanted))
        return found

    monkeypatch.setattr("placement.candidates.live.live_snapshot.compare", compare)
    for _ in range(30):
        for _ in range(source.randrange(4)):
            is_told = source.random() < 0.85
            with database.transaction() as connection:
                keys = _write(connection, source)
                if is_told:
                    change_feed.record(connection, keys, ALL_KINDS | ChangeKind.USAGE)
            if source.random() < 0.3:
                audited.current()
        audited.audit_in_background()
        audited.current()

    assert all(found == wanted for found, wanted in verdicts)
    assert any(wanted for _, wanted in verdicts)
    assert [] in [wanted for _, wanted in verdicts]
