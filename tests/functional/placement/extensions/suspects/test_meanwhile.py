"""Suspects while others write, and in clouds that other programs have written."""

import contextlib
import threading

import pytest
import sqlalchemy as sa

from placement import app, config
from placement.extensions.suspects import rows
from placement.storage import tables
from tests.functional.placement.extensions.suspects.clouds import (
    PATH,
    age,
    hold,
    hold_untyped,
    of_kind,
    provider,
    release,
    suspects,
    whom,
)
from tests.functional.placement.service import statements
from tests.functional.placement.small_cloud import expect, numbered


@pytest.fixture
def at_once(new_service):
    """Return a service that waits for no second look."""
    return new_service(berth__suspects_grace=0)


def test_instances_beside_a_migration_of_their_project_and_host_are_left_out(at_once):
    hosts = [provider(at_once, n, VCPU=50) for n in (1, 2, 3, 4)]
    for number in range(1, 6):
        hold(at_once, number, {uuid: {"VCPU": 1} for uuid in hosts[:2]}, project=f"p{number % 2}")
    on_three = hold(at_once, 6, {uuid: {"VCPU": 1} for uuid in hosts[:3]}, project="p7")
    # beside the one that is neither the first nor the last of its hosts
    hold(at_once, 7, {hosts[1]: {"VCPU": 1}}, kind="MIGRATION", project="p7")
    # beside some, and of another project, and elsewhere
    hold(at_once, 8, {hosts[0]: {"VCPU": 1}}, kind="MIGRATION", project="p1")
    hold(at_once, 9, {hosts[3]: {"VCPU": 1}}, kind="MIGRATION", project="p0")
    found = [one["consumer"] for one in of_kind(at_once, "two_roots")]
    assert found == [numbered("c", 2), numbered("c", 4)]
    assert on_three not in found


def test_all_allocations_are_grouped_once_however_many_are_split(at_once, monkeypatch):
    monkeypatch.setattr(rows, "_BATCH", 2)
    hosts = [provider(at_once, n, VCPU=50) for n in (1, 2)]
    for number in range(1, 8):
        hold(at_once, number, {uuid: {"VCPU": 1} for uuid in hosts})
    hold(at_once, 8, {hosts[0]: {"VCPU": 1}}, kind="MIGRATION", project="elsewhere")

    with statements(at_once.database) as sent:
        assert len(of_kind(at_once, "two_roots")) == 7
    assert sum("spread" in statement for statement in sent) == 1


def test_lists_are_whole_while_others_write(at_once):
    hosts = [provider(at_once, n, VCPU=500) for n in (1, 2)]
    stay = [hold(at_once, n, {uuid: {"VCPU": 1} for uuid in hosts}) for n in range(1, 8)]
    done, failed = threading.Event(), []

    def write():
        other = type(at_once)(at_once.url)
        number = 100
        try:
            while not done.is_set():
                number += 1
                uuid = hold(other, number, {uuid: {"VCPU": 1} for uuid in hosts})
                spare = provider(other, number, f"HOST{number % 2 + 1}.x{number}.example.org")
                release(other, uuid)
                expect(other.delete(f"/resource_providers/{spare}"), 204)
        except BaseException as error:
            failed.append(error)
            raise

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for limit in (1, 2, 3, 100) * 2:
            told, marker = [], ""
            while True:
                body = suspects(at_once, f"limit={limit}{marker}")
                told += [one["consumer"] for one in body["suspects"] if one["consumer"]]
                if "marker" not in body:
                    break
                marker = f"&marker={body['marker']}"
            assert [uuid for uuid in told if uuid in stay] == stay
            assert len(told) == len(set(told))
    finally:
        done.set()
        writer.join()
    assert failed == []


def test_a_provider_without_a_name_is_told_without_one(at_once):
    provider(at_once, 1)
    uuid = provider(at_once, 2)
    at_once.database.write(
        lambda connection: connection.execute(
            sa.update(tables.resource_providers)
            .where(tables.resource_providers.c.uuid == uuid)
            .values(name=None)
        )
    )
    assert whom(of_kind(at_once, "empty_root")) == ["host1", ""]
    assert of_kind(at_once, "alike_names") == []
    hold_untyped(at_once, 1, {provider(at_once, 3, VCPU=1): {"VCPU": 1}})


def test_rows_without_times_are_told_as_of_now(at_once):
    host = provider(at_once, 1, VCPU=4)
    provider(at_once, 2)
    hold_untyped(at_once, 1, {host: {"VCPU": 1}})

    def clear(connection):
        for table in (tables.resource_providers, tables.consumers, tables.inventories):
            connection.execute(sa.update(table).values(created_at=None, updated_at=None))

    at_once.database.write(clear)
    assert [one["kind"] for one in suspects(at_once)["suspects"]] == [
        "consumer_type_unknown",
        "empty_root",
    ]


def test_a_consumer_of_many_trees_is_told_in_few_words(at_once):
    hosts = [provider(at_once, number, VCPU=1) for number in range(1, 60)]
    hold(at_once, 1, {uuid: {"VCPU": 1} for uuid in hosts})
    (found,) = of_kind(at_once, "two_roots")
    assert "and something of 56 other trees" in found["detail"]
    assert len(found["detail"]) < 700


def test_many_providers_that_are_alike_are_told_against_the_first(at_once):
    for number in range(1, 6):
        provider(at_once, number, f"host.zone{number}.example.org", VCPU=1)
    found = of_kind(at_once, "alike_names")
    assert len(found) == 4
    assert all("host.zone1.example.org (a0000000" in one["detail"] for one in found)


def test_a_service_that_only_reads_tells_them_too(at_once):
    provider(at_once, 1)
    age(at_once, days=1)
    before = at_once.tables()
    overrides = {
        ("placement_database", "connection"): at_once.url,
        ("api", "auth_strategy"): "noauth2",
    }
    conf = config.load(files=[], environ=False, overrides=overrides)
    with contextlib.closing(app.start_reading(conf, extensions=True)) as reading:
        client = type(at_once.client)(reading.application)
        answer = client.get(PATH, headers={"x-auth-token": "admin"})
        assert answer.json == suspects(at_once)
    assert at_once.tables() == before
