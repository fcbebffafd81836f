"""Responses when other writers always interfere, and the number of tries (rest-api.md 4.2)."""

import itertools

import pytest

from placement.domain.provider import TreePosition
from placement.errors import OutcomeUnknown
from placement.storage import providers
from placement.storage.at_once import allocations as writes_at_once
from placement.storage.database import engine
from tests.functional.placement.http.test_trouble import LAST_STATEMENT, LOCKED, trouble
from tests.functional.placement.small_cloud import (
    CHILD,
    HOLDER,
    NEW,
    ROOT,
    holding,
    numbered,
    stock,
)

OTHERS = "Another thread concurrently updated the resource provider data. Please retry your update"
PATH = f"/resource_providers/{ROOT}"
WANTED = holding({ROOT: {"VCPU": 1}})
RESHAPE = {"inventories": {CHILD: stock(2, VGPU=2)}, "allocations": {NEW: WANTED}}
TREE = f"/berth/v1/provider_trees/{ROOT}"
WRITTEN = {"providers": {CHILD: {"generation": 2, "traits": ["CUSTOM_T"]}}}
ALLOCATING = f"Inventory and/or allocations changed while attempting to allocate: {OTHERS}"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(engine, "LONGEST_PAUSE", 0)


# each database's own errors: http/test_trouble.py
@pytest.mark.spread_over_databases
@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        ("PUT", f"/allocations/{NEW}", WANTED, ALLOCATING),
        ("POST", "/allocations", {NEW: WANTED}, ALLOCATING),
        ("POST", "/reshaper", RESHAPE, f"update conflict: {OTHERS}"),
        ("PUT", TREE, WRITTEN, f"update conflict: {OTHERS}"),
        (
            "POST",
            f"{PATH}/inventories",
            {"resource_class": "VGPU", "total": 1},
            f"Update conflict: {OTHERS}",
        ),
        (
            "PUT",
            f"{PATH}/inventories",
            stock(5, VCPU=8, DISK_GB=100),
            f"update conflict: {OTHERS}",
        ),
        (
            "PUT",
            f"{PATH}/inventories/VCPU",
            {"total": 9, "resource_provider_generation": 5},
            f"update conflict: {OTHERS}",
        ),
        (
            "DELETE",
            f"{PATH}/inventories/CUSTOM_A",
            None,
            f"Unable to delete inventory of class CUSTOM_A: {OTHERS}",
        ),
        (
            "PUT",
            f"{PATH}/traits",
            {"traits": [], "resource_provider_generation": 5},
            OTHERS,
        ),
        ("DELETE", f"{PATH}/traits", None, OTHERS),
        (
            "PUT",
            f"{PATH}/aggregates",
            {"aggregates": [numbered("b", 2)], "resource_provider_generation": 5},
            f"Update conflict: {OTHERS}",
        ),
    ],
)
def test_a_race_that_is_always_lost_is_a_conflict_with_the_endpoint_s_message(
    filled, method, path, body, text
):
    with trouble(engine.TRIES, LOCKED, LAST_STATEMENT):
        answer = filled.request(method, path, body)

    error = answer.json["errors"][0]
    assert (answer.status_code, error["code"]) == (409, "placement.concurrent_update")
    assert error["detail"].endswith(f"\n\n {text}  ")


def test_deleting_all_inventories_has_its_own_message_for_a_lost_race(filled):
    filled.delete(f"/allocations/{HOLDER}")
    with trouble(engine.TRIES, LOCKED, LAST_STATEMENT):
        answer = filled.delete(f"{PATH}/inventories")

    assert answer.json["errors"][0]["detail"].endswith(
        f"Unable to delete inventory for resource provider {ROOT} because the inventory was "
        "updated by another process. Please retry your request.  "
    )


REQUESTS = [
    ("PUT", f"/allocations/{NEW}", WANTED),
    ("POST", "/allocations", {NEW: WANTED}),
    ("POST", "/reshaper", RESHAPE),
]


def test_new_consumers_that_are_there_after_a_commit_without_an_answer_are_stored(
    filled, monkeypatch
):
    write = filled.database.write

    def without_an_answer(*arguments):
        write(*arguments)
        raise OutcomeUnknown

    monkeypatch.setattr(filled.database, "write", without_an_answer)

    assert filled.put(f"/allocations/{NEW}", WANTED).status_code == 204


@pytest.fixture
def trying(new_service, filled):
    """Return a function that makes a service on the filled database with so many tries."""

    def make(times):
        return type(filled)(filled.url, placement__allocation_conflict_retry_count=times)

    return make


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_allocations_are_tried_as_often_as_the_option_says(trying, method, path, body):
    with trouble(2, LOCKED, LAST_STATEMENT):
        assert trying(2).request(method, path, body).status_code == 409
    with trouble(2, LOCKED, LAST_STATEMENT):
        assert trying(3).request(method, path, body).status_code == 204


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_allocations_can_be_tried_more_often_than_other_writes(trying, method, path, body):
    with trouble(engine.TRIES + 2, LOCKED, LAST_STATEMENT):
        assert trying(engine.TRIES + 3).request(method, path, body).status_code == 204


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_with_no_tries_allocations_are_rejected(trying, method, path, body):
    service = trying(0)
    before = service.tables()
    answer = service.request(method, path, body)

    assert (answer.status_code, service.tables()) == (409, before)
    assert OTHERS in answer.json["errors"][0]["detail"]


def test_the_option_does_not_apply_to_other_writes(trying):
    body = {"total": 9, "resource_provider_generation": 5}
    with trouble(1, LOCKED, LAST_STATEMENT):
        answer = trying(0).put(f"{PATH}/inventories/VCPU", body)

    assert answer.status_code == 200


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_consumers_created_between_two_statements_of_every_try_are_a_conflict(
    filled, monkeypatch, method, path, body
):
    # one message of PostgreSQL has nothing between two statements
    monkeypatch.setattr(writes_at_once, "suit", lambda *_: False)
    one_more = itertools.count(10**6)
    monkeypatch.setattr(
        "placement.operations.locked_consumers.allocations.entries_in",
        lambda rows: ([], {next(one_more)}),
    )
    before = filled.tables()
    answer = filled.request(method, path, body)

    assert (answer.status_code, filled.tables()) == (409, before)


def test_a_tree_that_changes_before_the_lock_of_every_try_is_a_conflict(filled, monkeypatch):
    new = itertools.count(10**6)
    # each time another provider is below the moved one
    monkeypatch.setattr(
        providers,
        "of_trees",
        lambda connection, roots: [
            TreePosition(
                next(new), "a uuid", 0, next(iter(roots)), providers.place(connection, CHILD).id
            )
        ],
    )
    before = filled.tables()
    answer = filled.put(f"/resource_providers/{CHILD}", {"name": "m", "parent_provider_uuid": None})

    assert (answer.status_code, filled.tables()) == (409, before)
    assert filled.database.retries["race"] == engine.TRIES - 1
