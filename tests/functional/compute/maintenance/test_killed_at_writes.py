"""Commands that are killed at each of their writes, which a proxy counts: the next run completes.

Once the write has not arrived, once it has, and nobody was told.
"""

import contextlib

import pytest
import requests

from tests.functional.compute.fault_proxy import DROPPED, FaultProxy
from tests.functional.compute.maintenance.http_service import described, serving
from tests.functional.compute.maintenance.killable import Command
from tests.functional.compute.maintenance.test_adopt_provider import NEW, OLD
from virt.fake import MediumFakeDriver

pytestmark = pytest.mark.usefixtures("forking")

#: as many writes as a command here makes, and one more
MOST_WRITES = 8
READS = {"GET"}
#: these are sent with POST, and change nothing
QUESTIONS = ("/berth/v1/allocations/query",)


@pytest.fixture
def killing(sqlite_site):
    """Return a function that runs a command, and kills it at its nth write; whether it was."""
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(serving(sqlite_site.url, roles=["admin", "service"]))
        proxy = FaultProxy(stack.enter_context(requests.Session()), upstream)
        stack.callback(proxy.close)
        sqlite_site.configure(more=described(proxy.url))

        def kill_at(number, arrives, *words):
            writes, running = [], []

            def fault(_count, method, path):
                if method in READS or path.startswith(QUESTIONS):
                    return None
                writes.append((method, path))
                if len(writes) - 1 < number:
                    return None
                running[0].kill()
                return None if arrives else DROPPED

            proxy.reset()
            proxy.fault = lambda *asked: None if not running else fault(*asked)
            with proxy._lock:
                # the first request waits until it is known whom to kill
                running.append(Command(sqlite_site, *words))
            running[0].end()
            proxy.reset()
            return len(writes) > number

        yield kill_at


def adopted(site, outsider):
    outsider.provider("host1", None, {"VCPU": {"total": 16, "allocation_ratio": 2.0}}, uuid=OLD)
    guests = [outsider.allocate({OLD: {"VCPU": 8}}) for _ in range(3)]
    lowered = {"total": 8, "reserved": 2, "allocation_ratio": 3.0}
    outsider.set_inventory(OLD, {"VCPU": lowered})

    def check():
        found = outsider.inventory(NEW)
        assert found.keys() == {"VCPU"}
        assert {name: found["VCPU"][name] for name in lowered} == lowered
        assert all(outsider.allocations(guest) == {NEW: {"VCPU": 8}} for guest in guests)
        assert not outsider.exists(OLD)

    return ("adopt_provider", "--name", "host1", "--uuid", NEW), {0}, check


def audited(site, outsider):
    site.remember_a_guest()
    root = site.start_service_once(MediumFakeDriver)
    kept = site.guest()
    outsider.allocate({root: {"VCPU": 1}}, kept)
    leftovers = [outsider.allocate({root: {"VCPU": 1}}) for _ in range(3)]

    def check():
        assert outsider.allocations(kept) == {root: {"VCPU": 1}}
        assert all(outsider.allocations(one) == {} for one in leftovers)

    return ("audit", "--delete", "--journal", str(site.folder / "journal")), {0, 4}, check


@pytest.mark.parametrize("arrives", [False, True], ids=["lost", "arrived"])
@pytest.mark.parametrize("scene", [adopted, audited])
@pytest.mark.parametrize("number", range(MOST_WRITES))
def test_the_next_run_completes_what_was_killed(sqlite_site, killing, scene, number, arrives):
    with sqlite_site.placement() as outsider:
        words, codes, check = scene(sqlite_site, outsider)
        if not killing(number, arrives, *words):
            # it has fewer writes
            assert number >= 3
            check()
            return
        assert sqlite_site.run(*words).code in codes
        check()
