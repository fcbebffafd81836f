"""A node of the cluster is killed and restarted under load (architecture.rst D3)."""

import collections
import concurrent.futures
import functools
import itertools
import time

import pytest

from tests.functional.placement.processes import COUNT
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import ROOT, expect, holding, numbered, stock
from tests.patience import PATIENCE

#: writes of each service before the next event
SHARE = 15
LOST = COUNT - 1
PATH = f"/resource_providers/{ROOT}"


def consumers(process):
    """Return the consumers that one process writes."""
    return (numbered("c", number * COUNT + process) for number in itertools.count(1))


def claim_until(service, process, stop):
    """Allocate for one consumer after the other; return the responses by consumer."""
    found = {}
    for consumer in consumers(process):
        if stop.exists():
            return found
        answer = service.put(f"/allocations/{consumer}", holding({ROOT: {"VCPU": 1}}))
        found[consumer] = answer.status_code
        if answer.status_code >= 500:
            # pause as a client without hurry
            time.sleep(0.1)
    raise AssertionError("unreachable: there are consumers without end")


class Watch:
    """Services that search all the time while others write.

    :param urls: by node; those of nodes that answer
    """

    def __init__(self, urls):
        self._services = [Service(url) for url in urls]
        self.used()

    def used(self):
        """Return the provider's usage as each service's searches show it."""
        return [_used(service) for service in self._services]


def _used(service):
    body = expect(service.get("/allocation_candidates?resources=VCPU:1"), 200).json
    return body["provider_summaries"][ROOT]["resources"]["VCPU"]["used"]


@pytest.fixture
def root(urls):
    """Return a service on the first node, with one provider."""
    service = Service(urls[0])
    expect(service.post("/resource_providers", {"name": "root", "uuid": ROOT}), 200)
    expect(service.put(f"{PATH}/inventories", stock(0, VCPU=100_000)), 200)
    return service


def wait_for_more(watch, node, database, processes=range(COUNT)):
    """Wait until each of these processes has made SHARE further writes."""

    def counts():
        rows = node.ask(f"SELECT consumer_id FROM {database}.allocations")
        numbers = (int(consumer[-12:]) % COUNT for (consumer,) in rows)
        return collections.Counter(numbers)

    before, end = counts(), time.monotonic() + PATIENCE
    while any(counts()[process] < before[process] + SHARE for process in processes):
        assert time.monotonic() < end, (before, counts())
        low = counts().total()
        assert all(used >= low for used in watch.used())
        time.sleep(0.1)


def test_no_write_is_lost_when_a_node_is_killed_and_restarted_under_load(
    root, urls, cluster, processes, tmp_path
):
    stop, database = tmp_path / "stop", urls[0].partition("localhost/")[2].partition("?")[0]
    survivor, lost = cluster.nodes[0], cluster.nodes[LOST]
    watch, everywhere = Watch(urls[:LOST]), Watch(urls)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(processes.run, functools.partial(claim_until, stop=stop), *urls)
        try:
            wait_for_more(watch, survivor, database)
            lost.kill()
            wait_for_more(watch, survivor, database, range(LOST))
            cluster.rejoin(lost)
            wait_for_more(watch, survivor, database)
        finally:
            stop.touch()
        answers = running.result()

    for process, found in enumerate(answers):
        refused = {status for status in found.values() if status != 204}
        # only the service of the lost node may return 503
        assert refused <= ({503} if process == LOST else set())
    acknowledged = {c for found in answers for c, status in found.items() if status == 204}
    unknown = {c for found in answers for c, status in found.items() if status != 204}
    for url in urls:
        held = set(Service(url).get(f"{PATH}/allocations").json["allocations"])
        assert acknowledged <= held <= acknowledged | unknown
        assert everywhere.used() == [len(held)] * COUNT
