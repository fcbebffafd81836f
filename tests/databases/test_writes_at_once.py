"""Writes of allocations that PostgreSQL gets in one message, and what isn't usual about them."""

import concurrent.futures
import importlib
import re

import pytest
import sqlalchemy as sa

from placement.storage.at_once import allocations as writes_at_once
from placement.storage.feed import change_feed
from tests.databases.questions import ask, connected
from tests.extras import needed_library
from tests.faults.locks import wait_until_somebody_waits
from tests.faults.running import eventually
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import (
    CHILD,
    EMPTY,
    HOLDER,
    NEW,
    OTHER_HOLDER,
    ROOT,
    UNKNOWN,
    expect,
    fill,
    holding,
    numbered,
)

needed_library("psycopg", "postgresql")
batches = importlib.import_module("placement.storage.driver.postgresql_driver")

VCPU, VGPU = {ROOT: {"VCPU": 1}}, {CHILD: {"VGPU": 1}}
#: what is written, by consumer
USUAL = {
    "a new consumer": {NEW: holding(VCPU)},
    "several providers": {NEW: holding({ROOT: {"VCPU": 1, "DISK_GB": 5}, CHILD: {"VGPU": 1}})},
    "two new consumers": {NEW: holding(VCPU), numbered("c", 9): holding(VCPU)},
    "what fills a provider": {NEW: holding({ROOT: {"VCPU": 4}})},
    "other amounts": {HOLDER: holding({ROOT: {"VCPU": 8}}, 2)},
    "another provider, too": {HOLDER: holding({ROOT: {"VCPU": 1}, CHILD: {"VGPU": 1}}, 2)},
    "a move": {NEW: holding({ROOT: {"VCPU": 4, "DISK_GB": 10}}), HOLDER: holding(VCPU, 2)},
    "an heir": {NEW: holding({ROOT: {"VCPU": 8, "DISK_GB": 10}}), HOLDER: holding({}, 2)},
    "an heir of two": {
        HOLDER: holding({}, 2),
        NEW: holding({ROOT: {"VCPU": 1}, CHILD: {"VGPU": 2}}),
        OTHER_HOLDER: holding({}, 1),
    },
    "an heir that holds": {HOLDER: holding({}, 2), OTHER_HOLDER: holding(VCPU | VGPU, 1)},
}
UNUSUAL = {
    "no room": {NEW: holding({ROOT: {"VCPU": 5}})},
    "no room for both": {
        NEW: holding({ROOT: {"VCPU": 3}}),
        HOLDER: holding({ROOT: {"VCPU": 6}}, 2),
    },
    "another unit": {NEW: holding({ROOT: {"VCPU": 2**31 - 1}})},
    "more than fits into a column": {NEW: holding({ROOT: {"VCPU": 2**31}})},
    "no such inventory": {NEW: holding({ROOT: {"MEMORY_MB": 1}})},
    "no such provider": {NEW: holding({UNKNOWN: {"VCPU": 1}})},
    "no such class": {NEW: holding({ROOT: {"CUSTOM_NONE": 1}})},
    "a custom class": {NEW: holding({ROOT: {"CUSTOM_A": 1}})},
    "a consumer that is there": {HOLDER: holding(VCPU)},
    "a consumer that isn't there": {NEW: holding(VCPU, 1)},
    "an old generation": {HOLDER: holding(VCPU, 1)},
    "a generation to come": {HOLDER: holding(VCPU, 3)},
    "a generation that no column has": {HOLDER: holding(VCPU, 2**31)},
    "a generation beyond 64 bits": {NEW: holding(VCPU, 2**64)},
    "a generation below what a column has": {HOLDER: holding(VCPU, -(2**31) - 1)},
    "another project": {HOLDER: holding(VCPU, 2, project="other")},
    "a new user": {NEW: holding(VCPU, user="other")},
    "a new type": {NEW: holding(VCPU, kind="OTHER")},
    "another type": {HOLDER: holding(VCPU, 2, kind="MIGRATION")},
    "another provider": {HOLDER: holding(VGPU, 2)},
    "an heir elsewhere": {HOLDER: holding({}, 2), NEW: holding(VGPU)},
    "nothing for anybody": {HOLDER: holding({}, 2), OTHER_HOLDER: holding({}, 1)},
    "nothing for a new consumer": {NEW: holding({}), HOLDER: holding({}, 2)},
    "nothing for one that isn't there": {NEW: holding({}, 1), HOLDER: holding(VCPU, 2)},
    "nothing, by an old generation": {NEW: holding(VCPU), HOLDER: holding({}, 1)},
    "nothing, for another project": {HOLDER: holding({}, 2, project="other")},
    "an heir without room": {NEW: holding({ROOT: {"VCPU": 9}}), HOLDER: holding({}, 2)},
    "one of two": {NEW: holding(VCPU), OTHER_HOLDER: holding({CHILD: {"VGPU": 1}}, 7)},
}
#: what a row is made of beside ids and times
TABLES = {
    "consumers": "SELECT uuid, generation FROM consumers ORDER BY uuid",
    "owners": "SELECT c.uuid, p.external_id, u.external_id, t.name FROM consumers c "
    "JOIN projects p ON p.id = c.project_id JOIN users u ON u.id = c.user_id "
    "JOIN consumer_types t ON t.id = c.consumer_type_id ORDER BY c.uuid",
    "allocations": "SELECT consumer_id, resource_provider_id, resource_class_id, used "
    "FROM allocations ORDER BY 1, 2, 3",
    "providers": "SELECT uuid, generation FROM resource_providers ORDER BY uuid",
    "feed": "SELECT resource_provider_id, kind, position, resource_provider_uuid "
    "FROM berth_provider_changes ORDER BY lane, position",
}


