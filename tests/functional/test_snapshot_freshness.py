"""The snapshot of one process: every kind of write, gaps, trimming, bypassing writers."""

import threading
import uuid

import pytest
import sqlalchemy as sa

from placement.candidates import loading
from placement.candidates.fingerprint import alike, fingerprint
from placement.candidates.live import LiveSnapshot
from placement.errors import DatabaseUnavailable
from placement.storage import changes, snapshot_reads, tables
from placement.storage.changes import Cursor, Kind
from placement.storage.engine import Database, DatabaseSettings
from tests.functional.cloud import Cloud, Service

HOST = {"name": "host", "inventories": {"VCPU": {"total": 8}, "MEMORY_MB": {"total": 64}}}


class Clock:
    """Goes on when told."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def url(database_url):
    return database_url


@pytest.fixture
def service(url):
    return Service(url)


@pytest.fixture
def cloud(service):
    return Cloud(service).build([HOST])


@pytest.fixture
def database(service, url):
    return Database(DatabaseSettings(url, sqlite_synchronous=False))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def live(database, clock):
    return LiveSnapshot(database, clock=clock)


def at_once(task):
    task()


def picture(snapshot):
    """All that a snapshot says, by uuid and name, whatever its slots are."""
    forest, names = snapshot.forest, snapshot.names
    uuids = snapshot.register.uuids
    aggregates = {key: name for name, key in snapshot.aggregate_ids.items()}
    shown = {}
    for slot in range(snapshot.size):
        if not forest.alive[slot]:
            continue
        stock = {}
        for class_id, column in snapshot.columns.items():
            for at in range(len(column.slots)):
                if column.slots[at] == slot:
                    fields = ("total", "reserved", "min_unit", "max_unit", "step_size", "ratio")
                    record = [float(getattr(column, name)[at]) for name in fields]
                    dense = None if column.dense is None else int(column.dense[slot])
                    assert dense in (None, int(column.room[at]))
                    stock[names.classes[class_id]] = (*record, int(column.used[at]))
        parent = int(forest.parent[slot])
        root = int(forest.root[slot])
        shown[uuids[slot]] = {
            "parent": None if parent < 0 else uuids[parent],
            "root": uuids[root],
            "tree": slot in forest.members(root).tolist(),
            "traits": {names.traits[key] for key in snapshot.traits_of[slot]},
            "has": {
                names.traits[key] for key, s in snapshot.with_trait.items() if slot in s.slots()
            },
            "aggregates": {aggregates[key] for key in snapshot.aggregates_of[slot]},
            "in": {
                aggregates[key]
                for key, s in snapshot.in_aggregate.items()
                if s.mask(snapshot.size)[slot]
            },
            "classes": {names.classes[key] for key in snapshot.classes_of[slot]},
            "stock": stock,
        }
    return shown, dict(names.classes), dict(names.traits)


def assert_fresh(live, database):
    snapshot = live.current()
    anew = database.read(loading.load)
    assert picture(snapshot) == picture(anew)
    assert alike(fingerprint(snapshot), database.read(snapshot_reads.fingerprint))


def put(service, path, body, version="1.39"):
    service.write("PUT", path, body, version)


def inventories(service, cloud, name, stocks):
    path = f"/resource_providers/{cloud.uuids[name]}"
    generation = service.write("GET", path)["generation"]
    body = {"inventories": stocks, "resource_provider_generation": generation}
    put(service, f"{path}/inventories", body)


def traits_of(service, cloud, name, traits):
    path = f"/resource_providers/{cloud.uuids[name]}"
    generation = service.write("GET", path)["generation"]
    put(service, f"{path}/traits", {"traits": traits, "resource_provider_generation": generation})


def claim(service, cloud, consumer, amounts, generation=None):
    body = {
        "allocations": {cloud.uuids["host"]: {"resources": amounts}} if amounts else {},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }
    put(service, f"/allocations/{consumer}", body)


def reshape(service, cloud):
    cloud.build([{"name": "child", "parent": "host"}])
    claim(service, cloud, (consumer := str(uuid.uuid4())), {"VCPU": 2})
    host, child = cloud.uuids["host"], cloud.uuids["child"]
    generation = service.write("GET", f"/resource_providers/{host}")["generation"]
    body = {
        "inventories": {
            host: {
                "inventories": {"MEMORY_MB": {"total": 64}},
                "resource_provider_generation": generation,
            },
            child: {"inventories": {"VCPU": {"total": 8}}, "resource_provider_generation": 0},
        },
        "allocations": {
            consumer: {
                "allocations": {child: {"resources": {"VCPU": 2}}},
                "project_id": "p",
                "user_id": "u",
                "consumer_generation": 1,
                "consumer_type": "INSTANCE",
            }
        },
    }
    service.write("POST", "/reshaper", body)


def reparent(service, cloud):
    cloud.build([{"name": "a"}, {"name": "b", "parent": "a"}, {"name": "c", "parent": "b"}])
    body = {"name": "b", "parent_provider_uuid": cloud.uuids["host"]}
    put(service, f"/resource_providers/{cloud.uuids['b']}", body)


def become_a_root(service, cloud):
    cloud.build([{"name": "a", "parent": "host"}, {"name": "b", "parent": "a"}])
    body = {"name": "a", "parent_provider_uuid": None}
    put(service, f"/resource_providers/{cloud.uuids['a']}", body)


def delete_and_make_again(service, cloud):
    cloud.build([{**HOST, "name": "gone"}])
    key = cloud.uuids["gone"]
    service.write("DELETE", f"/resource_providers/{key}")
    service.write("POST", "/resource_providers", {"name": "other", "uuid": key})


def rename_a_class(service, cloud):
    service.write("POST", "/resource_classes", {"name": "CUSTOM_OLD"})
    inventories(service, cloud, "host", {"CUSTOM_OLD": {"total": 3}})
    put(service, "/resource_classes/CUSTOM_OLD", {"name": "CUSTOM_NEW"}, "1.6")


def replace_aggregates_of_old_versions(service, cloud):
    key, label = cloud.uuids["host"], str(uuid.uuid4())
    put(service, f"/resource_providers/{key}/aggregates", [label], "1.18")


def claim_more_and_less(service, cloud):
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    claim(service, cloud, first, {"VCPU": 2, "MEMORY_MB": 5})
    claim(service, cloud, second, {"VCPU": 1})
    claim(service, cloud, first, {"VCPU": 4}, 1)
    service.write("DELETE", f"/allocations/{second}")


def usage_without_inventory(service, cloud):
    """A class in use can't lose its inventory, but a reshape may leave the usage over it."""
    claim(service, cloud, str(uuid.uuid4()), {"VCPU": 4})
    inventories(service, cloud, "host", {"VCPU": {"total": 2, "allocation_ratio": 0.5}})


