"""While a large request is unanswered, others are answered by a server with real threads."""

import concurrent.futures
import contextlib
import threading

import pytest
import requests
from sqlalchemy import event

from tests.extent import examples
from tests.functional.placement.largest_requests import tree
from tests.functional.placement.served import served
from tests.functional.placement.small_cloud import HOLDER, NEW, holding, numbered
from tests.patience import PATIENCE

MANY = examples(200, 20_000)
HERE, ELSEWHERE = numbered("d", 1), numbered("e", 1)
CHILDREN = [numbered("d", 2 + number) for number in range(MANY)]
HEADERS = {
    "x-auth-token": "admin",
    "x-roles": "admin,service",
    "openstack-api-version": "placement 1.39",
}


@pytest.fixture
def service(service):
    """Return a service with a large tree and a small one."""
    made = tree(HERE, CHILDREN, lambda number: HERE)
    service.write("PUT", f"/berth/v1/provider_trees/{HERE}", made)
    small = {"name": "small", "generation": None, "inventories": {"VCPU": {"total": 4}}}
    service.write("PUT", f"/berth/v1/provider_trees/{ELSEWHERE}", {"providers": {ELSEWHERE: small}})
    # two writes that store the same new project wait for each other
    service.write("PUT", f"/allocations/{HOLDER}", holding({ELSEWHERE: {"VCPU": 1}}))
    return service


def consumers(service):
    return (
        "POST",
        "/allocations",
        {numbered("9", number): holding({HERE: {"VCPU": 1}}) for number in range(MANY)},
    )


def removal(service):
    question = "SELECT uuid, generation FROM resource_providers WHERE name LIKE 'd%'"
    stored = dict(service.ask(question))
    # not most of all providers: to remove these, MariaDB would read the whole table and lock it
    remove = {uuid: stored[uuid] for uuid in CHILDREN[: MANY // 4]}
    return "PUT", f"/berth/v1/provider_trees/{HERE}", {"remove": remove}


@contextlib.contextmanager
def held_at_its_commit(database):
    """Let the next transaction that commits wait; yield what tells that it does, and what ends it.

    It has written everything by then, and holds all its locks.
    """
    waits, may_go, first = threading.Event(), threading.Event(), threading.Lock()

    def hold(connection):
        if first.acquire(blocking=False):
            waits.set()
            assert may_go.wait(PATIENCE)

    event.listen(database.engine, "commit", hold)
    try:
        yield waits, may_go
    finally:
        may_go.set()
        event.remove(database.engine, "commit", hold)


@pytest.mark.parametrize("large", [consumers, removal])
def test_others_are_answered_while_a_large_write_is_not(service, database_kind, large):
    method, path, body = large(service)
    with (
        served(service.app) as url,
        concurrent.futures.ThreadPoolExecutor() as beside,
        held_at_its_commit(service.database) as (waits, may_go),
    ):

        def ask(method, path, body=None):
            with requests.Session() as client:
                return client.request(method, url + path, json=body, headers=HEADERS).status_code

        written = beside.submit(ask, method, path, body)
        assert waits.wait(PATIENCE)
        assert ask("GET", "/") == 200
        assert ask("GET", "/resource_providers?name=small") == 200
        assert ask("GET", "/allocation_candidates?resources=VCPU:3") == 200
        claimed = beside.submit(
            ask, "PUT", f"/allocations/{NEW}", holding({ELSEWHERE: {"VCPU": 1}})
        )
        # SQLite has one lock for all writes
        if database_kind != "sqlite":
            assert claimed.result(PATIENCE) == 204
        assert not written.done()
        may_go.set()
        assert written.result(PATIENCE) < 300
        assert claimed.result(PATIENCE) == 204
