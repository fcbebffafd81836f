"""Services on different nodes of a Galera cluster act as one service (architecture.rst D3, D4)."""

import collections
import concurrent.futures
import contextlib
import functools
import time

import pytest
import sqlalchemy as sa

from placement.storage.database.engine import Database, DatabaseSettings
from tests.functional.placement.crowd import FULL, claims
from tests.functional.placement.processes import COUNT
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import ROOT, expect, stock
from tests.patience import PATIENCE

CLIENTS = 4
EACH = 8
ROUNDS = 30
TOTAL = COUNT * CLIENTS * EACH
PATH = f"/resource_providers/{ROOT}"


@pytest.fixture
def root(urls):
    """Return a service on the first node, with one provider."""
    service = Service(urls[0])
    expect(service.post("/resource_providers", {"name": "root", "uuid": ROOT}), 200)
    return service


def test_services_that_start_concurrently_create_one_schema(empty_urls, processes):
    answers = processes.run(first_answer, *empty_urls)
    assert answers == [{"resource_providers": []}] * COUNT


def first_answer(service, process):
    return service.get("/resource_providers").json


def test_claims_on_all_nodes_get_the_whole_capacity_and_no_more(root, urls, processes):
    room = TOTAL - 10
    expect(root.put(f"{PATH}/inventories", stock(0, VCPU=room)), 200)
    claim = functools.partial(claims, clients=CLIENTS, each=EACH)
    answers = sum(processes.run(claim, *urls), start=collections.Counter())
    used = [Service(url).get(f"{PATH}/usages").json["usages"] for url in urls]
    assert (answers, used) == ({204: room, FULL: 10}, [{"VCPU": room}] * COUNT)


def paused(node):
    """Stop applying others' commits on a node in this block; the node still answers."""
    stack = contextlib.ExitStack()
    connection = stack.enter_context(contextlib.closing(node.connect()))
    cursor = stack.enter_context(connection.cursor())
    cursor.execute("FLUSH TABLES WITH READ LOCK")
    stack.callback(cursor.execute, "UNLOCK TABLES")
    return stack


def waiting(node):
    """Return whether a statement on the node waits for commits of other nodes."""
    statements = [row[7] or "" for row in node.ask("SHOW FULL PROCESSLIST")]
    return any(text.startswith(("SELECT", "UPDATE", "INSERT")) for text in statements)


@pytest.mark.parametrize(
    ("path", "read"),
    [
        (
            "/allocation_candidates?resources=VCPU:1",
            lambda body: body["provider_summaries"][ROOT]["resources"]["VCPU"]["capacity"],
        ),
        (f"{PATH}/inventories", lambda body: body["inventories"]["VCPU"]["total"]),
    ],
)
def test_a_read_waits_for_commits_of_another_node(root, urls, cluster, path, read):
    expect(root.put(f"{PATH}/inventories", stock(0, VCPU=5)), 200)
    other, node = Service(urls[1]), cluster.nodes[1]
    assert read(other.get(path).json) == 5
    with concurrent.futures.ThreadPoolExecutor() as pool, paused(node):
        expect(root.put(f"{PATH}/inventories", stock(1, VCPU=6)), 200)
        answer = pool.submit(other.get, path)
        wait_until(lambda: answer.done() or waiting(node))
    assert read(answer.result().json) == 6


def test_a_write_waits_for_commits_of_another_node(root, urls, cluster):
    other, node = Service(urls[1]), cluster.nodes[1]
    with concurrent.futures.ThreadPoolExecutor() as pool, paused(node):
        expect(root.put(f"{PATH}/inventories", stock(0, VCPU=5)), 200)
        answer = pool.submit(other.put, f"{PATH}/inventories", stock(1, VCPU=6))
        wait_until(lambda: answer.done() or waiting(node))
    assert answer.result().status_code == 200


def wait_until(done):
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_searches_on_every_node_see_each_write_at_once(root, urls):
    services = [root, *map(Service, urls[1:])]
    for turn in range(ROUNDS):
        writer = services[turn % len(services)]
        expect(writer.put(f"{PATH}/inventories", stock(turn, VCPU=turn + 1)), 200)
        path = "/allocation_candidates?resources=VCPU:1"
        summaries = [service.get(path).json["provider_summaries"] for service in services]
        seen = [found[ROOT]["resources"]["VCPU"]["capacity"] for found in summaries]
        assert seen == [turn + 1] * len(services)


def test_a_write_is_repeated_if_its_commit_conflicts_with_another_node(root, urls):
    tries = []

    def operation(connection):
        name = f"tried {len(tries)} times"
        connection.execute(sa.text("UPDATE resource_providers SET name = :name"), {"name": name})
        if not tries:
            expect(root.put(PATH, {"name": "faster"}), 200)
        tries.append(name)

    with contextlib.closing(Database(DatabaseSettings(urls[1]))) as database:
        database.write(operation)
        retries = dict(database.retries)
    assert (retries, root.get(PATH).json["name"]) == ({"deadlock": 1}, "tried 1 times")
