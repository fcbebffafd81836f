"""Writes of a provider, and deletions, that PostgreSQL gets in one message."""

import concurrent.futures

import pytest
import sqlalchemy as sa

from placement.storage.database.connection import Connection
from tests.databases.questions import connected
from tests.databases.test_writes_at_once import TABLES, filled, kept_plan, losing
from tests.faults.locks import wait_until_somebody_waits
from tests.functional.placement.small_cloud import (
    CHILD,
    EMPTY,
    HOLDER,
    NEW,
    OTHER_HOLDER,
    ROOT,
    UNKNOWN,
    expect,
    numbered,
)

SSE, AVX = "HW_CPU_X86_SSE", "HW_CPU_X86_AVX"
MANY = [*(f"HW_CPU_X86_{name}" for name in ("SSE", "SSE2", "SSE3", "SSSE3", "AVX", "AVX2"))]
KNOWN, OTHER = numbered("b", 1), numbered("b", 2)
VCPU, DISK = {"total": 8}, {"total": 100, "allocation_ratio": 1.5, "reserved": 3}
#: kind → what is written in turn: the provider, the value, the generation as it differs from the
#: provider's, and whether that is one message
PUTS = {
    "inventories": [
        (ROOT, {"VCPU": VCPU, "DISK_GB": DISK}, 0, True),
        (ROOT, {"VCPU": VCPU, "DISK_GB": DISK}, 0, True),
        (ROOT, {"VCPU": VCPU, "DISK_GB": DISK, "MEMORY_MB": {"total": 2**31 - 1}}, 0, True),
        (ROOT, {"VCPU": VCPU | {"total": 1}, "DISK_GB": DISK}, 0, True),
        (EMPTY, {"VGPU": VCPU}, 0, True),
        (ROOT, {"VCPU": VCPU}, 0, False),
        (ROOT, {"VCPU": VCPU, "DISK_GB": DISK | {"reserved": 101}}, 0, False),
        (ROOT, {"VCPU": VCPU, "DISK_GB": DISK, "CUSTOM_A": VCPU}, 0, False),
        (ROOT, {"VCPU": VCPU, "DISK_GB": DISK, "CUSTOM_NONE": VCPU}, 0, False),
        (ROOT, {"VCPU": VCPU, "DISK_GB": DISK}, 1, False),
        (ROOT, {"VCPU": VCPU, "DISK_GB": DISK}, 2**31, False),
        (EMPTY, {}, 0, False),
        (UNKNOWN, {"VCPU": VCPU}, 0, False),
    ],
    "traits": [
        (ROOT, [SSE], 0, True),
        (ROOT, [SSE, AVX], 0, True),
        (ROOT, [AVX, SSE, AVX], 0, True),
        (ROOT, ["CUSTOM_T", AVX], 0, True),
        (ROOT, MANY, 0, True),
        (EMPTY, MANY, 0, True),
        (ROOT, [SSE, "CUSTOM_NONE"], 0, False),
        (ROOT, [SSE], -1, False),
        (ROOT, [], 0, False),
        (UNKNOWN, [SSE], 0, False),
    ],
    "aggregates": [
        (ROOT, [KNOWN], 0, True),
        (EMPTY, [OTHER], 0, False),
        (ROOT, [KNOWN, OTHER], 0, True),
        (ROOT, [OTHER], 0, True),
        (CHILD, [OTHER], 0, True),
        (ROOT, [OTHER], 1, False),
        (ROOT, [], 0, False),
        (UNKNOWN, [KNOWN], 0, False),
    ],
}
#: whose allocations are deleted in turn, and whether that is one message
DELETED = [(HOLDER, True), (HOLDER, False), (OTHER_HOLDER, True), (NEW, False)]
CONTENT = {
    "inventories": "SELECT resource_provider_id, resource_class_id, total, reserved, min_unit, "
    "max_unit, step_size, allocation_ratio, updated_at FROM inventories ORDER BY 1, 2",
    "traits": "SELECT resource_provider_id, trait_id FROM resource_provider_traits ORDER BY 1, 2",
    "members": "SELECT resource_provider_id, aggregate_id FROM resource_provider_aggregates "
    "ORDER BY 1, 2",
}


@pytest.fixture(params=["postgresql"])
def database_kind(request):
    return request.param


def put(service, kind, provider, value, ahead):
    shown = service.get(f"/resource_providers/{provider}").json
    generation = shown.get("generation", 0) + ahead
    body = {"resource_provider_generation": generation, kind: value}
    return service.put(f"/resource_providers/{provider}/{kind}", body)


