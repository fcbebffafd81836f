"""Kills a command at one of its requests, which a proxy before placement counts."""

import contextlib
import threading

import requests

from tests.functional.compute.fault_proxy import DROPPED, FaultProxy
from tests.functional.compute.maintenance.http_service import described, serving
from tests.functional.compute.maintenance.killable import Command
from tests.functional.forked import PATIENCE

READS = ("GET",)
#: these are sent with POST, and change nothing
QUESTIONS = ("/berth/v1/allocations/query", "/berth/v1/capacity", "/berth/v1/plans/")


class _Forwarding(FaultProxy):
    """Tells when a write has arrived of which nobody waits for the answer."""

    def __init__(self, http, upstream):
        super().__init__(http, upstream)
        self.arrived = threading.Event()

    def _forward(self, *request):
        try:
            return super()._forward(*request)
        finally:
            self.arrived.set()


class Killing:
    """A service on the site's database, and a proxy before it that commands are told to use.

    :param driver: the one that the commands have
    """

    def __init__(self, site, stack, driver="fake.MediumFakeDriver"):
        self._site = site
        upstream = stack.enter_context(serving(site.url, roles=["admin", "service"]))
        self._proxy = _Forwarding(stack.enter_context(requests.Session()), upstream)
        stack.callback(self._proxy.close)
        self.configure(driver)

    def configure(self, driver):
        """Have commands use this driver, and the proxy."""
        self._site.configure(driver, described(self._proxy.url))

    def at(self, number, *words, arrives=False, reads=False):
        """Run a command, kill it at its nth write, and say whether it made so many.

        :param arrives: the write is made, and nobody hears of it; else it never arrives
        :param reads: count its reads, too
        """
        seen, running = [], []

        def fault(_count, method, path):
            if not running or (not reads and (method in READS or path.startswith(QUESTIONS))):
                return None
            seen.append((method, path))
            if len(seen) - 1 != number:
                return None if len(seen) <= number else DROPPED
            running[0].kill()
            self._proxy.arrived.clear()
            return None if arrives else DROPPED

        self._proxy.reset(fault)
        with self._proxy._lock:
            # the first request waits until it is known whom to kill
            running.append(Command(self._site, *words))
        running[0].end()
        if arrives and len(seen) > number:
            assert self._proxy.arrived.wait(PATIENCE)
        self._proxy.reset()
        return len(seen) > number


@contextlib.contextmanager
def killing_at(site, driver="fake.MediumFakeDriver"):
    """Give what kills commands of a site."""
    with contextlib.ExitStack() as stack:
        yield Killing(site, stack, driver)