@pytest.fixture(params=["postgresql"])
def database_kind(request):
    return request.param


def filled(url):
    service = Service(url)
    fill(service)
    return service


def outcome(service, bodies):
    answer = service.post("/allocations", bodies)
    text = answer.text.partition("request_id")[0]
    return answer.status_code, text, {name: service.ask(sql) for name, sql in TABLES.items()}


def kept_plan(url, text):
    """Return how PostgreSQL runs a statement if it plans it without its values."""
    places = set(re.findall(r"\$\d+", text))
    with connected(url) as connection:
        connection.execute(sa.text("SET plan_cache_mode = force_generic_plan"))
        connection.execute(sa.text(f"PREPARE planned AS {text}"))
        values = ", ".join("NULL" for _ in places)
        plan = connection.execute(sa.text(f"EXPLAIN EXECUTE planned({values})"))
        return "\n".join(plan.scalars())


@pytest.mark.parametrize("bodies", (USUAL | UNUSUAL).values(), ids=USUAL | UNUSUAL)
def test_one_message_stores_and_answers_what_several_do(
    new_database, messages, monkeypatch, bodies
):
    found = outcome(filled(new_database()), bodies)
    monkeypatch.setattr(writes_at_once, "suit", lambda *_: False)
    assert found == outcome(filled(new_database()), bodies)


@pytest.mark.parametrize("bodies", USUAL.values(), ids=USUAL)
def test_the_usual_is_one_message(database_url, messages, bodies):
    service = filled(database_url)
    messages.clear()
    expect(service.post("/allocations", bodies), 204)
    assert [message[-1] for message in messages] == ["COMMIT"]


def test_a_claim_reads_no_table_as_a_whole(database_url, messages):
    """PostgreSQL may keep the plan of a statement while tables grow."""
    service = filled(database_url)
    messages.clear()
    expect(service.put(f"/allocations/{NEW}", holding(VCPU)), 204)
    (_, lock, write, _), *_ = messages
    assert "Seq Scan" not in kept_plan(database_url, lock)
    assert "Seq Scan" not in kept_plan(database_url, write)


def test_a_session_that_was_silent_for_long_gets_the_commit_by_itself(
    database_url, messages, monkeypatch
):
    """The server may have failed over, and nothing told the session."""
    service = filled(database_url)
    monkeypatch.setattr(batches, "_IS_THERE", -1)
    messages.clear()
    expect(service.put(f"/allocations/{NEW}", holding(VCPU)), 204)
    assert len(messages) > 1
    assert all("COMMIT" not in message for message in messages)


def test_a_claim_is_told_while_others_keep_all_lanes_of_the_change_feed(database_url):
    service = filled(database_url)
    before = len(service.ask(TABLES["feed"]))
    with connected(database_url) as other, other.begin():
        other.execute(sa.text("SELECT id FROM berth_change_lanes FOR UPDATE"))
        expect(service.put(f"/allocations/{NEW}", holding(VCPU)), 204)
    assert len(service.ask(TABLES["feed"])) == before + 1


def test_a_claim_after_which_the_change_feed_is_trimmed_is_not_one_message(
    database_url, messages, monkeypatch
):
    monkeypatch.setattr(change_feed, "TRIM_EVERY", 1)
    service = filled(database_url)
    messages.clear()
    expect(service.put(f"/allocations/{NEW}", holding(VCPU)), 204)
    assert len(messages) > 1
    assert "COMMIT" not in messages[-1]


