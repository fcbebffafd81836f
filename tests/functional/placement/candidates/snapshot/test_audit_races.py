"""Audits notice what bypasses the feed, whoever else reads and writes meanwhile.

An audit compares a copy of its own, with the news of its transaction. Searches may go on with news
that they read a moment before. What the copy hides is noticed by the next audit.
"""

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
from tests.extent import examples
from tests.functional.placement.candidates.snapshot.comparing import (
    assert_fresh,
    nobody,
    record,
    use,
)
from tests.functional.placement.candidates.snapshot.test_audit import CLOUD, WARNING
from tests.functional.placement.topology import Cloud
from tests.patience import PATIENCE

pytestmark = pytest.mark.spread_over_databases

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
    """Change an inventory behind the feed."""
    stock = inventories.c
    of_host = (stock.resource_provider_id == HOST_ID) & (stock.resource_class_id == VCPU)
    total = {"total": source.randrange(10, 10_000)}
    database.write(lambda c: c.execute(sa.update(inventories).where(of_host).values(total)))


def audit_at_rest(live, database):
    """Audit while nobody else reads or writes: what searches have is distrusted if it differs."""
    live.current()
    live.audit_in_background()
    held = live._held.snapshot
    different = database.read(lambda connection: differences(connection, held))
    assert live.is_distrusted == bool(different)


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
    audited.audit_in_background()
    goes_on.set()
    searching.join(PATIENCE)
    audit_at_rest(audited, database)

    assert WARNING in caplog.text


def test_searches_audits_and_writers_at_the_same_time(audited, database, new_connections):
    other, source = new_connections(), random.Random(7)
    for _ in range(examples(15, 40)):
        waits = [source.random() * 0.004 for _ in range(3)]
        record(database, HOST_ID, EVERYTHING)
        acts = (audited.current, lambda: change(other), audited.audit_in_background)
        threads = [threading.Timer(wait, act) for wait, act in zip(waits, acts, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        audit_at_rest(audited, database)


def test_the_last_audit_of_the_hour_in_which_others_may_write(cloud, database, clock, caplog):
    """It reads all of what the feed names; a search after the hour reads what was changed."""
    others = OtherWriters(AUTO, clock)
    live = LiveSnapshot(database, 10_000, others, clock, nobody)
    live.current()
    others.heard()
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


@pytest.mark.parametrize("is_told", [True, False], ids=["told", "seen"])
def test_what_is_left_of_a_provider_makes_up_for_no_deletion(
    cloud, database, clock, caplog, is_told
):
    others = OtherWriters()
    live = LiveSnapshot(database, 60, others, clock, nobody)
    live.current()
    if not is_told:
        others.heard()
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


def test_a_generation_that_is_set_back_hides_nothing(cloud, database, clock, caplog):
    """An audit saw the write by its generation; no search did before it was set back."""
    live = LiveSnapshot(database, 60, OtherWriters(AUTO, clock), clock, nobody)
    live.current()
    generation = resource_providers.c.generation
    of_host = sa.update(resource_providers).where(resource_providers.c.id == HOST_ID)
    change(database)
    database.write(lambda c: c.execute(of_host.values(generation=generation + 1)))
    live.audit_in_background()
    database.write(lambda c: c.execute(of_host.values(generation=generation - 1)))
    audit_at_rest(live, database)

    assert WARNING in caplog.text


LEFT = {
    "inventories": {},
    "usage": {
        allocations: {"resource_class_id": 7, "consumer_id": "c", "used": 5},
    },
    "memberships": {resource_provider_aggregates: {"aggregate_id": 1}},
}


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
