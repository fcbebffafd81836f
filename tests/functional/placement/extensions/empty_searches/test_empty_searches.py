"""Searches that found nothing, as whoever asks any worker sees them."""

import logging

import pytest

from placement.app import metrics_layout
from placement.extensions.monitoring.counting import Counting
from placement.metrics.slots import Slots
from tests.functional.placement.service import Service

PATH = "/berth/v1/empty_searches"
QUERY = "resources=VCPU:4"


@pytest.fixture
def workers(tmp_path):
    """Return a function that makes workers of one service."""
    layout = metrics_layout()
    made = []

    def worker(of_process=False, **options):
        folder = tmp_path / "shared"
        folder.mkdir(exist_ok=True)
        slots = Slots.in_folder(folder, layout.width, layout.digest)
        counting = Counting.shared(layout, slots)
        if of_process:
            counting = Counting(counting.meter, slots, of_process=True)
        url = f"sqlite:///{tmp_path}/placement.db"
        made.append(Service(url, counting=counting, **options))
        return made[-1]

    yield worker
    for one in made:
        one.close()


def search(worker, query=QUERY):
    assert worker.get(f"/allocation_candidates?{query}").json["provider_summaries"] == {}


def test_a_search_is_told_with_its_reason(workers, caplog):
    caplog.set_level(logging.INFO, "placement.explain")
    worker = workers()
    assert worker.get(PATH).json == {"minutes": 60, "searches": 0, "queries": []}
    for _ in range(3):
        search(worker)
    search(worker, "resources=VCPU:5")
    found = worker.get(PATH).json
    assert found["searches"] == 4
    first, second = found["queries"]
    assert (first["query"], first["searches"]) == (QUERY, 3)
    assert (second["query"], second["searches"]) == ("resources=VCPU:5", 1)
    assert first["reason"].startswith("0 of 0 trees")


def test_all_workers_are_counted_together_and_one_that_ended_is(workers):
    first, second = workers(), workers()
    for _ in range(2):
        search(first)
    search(second)
    # what a worker knows is there for others once it has written it, each second and at its end
    first.close()
    assert second.get(PATH).json["searches"] == 3
    # the next one goes on with what the one before it knew
    third = workers()
    search(third)
    assert third.running.counting.meter.slot.number == 0
    third.running.counting.meter.look()
    (one,) = second.get(PATH).json["queries"]
    assert (one["query"], one["searches"]) == (QUERY, 4)


def test_a_worker_that_knows_itself_alone_tells_nothing(workers):
    worker = workers(of_process=True)
    search(worker)
    assert worker.get(PATH).json == {"minutes": 60, "searches": None, "queries": []}


def test_a_service_without_metrics_tells_nothing(workers):
    worker = workers(berth__metrics="off")
    search(worker)
    assert worker.get(PATH).json["searches"] is None