def outcome(service, answer):
    tables = {name: service.ask(sql) for name, sql in (TABLES | CONTENT).items()}
    return answer.status_code, answer.text.partition("request_id")[0], tables


def compared(new_database, monkeypatch, messages, steps):
    """Do each step in one message, if it can be, and on another database in several."""
    service, other = filled(new_database()), filled(new_database())
    for number, (step, is_usual) in enumerate(steps):
        messages.clear()
        answer = step(service)
        writes = [texts for texts in messages if "READ COMMITTED" in texts[0]]
        assert ([texts[-1] for texts in writes] == ["COMMIT"]) is is_usual, number
        with monkeypatch.context() as several:
            several.setattr(Connection, "assumes", False)
            assert outcome(service, answer) == outcome(other, step(other)), number


@pytest.mark.parametrize("kind", PUTS)
def test_one_message_stores_and_answers_what_several_do(new_database, monkeypatch, messages, kind):
    steps = [
        (lambda service, given=given: put(service, kind, *given), is_usual)
        for *given, is_usual in PUTS[kind]
    ]
    compared(new_database, monkeypatch, messages, steps)


def test_one_message_deletes_what_several_do(new_database, monkeypatch, messages):
    steps = [
        (lambda service, consumer=consumer: service.delete(f"/allocations/{consumer}"), is_usual)
        for consumer, is_usual in DELETED
    ]
    compared(new_database, monkeypatch, messages, steps)


def test_no_table_that_grows_with_the_cloud_is_read_as_a_whole(database_url, messages):
    """PostgreSQL may keep the plan of a statement while tables grow."""
    service = filled(database_url)
    messages.clear()
    expect(put(service, *("inventories", EMPTY, {"VCPU": VCPU}, 0)), 200)
    expect(put(service, *("traits", EMPTY, [SSE], 0)), 200)
    expect(put(service, *("aggregates", EMPTY, [KNOWN], 0)), 200)
    expect(service.delete(f"/allocations/{HOLDER}"), 204)
    texts = [text for message in messages if len(message) == 4 for text in message[1:3]]
    assert len(texts) == 8
    for text in texts:
        read = kept_plan(database_url, text).split("Seq Scan on ")[1:]
        assert [plan for plan in read if not plan.startswith("traits ")] == [], text


@pytest.mark.parametrize("stored", [True, False])
def test_a_session_that_is_lost_with_the_commit_is_told_unless_nothing_was_stored(
    database_url, monkeypatch, stored
):
    service = filled(database_url).unjudged()
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": VCPU}}
    losing(monkeypatch, stored)
    answer = service.put(f"/resource_providers/{EMPTY}/inventories", body)
    assert answer.status_code == (503 if stored else 200)
    losing(monkeypatch, stored)
    expect(service.delete(f"/allocations/{HOLDER}"), 503)
    assert len(service.get(f"/allocations/{HOLDER}").json["allocations"]) == (not stored)
    assert service.get(f"/resource_providers/{EMPTY}").json["generation"] == 1


def test_a_consumer_that_was_stored_after_the_lock_is_locked_first(database_url, messages):
    """Nobody else can give it more while it is deleted."""
    service = filled(database_url)
    with concurrent.futures.ThreadPoolExecutor(1) as pool, connected(database_url) as other:
        with other.begin() as holding_up:
            # the deletion finds the consumer, and waits for it
            other.execute(sa.text(f"SELECT id FROM consumers WHERE uuid = '{HOLDER}' FOR UPDATE"))
            later = pool.submit(service.delete, f"/allocations/{HOLDER}")
            wait_until_somebody_waits(database_url)
            # another one of that uuid takes its place, which nobody has locked
            other.execute(sa.text(f"UPDATE consumers SET uuid = '{NEW}' WHERE uuid = '{HOLDER}'"))
            other.execute(
                sa.text(
                    "INSERT INTO consumers (uuid, project_id, user_id, generation) "
                    f"SELECT '{HOLDER}', project_id, user_id, 1 FROM consumers "
                    f"WHERE uuid = '{NEW}'"
                )
            )
            messages.clear()
            holding_up.commit()
        expect(later.result(), 204)
    # it wasn't deleted by the message that waited
    assert messages
    assert service.get(f"/allocations/{HOLDER}").json["allocations"] == {}
    assert service.ask(f"SELECT count(*) FROM consumers WHERE uuid = '{NEW}'") == [(1,)]
