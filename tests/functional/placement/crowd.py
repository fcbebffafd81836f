"""Many concurrent clients, and a short form of their responses."""

import collections
import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from tests.functional.placement.small_cloud import ROOT, holding, numbered

#: the outcome of a request without enough capacity
FULL = (409, "placement.undefined_code", "Conflict")


def at_once(job: Callable[[int], Iterable[Hashable]], count: int) -> collections.Counter:
    """Run `job(number)` in threads that start together; return how often each outcome came."""
    outcomes: collections.Counter = collections.Counter()
    ready, lock = threading.Barrier(count), threading.Lock()

    def run(number: int) -> None:
        ready.wait()
        mine = list(job(number))
        with lock:
            outcomes.update(mine)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def outcome(response: Any) -> Hashable:
    """Return a response's status; for an error, with its code and title."""
    if response.status_code < 400:
        return response.status_code
    error = response.json["errors"][0]
    return response.status_code, error.get("code"), error["title"]


def claims(service: Any, process: int, clients: int, each: int) -> collections.Counter:
    """Allocate from ROOT in many clients, for new consumers in new projects.

    A job for `Processes`; the process's number separates the consumers.
    """

    def client(number: int) -> Iterable[Hashable]:
        for turn in range(each):
            consumer = numbered("c", (process * clients + number) * each + turn)
            wanted = holding({ROOT: {"VCPU": 1}}, project=f"p{number % 5}", user=f"u{turn}")
            yield outcome(service.put(f"/allocations/{consumer}", wanted))

    return at_once(client, clients)
