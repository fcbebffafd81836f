"""The judge of a storm finds what is lost, doubled, done by half, or answered as not promised."""

import json

import pytest

from benchmarks.storms.judging import Case, is_promised, wrong_allocations
from benchmarks.storms.recording import RecordedRequest
from placement.errors import DatabaseUnavailable, OutcomeUnknown
from tests.databases.questions import connected
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import ROOT, expect, holding, stock

INSTANCE, MIGRATION = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def asked(method, path, status, body=None, text="", case=INSTANCE):
    return RecordedRequest(0.0, 0.0, case, 0, method, path, body, status, text)


def given(amount):
    return {"allocations": {ROOT: {"resources": {"VCPU": amount}}} if amount else {}}


def put(status, amount=1, text=""):
    return asked("PUT", f"/allocations/{INSTANCE}", status, given(amount), text)


def move(status, text=""):
    body = {INSTANCE: given(0), MIGRATION: given(1)}
    return asked("POST", "/allocations", status, body, text)


def read(amount):
    return asked("GET", f"/allocations/{INSTANCE}", 200, text=json.dumps(given(amount)))


def delete(status):
    return asked("DELETE", f"/allocations/{INSTANCE}", status)


def case(*log):
    found = Case(INSTANCE)
    for one in log:
        found.follow(one)
    return found


OF_INSTANCE = frozenset({(INSTANCE, ROOT, "VCPU", 1)})
OF_MIGRATION = frozenset({(MIGRATION, ROOT, "VCPU", 1)})
NOTHING = frozenset()
UNKNOWN = OutcomeUnknown.text


@pytest.mark.parametrize(
    ("log", "possible"),
    [
        ([put(204)], {OF_INSTANCE}),
        ([put(409)], {NOTHING}),
        ([put(503, text=DatabaseUnavailable.text)], {NOTHING}),
        ([put(503, text=UNKNOWN)], {NOTHING, OF_INSTANCE}),
        ([put(204), move(503, UNKNOWN)], {OF_INSTANCE, OF_MIGRATION}),
        ([put(204), move(503, UNKNOWN), move(204)], {OF_MIGRATION}),
        ([put(204), move(503, UNKNOWN), delete(404)], {OF_INSTANCE, OF_MIGRATION}),
        ([put(None), delete(204)], {NOTHING, OF_INSTANCE}),
        ([put(204), delete(204)], {NOTHING}),
    ],
)
def test_answers_tell_what_a_consumer_may_hold(log, possible):
    assert case(*log).possible == possible


@pytest.mark.parametrize(
    "log",
    [
        [put(204), read(0)],
        [put(204), read(2)],
        [put(409), read(1)],
        [put(503, text=DatabaseUnavailable.text), read(1)],
        [put(409, text="consumer generation conflict")],
        [put(204), delete(404)],
    ],
)
def test_answers_that_contradict_each_other_are_wrong(log):
    assert len(case(*log).wrong) == 1


@pytest.mark.parametrize(
    "log",
    [
        [put(204), read(1), delete(204), read(0)],
        [put(503, text=UNKNOWN), read(0), read(1)],
        [put(503, text=UNKNOWN), put(409, text="consumer generation conflict")],
        [put(204), move(503, UNKNOWN), delete(404)],
    ],
)
def test_answers_that_may_follow_each_other_are_right(log):
    assert case(*log).wrong == []


@pytest.mark.parametrize(
    ("answer", "promised"),
    [
        (put(204), True),
        (put(409), True),
        (put(503, text=UNKNOWN), True),
        (put(503, text="Too many requests wait to be answered."), False),
        (put(500), False),
        (put(504, text=UNKNOWN), False),
    ],
)
def test_no_error_of_the_server_is_promised_but_two_kinds_of_503(answer, promised):
    assert is_promised(answer) == promised


@pytest.fixture
def url(tmp_path):
    """Return the URL of a database in which the instance has one VCPU."""
    url = f"sqlite:///{tmp_path}/placement.db"
    service = Service(url)
    expect(service.post("/resource_providers", {"name": "root", "uuid": ROOT}), 200)
    expect(service.put(f"/resource_providers/{ROOT}/inventories", stock(0, VCPU=9)), 200)
    expect(service.put(f"/allocations/{INSTANCE}", holding({ROOT: {"VCPU": 1}})), 204)
    return url


def wrong(url, *log):
    return list(wrong_allocations(url, {INSTANCE: case(*log)}))


@pytest.mark.parametrize(
    "log", [[put(204)], [put(503, text=UNKNOWN)], [put(204), move(503, UNKNOWN)]]
)
def test_a_database_that_has_what_was_answered_is_right(url, log):
    assert wrong(url, *log) == []


@pytest.mark.parametrize(
    "log", [[put(409)], [put(204), delete(204)], [put(204), move(204)], [put(204, 2)]]
)
def test_a_database_that_has_something_else_is_wrong(url, log):
    (told,) = wrong(url, *log)
    assert told.startswith(f"{INSTANCE} has [('{INSTANCE}', '{ROOT}', 'VCPU', 1)]; may be: ")


def test_a_move_that_is_done_by_half_is_wrong(url):
    with connected(url) as connection:
        connection.exec_driver_sql(
            "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) "
            f"SELECT resource_provider_id, '{MIGRATION}', resource_class_id, used FROM allocations"
        )
        connection.commit()
    assert len(wrong(url, put(204), move(503, UNKNOWN))) == 1


def test_allocations_that_nobody_claimed_are_wrong(url):
    (told,) = wrong_allocations(url, {})
    assert told == f"{INSTANCE} holds 1 VCPU of {ROOT}, and nobody claimed that"
