"""Searches look at the providers' generations while a writer without the change feed may write."""

import datetime

import pytest
import sqlalchemy as sa

from placement.candidates.live.foreign_writers import ALWAYS, AUTO, NEVER, WATCHED, OtherWriters
from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.storage import tables
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind
from tests.functional.placement.candidates.snapshot.comparing import assert_fresh, nobody, picture
from tests.functional.placement.candidates.snapshot.writes import WRITES, claim_more_and_less
from tests.functional.placement.topology import Cloud

pytestmark = pytest.mark.spread_over_databases

RP = tables.resource_providers


@pytest.fixture
def others(clock):
    return OtherWriters(AUTO, clock)


@pytest.fixture
def snapshot_beside(new_connections, clock):
    """Return a function that makes a process's snapshot, with its view of other writers."""

    def made(others):
        return LiveSnapshot(new_connections(), 60, others, clock, nobody)

    return made


@pytest.fixture
def quiet_cloud(cloud, database):
    """Return a cloud that no one changed in the last hour."""
    long_ago = datetime.datetime(2020, 1, 1)
    database.write(
        lambda c: c.execute(sa.update(RP).values(created_at=long_ago, updated_at=long_ago))
    )
    return cloud


def raised(connection, uuid):
    now = tables.utcnow()
    values = {"generation": RP.c.generation + 1, "updated_at": now}
    connection.execute(sa.update(RP).where(RP.c.uuid == uuid).values(values))


def id_of(connection, uuid):
    return connection.execute(sa.select(RP.c.id).where(RP.c.uuid == uuid)).scalar_one()


def restock(connection, uuid, total=3):
    """Change an inventory as OpenStack Placement does."""
    stock = tables.inventories
    mine = stock.c.resource_provider_id == id_of(connection, uuid)
    connection.execute(sa.update(stock).where(mine).values(total=total))
    raised(connection, uuid)


def add_provider(connection, uuid):
    (newest,) = connection.execute(sa.select(sa.func.max(RP.c.id))).one()
    connection.execute(
        sa.insert(RP),
        {"id": newest + 1, "uuid": "new", "name": "new", "root_provider_id": newest + 1},
    )


def delete_provider(connection, uuid):
    connection.execute(
        sa.delete(tables.inventories).where(
            tables.inventories.c.resource_provider_id == id_of(connection, uuid)
        )
    )
    # MariaDB deletes no row that refers to itself
    connection.execute(sa.update(RP).where(RP.c.uuid == uuid).values(root_provider_id=None))
    connection.execute(sa.delete(RP).where(RP.c.uuid == uuid))


def move_provider(connection, uuid):
    """Move the provider, which raises no generation."""
    add_provider(connection, uuid)
    parent = id_of(connection, "new")
    values = {"parent_provider_id": parent, "root_provider_id": parent}
    connection.execute(sa.update(RP).where(RP.c.uuid == uuid).values(values))


def add_names(connection, uuid):
    connection.execute(sa.insert(tables.traits), {"name": "CUSTOM_THEIRS"})
    connection.execute(sa.insert(tables.resource_classes), {"id": 10001, "name": "CUSTOM_CLASS"})


def use_a_new_trait(connection, uuid):
    connection.execute(sa.insert(tables.traits), {"name": "CUSTOM_THEIRS"})
    trait = connection.execute(sa.select(sa.func.max(tables.traits.c.id))).scalar_one()
    row = {"resource_provider_id": id_of(connection, uuid), "trait_id": trait}
    connection.execute(sa.insert(tables.resource_provider_traits), row)
    raised(connection, uuid)


THEIR_WRITES = [
    restock,
    add_provider,
    delete_provider,
    move_provider,
    add_names,
    use_a_new_trait,
]


@pytest.mark.parametrize("their_write", THEIR_WRITES)
def test_a_search_sees_what_others_wrote(cloud, database, snapshot_beside, their_write):
    live = snapshot_beside(OtherWriters(ALWAYS))
    before = picture(live.current())
    database.write(lambda connection: their_write(connection, cloud.uuids["host"]))
    assert_fresh(live, database)
    assert picture(live.current()) != before
    assert live.loads == {"first use": 1}


@pytest.mark.parametrize("write", WRITES)
def test_own_writes_are_not_taken_for_those_of_others(
    service, cloud, database, snapshot_beside, clock, others, write
):
    others.heard()
    live = snapshot_beside(others)
    live.current()
    clock.now += WATCHED - 1
    write(service, cloud)
    assert_fresh(live, database)
    live.audit_in_background()
    assert others.may_write
    clock.now += 2
    assert not others.may_write