def test_a_consumer_that_was_stored_after_the_locks_is_locked_first(database_url):
    """Nobody else can change what it holds while that is replaced."""
    service = filled(database_url)
    with concurrent.futures.ThreadPoolExecutor(1) as pool, connected(database_url) as other:
        with other.begin() as holding_up:
            other.execute(
                sa.text(f"SELECT id FROM resource_providers WHERE uuid = '{ROOT}' FOR UPDATE")
            )
            # it finds no consumer to lock, and waits for the provider
            later = pool.submit(service.put, f"/allocations/{NEW}", holding(VCPU, 1))
            wait_until_somebody_waits(database_url)
            expect(service.put(f"/allocations/{NEW}", holding({CHILD: {"VGPU": 1}})), 204)
            holding_up.rollback()
        expect(later.result(), 204)
    held = service.get(f"/allocations/{NEW}").json
    assert list(held["allocations"]) == [ROOT]
    assert held["consumer_generation"] == 2


def test_a_server_that_reads_no_null_in_a_list_stores_all_the_same(database_url):
    """A claim says of new consumers that they have no generation yet."""
    service = filled(f"{database_url}&options=-c%20array_nulls%3Doff")
    expect(service.put(f"/allocations/{NEW}", holding(VCPU)), 204)


def test_many_at_once_fill_a_provider_and_no_more(database_url):
    service = filled(database_url)
    stock = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 16}}}
    expect(service.put(f"/resource_providers/{EMPTY}/inventories", stock), 200)

    def claim(number):
        body = holding({EMPTY: {"VCPU": 1}})
        return service.put(f"/allocations/{numbered('d', number)}", body).status_code

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(claim, range(40)))
    assert sorted(set(answers)) == [204, 409]
    assert answers.count(204) == 16
    usages = service.get(f"/resource_providers/{EMPTY}/usages").json["usages"]
    assert usages == {"VCPU": 16}


def test_a_session_that_ends_before_the_commit_is_not_noticed(database_url):
    """The server says so. Then the end of the transaction wasn't reached."""
    service = filled(database_url)
    kill = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with concurrent.futures.ThreadPoolExecutor(1) as pool, connected(database_url) as other:
        with other.begin():
            other.execute(
                sa.text(f"SELECT id FROM resource_providers WHERE uuid = '{ROOT}' FOR UPDATE")
            )
            later = pool.submit(service.put, f"/allocations/{NEW}", holding(VCPU))
            wait_until_somebody_waits(database_url)
            other.execute(sa.text(kill))
        expect(later.result(), 204)
    assert service.get(f"/allocations/{NEW}").json["consumer_generation"] == 1


def test_a_session_that_ended_before_is_not_noticed(database_url):
    service = filled(database_url)
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    ask(database_url, f"SELECT pg_terminate_backend(pid) {others}")
    eventually(lambda: not ask(database_url, f"SELECT 1 {others}"), lambda: others)
    expect(service.put(f"/allocations/{NEW}", holding(VCPU)), 204)


def losing(monkeypatch, stored, meanwhile=lambda: None):
    """Let the next message be lost with the connection: what it was to store is stored, or not."""
    send = batches.run

    def lose(connection, calls, prepared):
        monkeypatch.setattr(batches, "run", send)
        if stored:
            send(connection, calls, prepared)
        connection.close()
        meanwhile()
        raise batches.psycopg.OperationalError("the connection was lost")

    monkeypatch.setattr(batches, "run", lose)


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize(
    "bodies", [USUAL["a new consumer"], USUAL["several providers"], USUAL["two new consumers"]]
)
def test_new_consumers_are_stored_once_though_the_session_is_lost_with_the_commit(
    database_url, new_database, monkeypatch, bodies, stored
):
    service = filled(database_url)
    losing(monkeypatch, stored)
    found = outcome(service, bodies)
    assert found[0] == 204
    assert found == outcome(filled(new_database()), bodies)


@pytest.mark.parametrize("stored", [True, False])
def test_a_session_that_is_lost_with_the_commit_leaves_the_outcome_of_a_replacement_unknown(
    database_url, monkeypatch, stored
):
    service = filled(database_url).unjudged()
    losing(monkeypatch, stored)
    answer = expect(service.put(f"/allocations/{HOLDER}", holding(VCPU, 2)), 503)
    assert "It may or may not have happened." in answer.json["errors"][0]["detail"]
    assert service.get(f"/allocations/{HOLDER}").json["consumer_generation"] == 2 + stored


@pytest.mark.parametrize(
    "others", [holding({CHILD: {"VGPU": 1}}), holding(VCPU, project="other"), holding(VCPU, 1)]
)
def test_the_outcome_is_unknown_if_a_new_consumer_is_something_else_afterwards(
    database_url, monkeypatch, others
):
    """Another writer has changed it, or has stored another one in its place."""
    service, other = filled(database_url).unjudged(), Service(database_url)
    losing(
        monkeypatch,
        stored=others["consumer_generation"] is not None,
        meanwhile=lambda: expect(other.put(f"/allocations/{NEW}", others), 204),
    )
    answer = expect(service.put(f"/allocations/{NEW}", holding(VCPU)), 503)
    assert "It may or may not have happened." in answer.json["errors"][0]["detail"]
