"""An audit compares a copy of its own: the next one notices what searches lack and the copy had."""

import pytest
import sqlalchemy as sa

from placement.candidates.live import comparison
from placement.candidates.live.foreign_writers import AUTO, WATCHED, OtherWriters
from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.storage.feed import change_feed
from placement.storage.feed.generation_look import ALL_KINDS
from tests.functional.placement.candidates.snapshot.comparing import nobody, record, use
from tests.functional.placement.candidates.snapshot.test_audit import CLOUD, WARNING
from tests.functional.placement.topology import Cloud

pytestmark = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
BEHIND = "UPDATE inventories SET total = 7777 WHERE resource_provider_id = 1"
#: all that a provider has, and itself, though it has a child
DELETE_HOST = (
    "SET LOCAL session_replication_role = replica",
    "CREATE TABLE kept AS SELECT * FROM resource_providers WHERE id = 1",
    *(
        f"DELETE FROM {table} WHERE resource_provider_id = 1"
        for table in (
            "allocations",
            "inventories",
            "resource_provider_traits",
            "resource_provider_aggregates",
        )
    ),
    "DELETE FROM resource_providers WHERE id = 1",
)


@pytest.fixture
def cloud(service):
    return Cloud(service).build(CLOUD)


@pytest.fixture(params=["never", "auto"])
def live(cloud, database, clock, request):
    use(database, 1)
    found = LiveSnapshot(database, 60, OtherWriters(request.param, clock), clock, nobody)
    found.current()
    found.audit_in_background()
    return found


def write(database, *texts, told=()):
    """Run statements in one transaction; the change feed names the providers given."""

    def operation(connection):
        for text in texts:
            connection.execute(sa.text(text))
        if told:
            change_feed.record(connection, told, ALL_KINDS)

    database.write(operation)


def key_of(database, name):
    text = sa.text(f"SELECT id FROM resource_providers WHERE name = '{name}'")
    return database.read(lambda connection: connection.execute(text).scalar())


def left(live, database):
    """Return what differs from what searches have after two more audits."""
    live.current()
    for _ in range(2):
        live.audit_in_background()
        live.current()
    held = live.current()
    return database.read(lambda connection: comparison.differences(connection, held))


def test_a_copy_that_was_loaded_anew_hides_nothing(live, database, service, cloud):
    """The sequence was set back, as after an incomplete restore, so an id is given again."""
    cloud.build([{"name": "x"}])
    key = key_of(database, "x")
    live.current()
    live.audit_in_background()
    service.write("DELETE", f"/resource_providers/{cloud.uuids['x']}")
    write(database, f"SELECT setval('resource_providers_id_seq', {key}, false)")
    cloud.build([{"name": "y"}])
    assert key_of(database, "y") == key
    write(database, BEHIND)
    live.audit_in_background()
    service.write("DELETE", f"/resource_providers/{cloud.uuids['y']}")

    assert left(live, database) == []


def test_a_uuid_that_was_another_one_for_a_while_hides_nothing(live, database, cloud):
    key, uuid = key_of(database, "other"), cloud.uuids["other"]
    write(database, f"UPDATE resource_providers SET uuid = 'zz' WHERE id = {key}", told=[key])
    write(database, BEHIND)
    live.audit_in_background()
    write(database, f"UPDATE resource_providers SET uuid = '{uuid}' WHERE id = {key}")

    assert left(live, database) == []


def test_a_parent_that_is_gone_is_noticed_though_its_child_is_as_it_was(live, database):
    write(database, *DELETE_HOST, told=[1])

    assert left(live, database) == []


def test_a_parent_that_is_there_again_is_noticed(live, database):
    write(database, *DELETE_HOST, told=[1])
    live.current()
    write(database, "INSERT INTO resource_providers SELECT * FROM kept", told=[1])

    assert left(live, database) == []


def test_an_amount_below_nothing_that_is_gone_makes_up_for_no_deletion(live, database, caplog):
    taken = "INSERT INTO allocations (resource_class_id, consumer_id, resource_provider_id, used)"
    write(database, f"{taken} VALUES (0, 'd', 1, 6), (0, 'e', 2, 5)", told=[1, 2])
    live.current()
    live.audit_in_background()
    write(database, f"{taken} VALUES (0, 'f', 1, -5)", told=[1])
    for _ in range(2):
        live.current()
        live.audit_in_background()
    assert WARNING not in caplog.text
    write(database, "DELETE FROM allocations WHERE consumer_id IN ('e', 'f')")

    assert left(live, database) == []


def test_an_audit_that_hears_of_others_in_between_hides_nothing(
    cloud, database, clock, monkeypatch
):
    others = OtherWriters(AUTO, clock)
    live = LiveSnapshot(database, 60, others, clock, nobody)
    live.current()
    live.audit_in_background()
    write(database, BEHIND)
    # a claim
    record(database, 1)
    with_news = comparison.with_news

    def hear(*arguments):
        others.heard()
        return with_news(*arguments)

    monkeypatch.setattr(comparison, "with_news", hear)
    live.audit_in_background()
    monkeypatch.undo()
    # no search until others are no longer watched
    clock.now += WATCHED + 1

    assert left(live, database) == []