def test_a_claim_of_ours_and_a_write_of_theirs_are_both_seen(
    service, cloud, database, snapshot_beside
):
    live = snapshot_beside(OtherWriters(ALWAYS))
    live.current()
    for _ in range(2):
        claim_more_and_less(service, cloud)
        database.write(lambda connection: restock(connection, cloud.uuids["host"], 50))
        assert_fresh(live, database)
    assert live.loads == {"first use": 1}


def test_a_claim_of_ours_hides_no_write_of_theirs_until_searches_look(
    service, cloud, database, snapshot_beside, others
):
    live = snapshot_beside(others)
    live.current()
    database.write(lambda connection: restock(connection, cloud.uuids["host"], 50))
    claim_more_and_less(service, cloud)
    live.current()
    assert not others.may_write
    others.seen()
    assert_fresh(live, database)
    assert live.loads == {"first use": 1}


def test_a_claim_of_ours_hides_no_write_of_theirs_from_the_audit(
    service, cloud, database, snapshot_beside, others, caplog
):
    live = snapshot_beside(others)
    live.current()
    database.write(lambda connection: restock(connection, cloud.uuids["host"], 50))
    claim_more_and_less(service, cloud)
    live.current()
    live.audit_in_background()
    assert "behind the change feed (inventories)" in caplog.text
    assert others.may_write
    assert_fresh(live, database)


def test_claims_of_ours_are_not_taken_for_writes_of_others(service, cloud, snapshot_beside, others):
    live = snapshot_beside(others)
    live.current()
    claim_more_and_less(service, cloud)
    live.current()
    live.audit_in_background()
    assert not others.may_write


def test_without_news_a_look_is_one_statement_more(cloud, snapshot_beside, new_connections, clock):
    costs = {}
    for beside in (NEVER, AUTO, ALWAYS):
        database = new_connections()
        live = LiveSnapshot(database, 0, OtherWriters(beside, clock), clock, nobody)
        live.current()
        before = database.statements
        live.current()
        costs[beside] = database.statements - before
    assert costs == {NEVER: 1, AUTO: 1, ALWAYS: 2}


def test_searches_look_from_the_first_audit_that_finds_another_writer(
    quiet_cloud, database, snapshot_beside, others, caplog
):
    live = snapshot_beside(others)
    host = quiet_cloud.uuids["host"]
    before = picture(live.current())
    database.write(lambda connection: restock(connection, host))
    assert picture(live.current()) == before
    with caplog.at_level("INFO"):
        live.audit_in_background()
    assert "Another service writes" in caplog.text
    assert "behind the change feed" not in caplog.text
    assert_fresh(live, database)
    database.write(lambda connection: restock(connection, host, 5))
    assert_fresh(live, database)
    assert live.loads == {"first use": 1}


def test_what_one_worker_finds_all_workers_know(
    quiet_cloud, database, snapshot_beside, clock, others
):
    theirs = OtherWriters(AUTO, clock)
    live, beside = snapshot_beside(others), snapshot_beside(theirs)
    live.current()
    beside.current()
    database.write(lambda connection: restock(connection, quiet_cloud.uuids["host"]))
    live.audit_in_background()
    assert not theirs.may_write
    beside.current()
    assert theirs.may_write
    assert_fresh(beside, database)


def test_searches_look_no_longer_than_an_hour_after_the_last_write_of_others(
    quiet_cloud, database, snapshot_beside, clock, others
):
    others.seen()
    live = snapshot_beside(others)
    live.current()
    clock.now += WATCHED - 1
    database.write(lambda connection: restock(connection, quiet_cloud.uuids["host"]))
    live.current()
    clock.now += WATCHED - 1
    assert others.may_write
    clock.now += 2
    assert not others.may_write


def test_a_worker_that_starts_looks_if_others_wrote_in_the_last_hour(
    quiet_cloud, service, database, snapshot_beside, clock
):
    ours, later = OtherWriters(AUTO, clock), OtherWriters(AUTO, clock)
    snapshot_beside(ours).current()
    assert not ours.may_write
    database.write(lambda connection: restock(connection, quiet_cloud.uuids["host"]))
    # some time after what this service wrote
    soon = tables.utcnow() + datetime.timedelta(minutes=1)
    database.write(lambda c: c.execute(sa.update(RP).values(updated_at=soon)))
    snapshot_beside(later).current()
    assert later.may_write


