"""The short form of `tox -e soak`: everything comes and goes, and nothing is left of it."""

import functools
import gc
import random
import sys
import threading
import weakref

import pytest

from benchmarks import soak
from benchmarks.soaks.churn import FEW, Round
from benchmarks.soaks.workers import rows, worker
from tests.faults.running import eventually, running
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import ROOT, stock

pytestmark = pytest.mark.spread_over_databases

CLIENTS = 3
#: rounds of each client: with a file lost in each, the worker would lose more than a pool has
ROUNDS = 3
#: rounds of a client alone, as often as all of its projects and aggregates have had their turn
ALONE = 2 * FEW
#: for the service of the test: it trims its feed as if it kept only so many rows
KEPT, TRIM_EVERY = 100, 10
FEW_ROWS = f"""
from placement.storage.feed import change_feed
change_feed.KEPT, change_feed.TRIM_EVERY = {KEPT}, {TRIM_EVERY}
"""


def fill(write):
    """Create a host with room for what rounds claim."""
    write("POST", "/resource_providers", {"name": "root", "uuid": ROOT})
    room = stock(0, MEMORY_MB=10_000_000, DISK_GB=100_000)
    write("PUT", f"/resource_providers/{ROOT}/inventories", room)


def churn(send, numbers):
    """Run rounds; return how many requests were sent."""
    return sum(1 for n in numbers for _ in Round(send, n, random.Random(n)).steps())


def churn_together(service, first):
    """Let clients run their rounds at the same time."""
    lost = []

    def work(client):
        try:
            churn(service.request, range(first + client, first + CLIENTS * ROUNDS, CLIENTS))
        except Exception as failure:
            lost.append(failure)

    threads = [threading.Thread(target=work, args=(client,)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lost == []


def test_a_worker_loses_no_file_and_tables_get_no_row_while_everything_comes_and_goes(database_url):
    with running(database_url, workers=1, code=FEW_ROWS) as service:
        fill(service.request)
        churn_together(service, 0)
        before, files = rows(database_url), {pid: worker(pid).files for pid in service.workers()}
        churn_together(service, CLIENTS * ROUNDS)

        def have_few_files():
            return all(worker(pid).files <= files[pid] + soak.POOL for pid in service.workers())

        eventually(have_few_files, service.said)
        assert service.workers() == list(files)
        after = rows(database_url)
        assert list(soak.grown_tables(before, after, KEPT, TRIM_EVERY, 2 * CLIENTS)) == []
        # whoever trimmed last may have left just so many
        assert after["berth_provider_changes"] >= KEPT, (
            "too few changes came for the feed to be trimmed"
        )


@pytest.mark.parametrize(
    ("table", "more", "told"),
    [
        ("consumers", 1, ["consumers had 5 rows, now 6"]),
        ("berth_change_lanes", 2, []),
        ("berth_change_lanes", 3, ["the feed has 5 lanes for 4 writers"]),
        ("berth_provider_changes", 90, []),
        ("berth_provider_changes", 91, ["the feed has 191 rows, in 2 lanes"]),
    ],
)
def test_a_table_that_has_grown_is_told(table, more, told):
    before = {"consumers": 5, "berth_change_lanes": 2, "berth_provider_changes": 100}
    after = {**before, table: before[table] + more}
    assert list(soak.grown_tables(before, after, 160, 10, 4)) == told


def caches():
    """Return the bounded and the unbounded caches of our functions."""
    # the collector doesn't know of those that were imported before the tests (tests/conftest.py)
    modules = [module for name, module in sys.modules.items() if name.startswith("placement.")]
    classes = [one for module in modules for one in vars(module).values() if isinstance(one, type)]
    found = {one for place in [*modules, *classes] for one in vars(place).values() if is_cache(one)}
    ours = [one for one in found if one.__module__.startswith("placement.")]
    bounded = [one for one in ours if one.cache_info().maxsize is not None]
    return bounded, [one for one in ours if one not in bounded]


def is_cache(one):
    return isinstance(one, functools._lru_cache_wrapper)


def objects():
    """Return how many objects there are besides those in bounded caches."""
    bounded, _ = caches()
    for cache in bounded:
        cache.cache_clear()
    gc.collect()
    # SQLite's driver has weak references to cursors, and drops them hundreds at a time
    return sum(1 for one in gc.get_objects() if type(one) is not weakref.ref)


# the objects of a service are those of any database
@pytest.mark.spread_over_databases("sqlite")
def test_a_service_keeps_nothing_of_what_came_and_went(database_url):
    service = Service(database_url, berth__snapshot_audit_interval=0)
    fill(service.write)
    client = service.unjudged()

    def send(method, path, body=None):
        answer = client.request(method, path, body)
        return answer.status_code, answer.json if answer.is_json else answer.text

    # the first rounds compile statements
    churn(send, range(ALONE))
    before, unbounded = objects(), [cache.cache_info().currsize for cache in caches()[1]]
    churn(send, range(ALONE, 4 * ALONE))
    assert objects() - before < 3 * ALONE, "an object or more of each round is kept"
    assert [cache.cache_info().currsize for cache in caches()[1]] == unbounded