def add_and_remove_inventory(service, cloud):
    key = cloud.uuids["host"]
    inventories(service, cloud, "host", {"DISK_GB": {"total": 5, "step_size": 2}})
    body = {"resource_class": "VGPU", "total": 3}
    service.write("POST", f"/resource_providers/{key}/inventories", body)
    service.write("DELETE", f"/resource_providers/{key}/inventories/DISK_GB")


def remove_everything(service, cloud):
    key = cloud.uuids["host"]
    traits_of(service, cloud, "host", ["HW_CPU_X86_AVX2"])
    service.write("DELETE", f"/resource_providers/{key}/traits")
    service.write("DELETE", f"/resource_providers/{key}/inventories")


def new_names(service, cloud):
    service.write("PUT", "/traits/CUSTOM_FRESH")
    service.write("PUT", "/resource_classes/CUSTOM_FRESH_CLASS")
    service.write("PUT", "/traits/CUSTOM_SHORT_LIVED")
    service.write("DELETE", "/traits/CUSTOM_SHORT_LIVED")
    service.write("PUT", "/resource_classes/CUSTOM_SHORT_LIVED")
    service.write("DELETE", "/resource_classes/CUSTOM_SHORT_LIVED")


WRITES = [
    reshape,
    reparent,
    become_a_root,
    delete_and_make_again,
    rename_a_class,
    replace_aggregates_of_old_versions,
    claim_more_and_less,
    usage_without_inventory,
    add_and_remove_inventory,
    remove_everything,
    new_names,
]


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_after_this_write_the_snapshot_equals_one_loaded_anew(
    write, service, cloud, live, database
):
    live.current()

    write(service, cloud)

    assert_fresh(live, database)
    assert live.loads == {"first use": 1}


def test_all_writes_after_each_other_come_out_right_as_well(service, live, database):
    live.current()
    for write in WRITES:
        cloud = Cloud(service).build([{**HOST, "name": f"host of {write.__name__}"}])
        cloud.uuids["host"] = cloud.uuids[f"host of {write.__name__}"]
        for name in ("a", "b", "c", "child", "gone", "other"):
            rename_away(service, name)

        write(service, cloud)

        assert_fresh(live, database)


def rename_away(service, name):
    found = service.write("GET", f"/resource_providers?name={name}")["resource_providers"]
    for provider in found:
        body = {"name": f"{name} {provider['uuid']}"}
        put(service, f"/resource_providers/{provider['uuid']}", body, "1.13")


def test_nothing_is_loaded_when_nothing_happened(cloud, live):
    first = live.current()

    assert live.current() is first


def test_an_older_snapshot_does_not_change(service, cloud, live):
    old = live.current()
    before = picture(old)

    for write in (claim_more_and_less, delete_and_make_again, reparent):
        write(service, cloud)
        live.current()

    assert picture(old) == before


def record(database, provider_id, row_id=None, kind=Kind.USAGE):
    """A feed row as another writer's commit makes it appear, maybe late."""
    values = {"resource_provider_id": provider_id, "kind": int(kind)}
    if row_id is not None:
        values["id"] = row_id
    database.write(lambda c: c.execute(sa.insert(tables.provider_changes).values(values)))


