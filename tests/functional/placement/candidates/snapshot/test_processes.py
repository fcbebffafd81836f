"""The snapshot across processes: nothing committed before a request began may be missing."""

import random
import uuid

import pytest

from tests.extent import examples
from tests.functional.forked import PROCESSES, code_of
from tests.functional.placement.candidates.snapshot.dying_writer import claim_and_die
from tests.functional.placement.processes import COUNT, together
from tests.functional.placement.service import Service

WRITES = examples(10, 25)


@pytest.fixture
def url(database_url):
    return database_url


def candidates(service, query="resources=VCPU:1"):
    response = service.get(f"/allocation_candidates?{query}")
    assert response.status_code == 200
    return response.json


def capacity_of(body, key):
    return body["provider_summaries"][key]["resources"]["VCPU"]["capacity"]


def write_total(service, key, generation, total):
    body = {
        "inventories": {"VCPU": {"total": total}},
        "resource_provider_generation": generation,
    }
    service.write("PUT", f"/resource_providers/{key}/inventories", body)


def write_and_ask(service, number):
    """Write again and again; return the key, the last total, and what was read wrongly."""
    source = random.Random(number)
    key = str(uuid.UUID(int=number + 1))
    service.write("POST", "/resource_providers", {"name": f"p{number}", "uuid": key})
    wrong = []
    for generation in range(WRITES):
        total = source.randrange(1, 1000)
        write_total(service, key, generation, total)
        own = capacity_of(candidates(service), key)
        if own != total:
            wrong.append(f"read {own} after writing {total}")
    return key, total, wrong


def test_every_commit_of_any_process_is_in_the_next_answer(url, processes):
    reader = Service(url)
    candidates(reader)
    told = processes.run(write_and_ask, url)

    body = candidates(reader)
    assert [wrong for _, _, wrong in told] == [[]] * COUNT
    assert [capacity_of(body, key) for key, _, _ in told] == [total for _, total, _ in told]


def write_or_read(service, number):
    """Write, in the first process; in the others, return what they read after each write."""
    key, seen = str(uuid.UUID(int=1)), []
    if number == 0:
        service.write("POST", "/resource_providers", {"name": "host", "uuid": key})
    for generation in range(WRITES):
        if number == 0:
            write_total(service, key, generation, generation + 1)
        together()
        if number > 0:
            seen.append(capacity_of(candidates(service), key))
        together()
    return seen


def test_a_reader_in_another_process_sees_each_write_at_once(url, processes):
    _, *seen = processes.run(write_or_read, url)
    assert seen == [list(range(1, WRITES + 1))] * (COUNT - 1)


def test_a_writer_that_dies_before_its_commit_leaves_nothing(url, forking):
    service = Service(url)
    key = str(uuid.uuid4())
    service.write("POST", "/resource_providers", {"name": "host", "uuid": key})
    body = {"inventories": {"VCPU": {"total": 8}}, "resource_provider_generation": 0}
    service.write("PUT", f"/resource_providers/{key}/inventories", body)
    before = candidates(service)

    worker = PROCESSES.Process(target=claim_and_die, args=(url, key))
    worker.start()

    assert code_of(worker) == 9
    assert candidates(service) == before
    body = {"inventories": {"VCPU": {"total": 9}}, "resource_provider_generation": 1}
    service.write("PUT", f"/resource_providers/{key}/inventories", body)
    assert capacity_of(candidates(service), key) == 9
