"""Many clients at once, and a word for what each is answered."""

import collections
import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from tests.functional.placement.cloud import ROOT, holding, numbered

#: the outcome of a claim that finds no room
FULL = (409, "placement.undefined_code", "Conflict")


def at_once(job: Callable[[int], Iterable[Hashable]], count: int) -> collections.Counter:
    """Run `job(number)` in threads that begin together; how often each outcome came about."""
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
    """An answer's status; that of a refusal with its code and title."""
    if response.status_code < 400:
        return response.status_code
    error = response.json["errors"][0]
    return response.status_code, error.get("code"), error["title"]


def claims(service: Any, process: int, clients: int, each: int) -> collections.Counter:
    """Clients claim of ROOT for consumers of their own, in projects that nobody has seen yet.

    A job for `Processes`, whose number keeps the consumers apart.
    """

    def client(number: int) -> Iterable[Hashable]:
        for turn in range(each):
            consumer = numbered("c", (process * clients + number) * each + turn)
            wanted = holding({ROOT: {"VCPU": 1}}, project=f"p{number % 5}", user=f"u{turn}")
            yield outcome(service.put(f"/allocations/{consumer}", wanted))

    return at_once(client, clients)
