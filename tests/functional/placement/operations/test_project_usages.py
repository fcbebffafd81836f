"""What is remembered of projects is what the tables say, whoever writes."""

import datetime
import os
import threading

import pytest
import sqlalchemy as sa

from placement.candidates.live.foreign_writers import (
    ALWAYS,
    AUTO,
    NEVER,
    WATCHED,
    OthersInFeed,
    OtherWriters,
)
from placement.cli import online_migrations
from placement.operations import project_usages
from placement.operations.project_usages import ProjectUsages
from placement.storage import tables, usages
from placement.storage.feed import change_feed
from tests.clock import Clock
from tests.databases.connections import connections
from tests.functional.placement import small_cloud
from tests.functional.placement.operations.test_statement_counts import provider
from tests.functional.placement.service import statements
from tests.functional.placement.small_cloud import (
    CHILD,
    HOLDER,
    NEW,
    OTHER_HOLDER,
    ROOT,
    holding,
    numbered,
)
from tests.patience import PATIENCE

pytestmark = pytest.mark.spread_over_databases

LONGEST = 60


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def others(clock):
    return OtherWriters(AUTO, clock)


@pytest.fixture
def database(filled):
    """Return the connections of another worker than the one that writes."""
    with connections(filled.url) as opened:
        made = opened()
        # the first statement of a connection comes with others that prepare it
        usages.of_project(made, "p")
        yield made


@pytest.fixture
def asked(database, others, clock):
    """Return what another worker remembers, after it was asked about project p."""
    made = ProjectUsages(database, OthersInFeed(others), LONGEST, clock, few=1)
    for _ in range(2):
        made.of_project("p")
    return made


def assert_right(asked, database, projects=("p", "q"), users=(None, "u", "v")):
    """Ask several times: from the tables at first, then from memory."""
    for project in projects:
        for user in users:
            for by_type in (True, False):
                right = usages.of_project(database, project, user, by_type)
                for _ in range(3):
                    found = asked.of_project(project, user, by_type)
                    assert found == right, (project, user, by_type)
                    assert list(found.amounts) == list(right.amounts)


def sent(database, question):
    """Return how many statements a question sends, and those of them that the library sends."""
    before = database.statements
    with statements(database) as by_library:
        question()
    return database.statements - before, by_library


def test_one_small_statement_tells_that_nothing_changed(asked, database):
    for more in ((), (None, False), ("u",), ("u", False)):
        assert sent(database, lambda more=more: asked.of_project("p", *more)) == (1, [])


def test_statements_after_a_change_do_not_grow_with_it(asked, database, filled):
    counts = []
    for number in (2, 8):
        for each in range(number):
            holder = numbered("c", 100 * number + each)
            filled.write("PUT", f"/allocations/{holder}", holding({ROOT: {"CUSTOM_A": 1}}))
            filled.write("DELETE", f"/allocations/{holder}")
        counts.append(sent(database, lambda: asked.of_project("p"))[0])
    assert counts[0] == counts[1] <= 7


def test_the_first_request_of_a_project_is_one_statement(database, others):
    made = ProjectUsages(database, OthersInFeed(others), few=1)
    assert sent(database, lambda: made.of_project("p")) == (1, [])
    assert sent(database, lambda: made.of_project("nobody")) == (1, [])
    assert sent(database, lambda: made.of_project("nobody")) == (1, [])


def test_a_project_with_few_allocations_is_added_up_each_time(database, others):
    made = ProjectUsages(database, OthersInFeed(others), few=4)
    for _ in range(3):
        assert sent(database, lambda: made.of_project("p")) == (1, [])


def claims(service):
    service.write("PUT", f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}, None, "p", "v"))


def other_owners(service):
    """Give a consumer another project, then another user and type, at the same places."""
    held = {ROOT: {"VCPU": 4, "DISK_GB": 10}}
    service.write("PUT", f"/allocations/{HOLDER}", holding(held, 2, "q"))
    service.write("PUT", f"/allocations/{HOLDER}", holding(held, 3, "p", "v", "MIGRATION"))


