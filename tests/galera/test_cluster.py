"""Services on different nodes of a Galera cluster are one service (DESIGN D3, D4)."""

import collections
import concurrent.futures
import contextlib
import threading
import time

import pytest

from tests.functional.placement.cloud import ROOT, expect, holding, numbered, stock
from tests.functional.placement.processes import COUNT
from tests.functional.placement.service import Service
from tests.galera.cluster import PATIENCE

CLIENTS = 4
EACH = 8
TOTAL = COUNT * CLIENTS * EACH
PATH = f"/resource_providers/{ROOT}"
FULL = (409, "placement.undefined_code", "Conflict")


@pytest.fixture
def root(urls):
    """A service on the first node with one provider."""
    service = Service(urls[0])
    expect(service.post("/resource_providers", {"name": "root", "uuid": ROOT}), 200)
    return service


def at_once(job):
    """Run `job(number)` in threads; a count of what they answer, all together."""
    answers = collections.Counter()
    ready, lock = threading.Barrier(CLIENTS), threading.Lock()

    def run(number):
        ready.wait()
        mine = job(number)
        with lock:
            answers.update(mine)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def outcome(response):
    if response.status_code < 400:
        return response.status_code
    error = response.json["errors"][0]
    return response.status_code, error.get("code"), error["title"]


def claim(service, process):
    """Clients claim of one provider for consumers of their own."""

    def client(number):
        found = []
        for turn in range(EACH):
            consumer = numbered("c", (process * CLIENTS + number) * EACH + turn)
            wanted = holding({ROOT: {"VCPU": 1}}, project=f"p{number}", user=f"u{turn}")
            found.append(outcome(service.put(f"/allocations/{consumer}", wanted)))
        return found

    return at_once(client)


def test_services_that_start_at_once_make_one_schema(urls, processes):
    answers = processes.run(first_answer, *urls)
    assert answers == [{"resource_providers": []}] * COUNT


def first_answer(service, process):
    return service.get("/resource_providers").json


def test_claims_on_all_nodes_get_all_there_is_and_no_more(root, urls, processes):
    room = TOTAL - 10
    expect(root.put(f"{PATH}/inventories", stock(0, VCPU=room)), 200)
    answers = sum(processes.run(claim, *urls), start=collections.Counter())
    used = [Service(url).get(f"{PATH}/usages").json["usages"] for url in urls]
    assert (answers, used) == ({204: room, FULL: 10}, [{"VCPU": room}] * COUNT)


def paused(node):
    """While this lasts, a node answers, but what others commit is not applied there."""
    stack = contextlib.ExitStack()
    connection = stack.enter_context(contextlib.closing(node.connect()))
    cursor = stack.enter_context(connection.cursor())
    cursor.execute("FLUSH TABLES WITH READ LOCK")
    stack.callback(cursor.execute, "UNLOCK TABLES")
    return stack


def waiting(node):
    """Whether a statement waits there for what others have committed."""
    return any("SELECT" in (row[7] or "") for row in node.ask("SHOW FULL PROCESSLIST"))


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
def test_an_answer_waits_for_what_was_committed_on_another_node(root, urls, cluster, path, read):
    expect(root.put(f"{PATH}/inventories", stock(0, VCPU=5)), 200)
    other, node = Service(urls[1]), cluster.nodes[1]
    assert read(other.get(path).json) == 5
    with paused(node), concurrent.futures.ThreadPoolExecutor() as pool:
        expect(root.put(f"{PATH}/inventories", stock(1, VCPU=6)), 200)
        answer = pool.submit(other.get, path)
        wait_until(lambda: answer.done() or waiting(node))
    assert read(answer.result().json) == 6


def test_a_write_waits_for_what_was_committed_on_another_node(root, urls, cluster):
    other, node = Service(urls[1]), cluster.nodes[1]
    with paused(node), concurrent.futures.ThreadPoolExecutor() as pool:
        expect(root.put(f"{PATH}/inventories", stock(0, VCPU=5)), 200)
        answer = pool.submit(other.put, f"{PATH}/inventories", stock(1, VCPU=6))
        wait_until(lambda: answer.done() or waiting(node))
    assert answer.result().status_code == 200


def wait_until(done):
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)
