"""The parts that search are made by whoever needs them first."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement.operations.database_lists import DatabaseLists
from placement.searching import LazySearch
from tests.functional.placement.service import Service
from tests.functional.placement.serving.conftest import ROOT, configuration
from tests.patience import PATIENCE

THREADS = 8


class Parts:
    """Parts whose making takes until all threads make some."""

    everybody = threading.Barrier(THREADS)

    def __init__(self):
        self.everybody.wait(PATIENCE)


def test_threads_that_come_first_together_use_the_same_parts():
    searching = LazySearch(Parts, DatabaseLists(None))
    with ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(lambda _: searching.parts, range(THREADS)))
    assert set(found) == {searching.parts}


#: a process without any search's code, whose threads all search at the same time
FIRST_SEARCHES = f"""
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from werkzeug.test import Client
from placement import app, config

running = app.start(config.load())
assert "numpy" not in sys.modules
headers = {{"x-auth-token": "admin", "openstack-api-version": "placement 1.39"}}
everybody = threading.Barrier({THREADS})

def search(path):
    everybody.wait({PATIENCE})
    return Client(running.application).get(path, headers=headers).status_code

searches = ["/allocation_candidates?resources=VCPU:1", "/berth/v1/capacity?resources=VCPU:1"]
with ThreadPoolExecutor({THREADS}) as threads:
    statuses = set(threads.map(search, searches * {THREADS // 2}))
assert statuses == {{200}}, statuses
assert running.snapshot.loads == {{"first use": 1}}, running.snapshot.loads
"""


def test_threads_that_search_first_together_load_the_cloud_once(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-c", FIRST_SEARCHES],
        env=configuration(tmp_path) | {"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.fixture
def service(tmp_path):
    service = Service(f"sqlite:///{tmp_path}/placement.db")
    yield service
    service.running.close()


def test_nothing_is_known_of_the_cloud_before_a_search(service):
    searching = service.running.searching
    searching.look_for_others()
    searching.rest()
    assert (searching.age(), searching.is_distrusted, searching._made) == (None, False, {})


def test_a_search_that_fails_to_begin_leaves_the_next_one_a_try():
    tries = iter([MemoryError(), None])

    def make():
        failure = next(tries)
        if failure is not None:
            raise failure
        return "parts"

    searching = LazySearch(make, DatabaseLists(None))
    with pytest.raises(MemoryError):
        searching.parts  # noqa: B018
    assert searching.parts == "parts"