def another_project_alone(service):
    held = {ROOT: {"VCPU": 4, "DISK_GB": 10}}
    service.write("PUT", f"/allocations/{HOLDER}", holding(held, 2, "q"))


def another_type_of_two_places(service):
    both = {ROOT: {"VCPU": 4}, CHILD: {"VGPU": 1}}
    service.write("PUT", f"/allocations/{HOLDER}", holding(both, 2))
    service.write("PUT", f"/allocations/{HOLDER}", holding(both, 3, kind="MIGRATION"))


def a_move(service):
    body = {
        HOLDER: holding({}, 2),
        NEW: holding({ROOT: {"VCPU": 4}, CHILD: {"VGPU": 1}}, None, "q"),
    }
    service.write("POST", "/allocations", body)


def deletions(service):
    service.write("DELETE", f"/allocations/{HOLDER}")
    service.write("DELETE", f"/allocations/{OTHER_HOLDER}")


def a_reshape(service):
    generations = [
        service.write("GET", f"/resource_providers/{uuid}")["generation"] for uuid in (ROOT, CHILD)
    ]
    stocks = [{"DISK_GB": {"total": 100}}, {"VCPU": {"total": 8}, "VGPU": {"total": 2}}]
    body = {
        "inventories": {
            uuid: {"resource_provider_generation": generation, "inventories": stock}
            for uuid, generation, stock in zip((ROOT, CHILD), generations, stocks, strict=True)
        },
        "allocations": {HOLDER: holding({ROOT: {"DISK_GB": 10}, CHILD: {"VCPU": 4}}, 2, "p", "v")},
    }
    service.write("POST", "/reshaper", body)


def a_renamed_class(service):
    service.write("PUT", f"/allocations/{NEW}", holding({ROOT: {"CUSTOM_A": 1}}))
    service.write("PUT", "/resource_classes/CUSTOM_A", {"name": "CUSTOM_Z"}, "1.6")


def others_on_the_same_provider(service):
    service.write("PUT", f"/allocations/{NEW}", holding({ROOT: {"VCPU": 2}}, None, "q"))
    service.write("DELETE", f"/allocations/{NEW}")


WRITES = [
    claims,
    other_owners,
    another_project_alone,
    another_type_of_two_places,
    a_move,
    deletions,
    a_reshape,
    a_renamed_class,
    others_on_the_same_provider,
]


@pytest.mark.parametrize("few_providers", [True, False])
@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_a_write_of_another_worker_is_in_the_next_answer(
    asked, database, filled, monkeypatch, write, few_providers
):
    # a small project would be read as a whole
    monkeypatch.setattr(project_usages, "_OF_PROVIDER", 0 if few_providers else 50)
    assert_right(asked, database)
    write(filled)
    assert_right(asked, database)


def insert_allocation(connection, consumer, provider_id, **more):
    values = {"consumer_id": consumer, "resource_provider_id": provider_id} | {
        "resource_class_id": 0,
        "used": 1,
        **more,
    }
    connection.execute(sa.insert(tables.allocations), [values])


def provider_id(connection, uuid):
    providers = tables.resource_providers.c
    return connection.execute(sa.select(providers.id).where(providers.uuid == uuid)).scalar_one()


def test_consumers_that_a_migration_completes_are_in_the_next_answer(asked, database, filled):
    filled.database.write(lambda c: insert_allocation(c, NEW, provider_id(c, CHILD)))
    owner = online_migrations.IncompleteOwner("p", "u")
    outcome = online_migrations.run(filled.database, owner, None, 50)
    assert outcome.done == 1
    assert_right(asked, database)


def test_rows_of_an_earlier_version_are_read_when_they_come(asked, database, filled):
    def write(connection):
        consumer = sa.select(tables.consumers.c.uuid).where(tables.consumers.c.uuid == HOLDER)
        here = provider_id(connection, CHILD)
        insert_allocation(connection, connection.execute(consumer).scalar_one(), here)
        row = {
            "created_at": tables.utcnow(),
            "resource_provider_id": here,
            "kind": int(change_feed.ChangeKind.USAGE),
        }
        connection.execute(sa.insert(tables.provider_changes), [row])

    filled.database.write(write)
    assert_right(asked, database)