def test_a_worker_that_starts_looks_if_another_worker_noticed_others(
    quiet_cloud, database, snapshot_beside, clock, others
):
    live = snapshot_beside(others)
    live.current()
    database.write(lambda connection: restock(connection, quiet_cloud.uuids["host"]))
    live.audit_in_background()
    # no provider shows the write any more, as after a write of ours to the same provider
    database.write(lambda c: c.execute(sa.update(RP).values(updated_at=RP.c.created_at)))
    soon, later = OtherWriters(AUTO, clock), OtherWriters(AUTO, clock)
    snapshot_beside(soon).current()
    assert soon.may_write
    changes = tables.provider_changes
    long_ago = tables.utcnow() - datetime.timedelta(seconds=WATCHED + 60)
    database.write(lambda c: c.execute(sa.update(changes).values(created_at=long_ago)))
    snapshot_beside(later).current()
    assert not later.may_write


def test_a_worker_that_starts_takes_our_own_writes_for_ours(
    service, quiet_cloud, snapshot_beside, others
):
    Cloud(service).build([{"name": "more", "inventories": {"VCPU": {"total": 1}}}])
    snapshot_beside(others).current()
    assert not others.may_write


def test_nothing_is_looked_at_if_never_is_chosen(quiet_cloud, database, snapshot_beside, caplog):
    live = snapshot_beside(OtherWriters(NEVER))
    live.current()
    database.write(lambda connection: restock(connection, quiet_cloud.uuids["host"]))
    live.audit_in_background()
    assert "behind the change feed (inventories)" in caplog.text
    assert_fresh(live, database)
    assert live.loads == {"first use": 1, "audit": 1}


def test_the_audit_warns_only_of_what_a_look_does_not_show(
    quiet_cloud, database, snapshot_beside, caplog
):
    live = snapshot_beside(OtherWriters(ALWAYS))
    live.current()
    database.write(lambda connection: restock(connection, quiet_cloud.uuids["host"]))
    live.audit_in_background()
    assert "behind the change feed" not in caplog.text
    live.current()
    stock = tables.inventories
    database.write(lambda c: c.execute(sa.update(stock).values(reserved=1)))
    live.audit_in_background()
    assert "behind the change feed (inventories)" in caplog.text


def test_workers_of_an_earlier_version_read_the_message_as_one_about_names(
    quiet_cloud, database, snapshot_beside
):
    live = snapshot_beside(OtherWriters(NEVER))
    live.current()
    database.write(change_feed.record_others)
    with database.engine.connect() as connection:
        row = connection.execute(
            sa.select(tables.provider_changes).order_by(tables.provider_changes.c.id.desc())
        ).first()
    assert (row.resource_provider_id, row.kind) == (NO_PROVIDER, ChangeKind.OTHERS)
    assert_fresh(live, database)


def test_a_failure_to_tell_others_does_not_fail_the_audit(
    quiet_cloud, database, snapshot_beside, others, monkeypatch, caplog
):
    live = snapshot_beside(others)
    live.current()
    database.write(lambda connection: restock(connection, quiet_cloud.uuids["host"]))

    def full(connection):
        raise sa.exc.OperationalError("", {}, Exception("disk full"))

    monkeypatch.setattr(change_feed, "record_others", full)
    live.audit_in_background()
    assert "failed" not in caplog.text
    assert_fresh(live, database)


class TestAFeedThatWasTrimmed:
    """The rows of our own writes are gone, so those providers show nothing."""

    @pytest.fixture
    def trimmed(self, quiet_cloud, service, database, monkeypatch):
        """Return the cloud after our own writes to all of its providers, most rows trimmed."""
        monkeypatch.setattr(change_feed, "KEPT", 3)
        while_ago = datetime.timedelta(minutes=50)
        feed = tables.provider_changes
        database.write(
            lambda c: (
                c.execute(sa.delete(feed)),
                c.execute(sa.update(RP).values(updated_at=tables.utcnow() - while_ago)),
                change_feed.record(c, range(1001, 1005), ChangeKind.USAGE),
            )
        )
        return quiet_cloud

    def test_makes_nobody_look(self, trimmed, snapshot_beside, others):
        snapshot_beside(others).current()
        assert not others.may_write

    def test_still_shows_who_wrote_later(self, trimmed, snapshot_beside, others, database):
        def wrote(connection):
            soon = tables.utcnow() + datetime.timedelta(seconds=10)
            connection.execute(sa.update(RP).values(updated_at=soon))

        database.write(wrote)
        snapshot_beside(others).current()
        assert others.may_write