def use(database, amount):
    """Usage that no feed row tells of yet."""
    row = {"resource_provider_id": 1, "resource_class_id": 0, "consumer_id": "c", "used": amount}
    database.write(lambda c: c.execute(sa.insert(tables.allocations).values(row)))


def used(live):
    column = live.current().columns[0]
    return int(column.used[0])


def newest(database):
    return database.read(changes.newest_id)


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


def test_a_new_process_starts_from_the_tables(service, cloud, database):
    claim_more_and_less(service, cloud)

    restarted = LiveSnapshot(database)

    assert_fresh(restarted, database)


def test_the_audit_notices_a_writer_that_bypasses_the_feed(cloud, database, clock):
    live = LiveSnapshot(database, audit_interval=60, clock=clock, run=at_once)
    live.current()
    use(database, 3)
    clock.now += 61
    live.current()

    assert used(live) == 3
    assert live.loads == {"first use": 1, "audit": 1}


def test_the_audit_finds_nothing_when_all_went_through_the_feed(service, cloud, database, clock):
    live = LiveSnapshot(database, audit_interval=60, clock=clock, run=at_once)
    live.current()
    for write in (rename_a_class, reparent, new_names):
        write(service, cloud)
    clock.now += 61
    live.current()

    assert live.loads == {"first use": 1}


def test_the_audit_notices_a_database_restored_from_a_backup(cloud, database, clock):
    live = LiveSnapshot(database, audit_interval=60, clock=clock, run=at_once)
    live.current()
    feed = tables.provider_changes
    database.write(lambda c: c.execute(sa.delete(feed)))
    clock.now += 61
    live.current()
    live.current()

    assert live.loads == {"first use": 1, "audit": 1}


def test_an_audit_that_meets_a_write_begins_again(cloud, database, clock):
    """What was written meanwhile is no reason for distrust."""

    def after_a_write(audit):
        use(database, 3)
        record(database, 1)
        audit()

    live = LiveSnapshot(database, audit_interval=60, clock=clock, run=after_a_write)
    live.current()
    clock.now += 61
    live.current()

    assert used(live) == 3
    assert live.loads == {"first use": 1}


@pytest.mark.parametrize("failure", [DatabaseUnavailable(), RuntimeError("rows without end")])
def test_an_audit_that_fails_is_logged_and_done_again_when_the_next_is_due(
    cloud, database, clock, monkeypatch, caplog, failure
):
    live = LiveSnapshot(database, audit_interval=60, clock=clock, run=at_once)
    live.current()
    use(database, 3)
    clock.now += 61

    def fail(connection):
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(snapshot_reads, "fingerprint", fail)
        assert used(live) == 0
    assert str(failure) in caplog.text
    clock.now += 61
    live.current()

    assert used(live) == 3


def test_without_an_interval_nothing_is_audited(cloud, database, clock):
    live = LiveSnapshot(database, audit_interval=0, clock=clock)
    live.current()
    use(database, 3)
    clock.now += 1e6

    assert used(live) == 0


def test_after_a_failure_with_half_of_the_news_taken_in_all_is_loaded(
    service, cloud, live, database, monkeypatch
):
    live.current()
    delete_and_make_again(service, cloud)

    def fail(*arguments):
        raise RuntimeError("the news are lost")

    with monkeypatch.context() as patch:
        patch.setattr(loading, "_changed_columns", fail)
        with pytest.raises(RuntimeError, match="the news are lost"):
            live.current()

    assert_fresh(live, database)
    assert live.loads == {"first use": 1, "failure": 1}


def test_many_changes_at_once_load_everything(service, cloud, live, database, monkeypatch):
    monkeypatch.setattr(loading, "_FEW", 1)
    live.current()
    cloud.build([{"name": "x"}, {"name": "y"}, {"name": "z"}])

    assert_fresh(live, database)


def test_slots_of_deleted_providers_are_given_back_in_the_end(
    service, cloud, live, database, monkeypatch
):
    monkeypatch.setattr("placement.candidates.live._FEW", 1)
    live.current()
    cloud.build([{"name": name} for name in "wxyz"])
    live.current()
    for name in "wxyz":
        service.write("DELETE", f"/resource_providers/{cloud.uuids[name]}")

    assert live.current().size == 1


def test_the_search_that_finds_an_audit_due_does_not_wait_for_it(cloud, database, clock):
    live = LiveSnapshot(database, audit_interval=60, clock=clock)
    live.current()
    use(database, 3)
    clock.now += 61

    live.current()
    for thread in threading.enumerate():
        if thread.name == "snapshot-audit":
            thread.join()

    assert used(live) == 3


def test_a_provider_that_got_the_id_of_a_deleted_one_is_not_taken_for_it(
    service, cloud, live, database
):
    cloud.build([HOST | {"name": "old"}])
    live.current()
    service.write("DELETE", f"/resource_providers/{cloud.uuids['old']}")
    cloud.build([HOST | {"name": "new"}])
    assert_fresh(live, database)