def test_all_of_a_project_is_read_when_the_feed_does_not_continue(asked, database, filled):
    claims(filled)
    filled.database.write(lambda c: c.execute(sa.delete(tables.provider_changes)))
    assert_right(asked, database)


def written_by_others(connection):
    """Claim as OpenStack Placement does, which has no change feed."""
    insert_allocation(connection, HOLDER, provider_id(connection, CHILD))


def deleted_by_others(connection):
    allocations = tables.allocations
    connection.execute(sa.delete(allocations).where(allocations.c.consumer_id == OTHER_HOLDER))


@pytest.mark.parametrize("beside", [AUTO, ALWAYS, NEVER])
def test_a_claim_of_another_service_is_in_the_next_answer(database, filled, clock, beside):
    others = OtherWriters(beside, clock)
    made = ProjectUsages(database, OthersInFeed(others), LONGEST, clock, few=1)
    assert_right(made, database)
    filled.database.write(written_by_others)
    assert_right(made, database)
    assert others.may_write == (beside != NEVER)
    # from then on also what no look could see
    filled.database.write(deleted_by_others)
    if beside != NEVER:
        assert_right(made, database)


def test_deletions_of_another_service_are_read_in_time(asked, database, filled, clock):
    assert_right(asked, database)
    filled.database.write(lambda c: insert_allocation(c, HOLDER, provider_id(c, CHILD)))
    claims(filled)
    asked.of_project("p")
    filled.database.write(deleted_by_others)
    clock.now += LONGEST + 1
    assert_right(asked, database)


def test_what_was_remembered_before_others_wrote_is_not_used_afterwards(
    asked, database, filled, clock, others
):
    others.seen()
    assert_right(asked, database)
    filled.database.write(deleted_by_others)
    clock.now += WATCHED + 1
    assert not others.may_write
    assert_right(asked, database)


def test_another_worker_tells_of_others(asked, database, filled, others):
    assert_right(asked, database)
    filled.database.write(change_feed.record_others)
    filled.database.write(deleted_by_others)
    assert_right(asked, database)
    assert others.may_write


def test_a_worker_that_did_not_search_reads_of_others_in_the_feed(database, filled, others):
    filled.database.write(change_feed.record_others)
    made = ProjectUsages(database, OthersInFeed(others), few=1)
    assert_right(made, database)
    assert others.may_write


def test_rows_without_a_user_or_a_class_count_as_in_the_tables(asked, database, filled):
    """No foreign key keeps users and classes of old rows."""

    def write(connection):
        insert_allocation(connection, HOLDER, provider_id(connection, CHILD), resource_class_id=999)
        old = {"uuid": NEW, "user_id": 999, "generation": 0}
        old["project_id"] = connection.execute(
            sa.select(tables.projects.c.id).where(tables.projects.c.external_id == "p")
        ).scalar_one()
        connection.execute(sa.insert(tables.consumers), [old])
        insert_allocation(connection, NEW, provider_id(connection, ROOT))
        change_feed.record(
            connection, [provider_id(connection, CHILD)], change_feed.ChangeKind.USAGE
        )
        change_feed.record(
            connection, [provider_id(connection, ROOT)], change_feed.ChangeKind.USAGE
        )

    filled.database.write(write)
    assert_right(asked, database)


def test_names_are_compared_as_the_database_does(asked, database):
    assert_right(asked, database, ["p", "P", "p "], [None, "u", "U", "u "])


