"""What an audit proves holds for what searches have, whoever else reads and writes meanwhile."""

import random
import threading

import pytest
import sqlalchemy as sa

from placement.candidates.live import live_snapshot as live_module
from placement.candidates.live.comparison import differences
from placement.candidates.live.foreign_writers import AUTO, WATCHED, OtherWriters
from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind
from placement.storage.feed.generation_look import ALL_KINDS
from placement.storage.tables import (
    allocations,
    inventories,
    resource_provider_aggregates,
    resource_providers,
)
from tests.functional.placement.candidates.snapshot.comparing import assert_fresh, record, use
from tests.functional.placement.candidates.snapshot.test_audit import CLOUD, WARNING, nobody
from tests.functional.placement.topology import Cloud
from tests.patience import PATIENCE

on_postgresql = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)

HOST_ID, VCPU = 1, 0
EVERYTHING = ALL_KINDS | ChangeKind.USAGE


@pytest.fixture
def cloud(service):
    return Cloud(service).build(CLOUD)


@pytest.fixture
def audited(cloud, database, clock):
    live = LiveSnapshot(database, 60, clock=clock, watch=nobody)
    live.current()
    live.audit_in_background()
    return live


def change(database, source=random):
    """Change an inventory behind the feed; no total changes."""
    stock = inventories.c
    of_host = (stock.resource_provider_id == HOST_ID) & (stock.resource_class_id == VCPU)
    total = {"total": source.randrange(10, 10_000)}
    database.write(lambda c: c.execute(sa.update(inventories).where(of_host).values(total)))


def audit_at_rest(live, database):
    """Audit as long after that as to compare what searches have; it differs or is distrusted."""
    live.current()
    live.audit_in_background()
    held = live._held.snapshot
    different = database.read(lambda connection: differences(connection, held))
    assert live.is_distrusted == bool(different)


@on_postgresql
def test_a_search_that_is_quicker_than_a_waiting_audit(audited, database, monkeypatch, caplog):
    """The audit waits for a connection. Meanwhile a search takes in news, and somebody writes."""
    record(database, HOST_ID, EVERYTHING)
    read, begun = database.read, []

    def late(question):
        if not begun:
            begun.append(1)
            audited.current()
            change(database)
        return read(question)

    monkeypatch.setattr(database, "read", late)
    audited.audit_in_background()
    monkeypatch.undo()
    audit_at_rest(audited, database)

    assert WARNING in caplog.text


@on_postgresql
def test_a_search_that_is_slower_than_an_audit(
    audited, database, new_connections, monkeypatch, caplog
):
    """The search reads news, somebody writes, and an audit begins, before the search has them."""
    record(database, HOST_ID, EVERYTHING)
    read, inside, goes_on = change_feed.read, threading.Event(), threading.Event()
    searching = threading.Thread(target=audited.current)

    def slow(connection, *others):
        found = read(connection, *others)
        if threading.current_thread() is searching:
            inside.set()
            assert goes_on.wait(PATIENCE)
        return found

    monkeypatch.setattr(live_module.change_feed, "read", slow)
    searching.start()
    assert inside.wait(PATIENCE)
    change(new_connections())
    auditing = threading.Thread(target=audited.audit_in_background)
    auditing.start()
    auditing.join(0.2)
    goes_on.set()
    for thread in (searching, auditing):
        thread.join(PATIENCE)
    audit_at_rest(audited, database)

    assert WARNING in caplog.text


@on_postgresql
def test_searches_audits_and_writers_at_the_same_time(audited, database, new_connections):
    other, source = new_connections(), random.Random(7)
    for _ in range(40):
        waits = [source.random() * 0.004 for _ in range(3)]
        record(database, HOST_ID, EVERYTHING)
        acts = (audited.current, lambda: change(other), audited.audit_in_background)
        threads = [threading.Timer(wait, act) for wait, act in zip(waits, acts, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        audit_at_rest(audited, database)


@on_postgresql
def test_searches_without_end_put_no_audit_off(audited, database, monkeypatch, caplog):
    """Each try of the audit finds that a search began in between."""
    seen = live_module.seen

    def see(connection):
        found = seen(connection)
        record(database, HOST_ID)
        audited.current()
        return found

    monkeypatch.setattr(live_module, "seen", see)
    proven = audited._proven
    audited.audit_in_background()
    assert audited._proven == proven
    monkeypatch.undo()
    change(database)
    audit_at_rest(audited, database)

    assert caplog.text.count(WARNING) == 1


@on_postgresql
def test_a_search_that_takes_very_long_is_waited_for_once(audited, database, monkeypatch):
    waits = []
    monkeypatch.setattr(audited._refreshing, "wait_until_done", lambda: waits.append(1) or False)
    monkeypatch.setattr(audited._refreshing, "begun_at_rest", lambda: None)
    proven = audited._proven
    change(database)
    audited.audit_in_background()

    assert waits == [1]
    assert audited.is_distrusted
    assert audited._proven == proven


@on_postgresql
def test_the_last_audit_of_the_hour_in_which_others_may_write(cloud, database, clock, caplog):
    """It reads all of what the feed names; a search after the hour reads what was changed."""
    live = LiveSnapshot(database, 10_000, OtherWriters(AUTO, clock), clock, nobody)
    live.current()
    live._others.heard()
    live.current()
    live.audit_in_background()
    clock.now += WATCHED - 1
    change(database)
    use(database, 1)
    record(database, HOST_ID)
    live.audit_in_background()
    clock.now += 2
    audit_at_rest(live, database)

    assert WARNING in caplog.text


@on_postgresql
@pytest.mark.parametrize("is_told", [True, False], ids=["told", "seen"])
def test_what_is_left_of_a_provider_makes_up_for_no_deletion(
    cloud, database, clock, caplog, is_told
):
    live = LiveSnapshot(database, 60, OtherWriters(), clock, nobody)
    live.current()
    if not is_told:
        live._others.heard()
        live.current()
    live.audit_in_background()
    child = resource_providers.c.name == "child"
    find = sa.select(resource_providers.c.id).where(child)
    key = database.read(lambda c: c.execute(find).scalar())
    database.write(lambda c: c.execute(sa.delete(resource_providers).where(child)))
    if is_told:
        record(database, key, ChangeKind.DELETED)
    stock = inventories.c
    of_host = (stock.resource_provider_id == HOST_ID) & (stock.resource_class_id == VCPU)
    database.write(lambda c: c.execute(sa.delete(inventories).where(of_host)))
    audit_at_rest(live, database)

    assert WARNING in caplog.text


LEFT = {
    "inventories": {},
    "usage": {
        allocations: {"resource_class_id": 7, "consumer_id": "c", "used": 5},
    },
    "memberships": {resource_provider_aggregates: {"aggregate_id": 1}},
}


@pytest.mark.spread_over_databases
@pytest.mark.parametrize("rows", LEFT.values(), ids=LEFT)
def test_what_is_left_of_a_deleted_provider_is_not_there(cloud, database, clock, rows):
    live = LiveSnapshot(database, 60, clock=clock, watch=nobody)
    child = resource_providers.c.name == "child"
    find = sa.select(resource_providers.c.id).where(child)
    key = database.read(lambda c: c.execute(find).scalar())
    for table, row in rows.items():
        values = row | {"resource_provider_id": key}
        database.write(lambda c, t=table, v=values: c.execute(sa.insert(t), v))
    live.current()
    database.write(lambda c: c.execute(sa.delete(resource_providers).where(child)))
    record(database, key, ChangeKind.DELETED)

    assert_fresh(live, database)
