"""The snapshot across processes: nothing committed before a request began may be missing."""

import multiprocessing
import random
import uuid

import pytest

from tests.functional.placement.service import Service

CONTEXT = multiprocessing.get_context("spawn")
WRITES = 25


@pytest.fixture
def url(database_url):
    return database_url


def candidates(service, query="resources=VCPU:1"):
    response = service.get(f"/allocation_candidates?{query}")
    assert response.status_code == 200
    return response.json


def capacity_of(body, key):
    return body["provider_summaries"][key]["resources"]["VCPU"]["capacity"]


def write_and_ask(url, number, results):
    """Be a worker process: write through its service, and tell the parent after each commit."""
    service = Service(url)
    source = random.Random(number)
    key = str(uuid.UUID(int=number + 1))
    service.write("POST", "/resource_providers", {"name": f"p{number}", "uuid": key})
    generation = 0
    for _ in range(WRITES):
        total = source.randrange(1, 1000)
        body = {
            "inventories": {"VCPU": {"total": total}},
            "resource_provider_generation": generation,
        }
        answer = service.write("PUT", f"/resource_providers/{key}/inventories", body)
        generation = answer["resource_provider_generation"]
        results.put((key, total))
        own = capacity_of(candidates(service), key)
        if own != total:
            results.put((key, f"read {own} after writing {total}"))
    results.put(None)


def test_every_commit_of_any_process_is_in_the_next_answer(url):
    reader = Service(url)
    candidates(reader)
    queue, replies = CONTEXT.SimpleQueue(), 0
    workers = [CONTEXT.Process(target=write_and_ask, args=(url, n, queue)) for n in range(2)]
    for worker in workers:
        worker.start()

    newest, wrong = {}, []
    running = len(workers)
    while running:
        told = queue.get()
        if told is None:
            running -= 1
            continue
        key, total = told
        replies += 1
        newest[key] = total
        if isinstance(total, str):
            wrong.append(total)
    for worker in workers:
        worker.join()

    body = candidates(reader)
    assert not wrong
    assert replies == WRITES * len(workers)
    assert {key: capacity_of(body, key) for key in newest} == newest


def serve_answers(url, questions, answers):
    """Be a worker process: report what its service shows whenever the parent asks."""
    service = Service(url)
    while (key := questions.get()) is not None:
        body = candidates(service)
        known = key in body["provider_summaries"]
        answers.put(capacity_of(body, key) if known else None)


def test_a_reader_in_another_process_sees_each_write_at_once(url):
    service = Service(url)
    questions, answers = CONTEXT.SimpleQueue(), CONTEXT.SimpleQueue()
    reader = CONTEXT.Process(target=serve_answers, args=(url, questions, answers))
    reader.start()
    key = str(uuid.uuid4())
    service.write("POST", "/resource_providers", {"name": "host", "uuid": key})

    seen = []
    for generation in range(WRITES):
        body = {
            "inventories": {"VCPU": {"total": generation + 1}},
            "resource_provider_generation": generation,
        }
        service.write("PUT", f"/resource_providers/{key}/inventories", body)
        questions.put(key)
        seen.append(answers.get())
    questions.put(None)
    reader.join()

    assert seen == list(range(1, WRITES + 1))


def claim_and_die(url, key):
    """Be a worker process that is killed between its insert and its commit."""
    import os

    from placement.storage import change_feed
    from placement.storage.change_feed import Kind
    from placement.storage.engine import Database, DatabaseSettings
    from placement.storage.tables import allocations

    def write(connection):
        connection.execute(
            allocations.insert(),
            {
                "resource_provider_id": 1,
                "resource_class_id": 0,
                "consumer_id": key,
                "used": 1,
            },
        )
        change_feed.record(connection, [1], Kind.USAGE)
        os._exit(9)

    Database(DatabaseSettings(url)).write(write)


def test_a_writer_that_dies_before_its_commit_leaves_nothing(url):
    service = Service(url)
    key = str(uuid.uuid4())
    service.write("POST", "/resource_providers", {"name": "host", "uuid": key})
    body = {"inventories": {"VCPU": {"total": 8}}, "resource_provider_generation": 0}
    service.write("PUT", f"/resource_providers/{key}/inventories", body)
    before = candidates(service)

    worker = CONTEXT.Process(target=claim_and_die, args=(url, key))
    worker.start()
    worker.join()

    assert worker.exitcode == 9
    assert candidates(service) == before
    body = {"inventories": {"VCPU": {"total": 9}}, "resource_provider_generation": 1}
    service.write("PUT", f"/resource_providers/{key}/inventories", body)
    assert capacity_of(candidates(service), key) == 9