def test_projects_that_were_not_wanted_for_long_are_forgotten(database, filled, others):
    for number, project in enumerate("abc"):
        provider(filled, numbered("d", number))
        uuid = numbered("d", number)
        filled.write("PUT", f"/resource_providers/{uuid}/inventories", small_cloud.stock(0, VCPU=9))
        for each in range(4):
            body = holding({uuid: {"VCPU": 1}}, None, project)
            filled.write("PUT", f"/allocations/{numbered('c', 10 * number + 50 + each)}", body)
    made = ProjectUsages(database, OthersInFeed(others), few=1, remembered=8)
    for project in "abc":
        made.of_project(project)
        made.of_project(project)
    for project, statements_sent in (("c", 1), ("b", 1)):
        found = sent(database, lambda project=project: made.of_project(project))
        assert found == (statements_sent, [])
    made.of_project("a")
    # it was remembered and forgotten: the second request reads it again
    assert sent(database, lambda: made.of_project("a"))[0] > 1
    assert_right(made, database, "abc", [None, "u"])


def test_a_project_with_too_many_allocations_is_added_up_each_time(database, filled, others):
    made = ProjectUsages(database, OthersInFeed(others), few=1, remembered=2)
    for _ in range(3):
        assert sent(database, lambda: made.of_project("p")) == (1, [])


def test_a_project_that_grows_too_large_is_added_up_again(database, filled, others):
    made = ProjectUsages(database, OthersInFeed(others), few=1, remembered=3)
    assert_right(made, database)
    claims(filled)
    assert_right(made, database)
    assert sent(database, lambda: made.of_project("p")) == (1, [])


def test_a_failure_makes_the_next_request_read_all(asked, database, filled, monkeypatch):
    claims(filled)
    with monkeypatch.context() as broken:
        broken.setattr(project_usages, "_OF_PROVIDER", 0)
        broken.setattr(project_usages.Holdings, "replace", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            asked.of_project("p")
    assert_right(asked, database)


def test_a_child_process_begins_with_nothing(asked, database, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert_right(asked, database)


def test_a_request_does_not_wait_long_for_another_one(asked, database, monkeypatch):
    monkeypatch.setattr(project_usages, "_LONGEST_WAIT", 0.01)
    begun, ended = threading.Event(), threading.Event()
    real = database.ask

    def slow(*arguments, **values):
        monkeypatch.setattr(database, "ask", real)
        begun.set()
        ended.wait(PATIENCE)
        return real(*arguments, **values)

    monkeypatch.setattr(database, "ask", slow)
    first = threading.Thread(target=asked.of_project, args=("p",))
    first.start()
    try:
        assert begun.wait(PATIENCE)
        assert asked.of_project("p") == usages.of_project(database, "p")
    finally:
        ended.set()
        first.join()


def test_threads_that_ask_meanwhile_get_what_was_written_before(asked, database, filled):
    failures = []

    def ask():
        try:
            for _ in range(10):
                before = usages.of_project(database, "p", None, False).totals().get("CUSTOM_A", 0)
                found = asked.of_project("p", None, False).totals().get("CUSTOM_A", 0)
                assert found >= before
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(4):
        body = holding({ROOT: {"CUSTOM_A": 1}})
        filled.write("PUT", f"/allocations/{numbered('c', 60 + number)}", body)
    for thread in threads:
        thread.join()
    assert failures == []
    assert_right(asked, database)


def test_the_service_remembers_projects_with_many_allocations(filled):
    def write(connection):
        for _ in range(project_usages.FEW):
            insert_allocation(connection, HOLDER, provider_id(connection, CHILD))

    filled.database.write(write)
    path = "/usages?project_id=p"
    answers = [filled.get(path).json for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    # only an answer from memory can lack this, for now
    filled.database.write(deleted_by_others)
    assert filled.get(path).json == answers[0]
    claims(filled)
    added_up = usages.of_project(filled.database, "p")
    assert filled.get(path).json["usages"]["INSTANCE"]["VCPU"] == added_up.totals()["VCPU"]


def test_an_old_write_of_others_is_no_reason_to_look(database, filled, others):
    long_ago = tables.utcnow() - datetime.timedelta(seconds=WATCHED + 60)

    def write(connection):
        change_feed.record_others(connection)
        connection.execute(sa.update(tables.provider_changes).values(created_at=long_ago))

    filled.database.write(write)
    made = ProjectUsages(database, OthersInFeed(others), few=1)
    assert_right(made, database)
    assert not others.may_write
