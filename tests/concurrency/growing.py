"""Writers that only raise numbers, and searches that must show at least what was answered before.

A search that shows less is older than a write that was answered before the search began. One that
shows more than was begun shows a write that nobody sent.
"""

import contextlib
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tests.faults.running import Answer, Client
from tests.functional.placement.small_cloud import holding, numbered

#: a context with the service for one request
Services = Callable[[], AbstractContextManager[Client]]
#: two providers: OURS has VCPU, which grow, and MEMORY_MB, which are claimed; THEIRS has DISK_GB
OURS, THEIRS = numbered("d", 1), numbered("d", 2)
CLAIMED = {OURS: "MEMORY_MB", THEIRS: "DISK_GB"}
PLENTY, FIRST_TOTAL = 1_000_000, 8
#: a writer of the same providers that is refused this often is no longer met by chance
MOST_REFUSALS = 1_000


def one(client: Client) -> Services:
    """Return the services of clients that have only one."""
    return lambda: contextlib.nullcontext(client)


def build(client: Client) -> None:
    """Create the two providers."""
    for uuid, totals in (
        (OURS, {"VCPU": FIRST_TOTAL, "MEMORY_MB": PLENTY}),
        (THEIRS, {"DISK_GB": PLENTY}),
    ):
        made = client.post("/resource_providers", {"uuid": uuid, "name": f"growing {uuid}"})
        assert made.status == 200, made
        body = {
            "inventories": {name: {"total": total} for name, total in totals.items()},
            "resource_provider_generation": 0,
        }
        stocked = client.put(f"/resource_providers/{uuid}/inventories", body)
        assert stocked.status == 200, stocked


class Working(threading.Thread):
    """A client that works until `ended` is set.

    :param turn: held during each request and its bookkeeping; for databases with one writer
    """

    #: seconds between two steps
    pause = 0.0

    def __init__(self, services: Services, turn: AbstractContextManager[Any] | None) -> None:
        super().__init__(daemon=True)
        self.services = services
        self.turn = contextlib.nullcontext() if turn is None else turn
        self.ended = threading.Event()
        self.count = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Take one step after the other."""
        try:
            while not self.ended.is_set():
                with self.turn:
                    self.step()
                self.count += 1
                self.ended.wait(self.pause)
        except BaseException as failure:
            self.failure = failure

    def step(self) -> None:
        """Send the requests of one step."""
        raise NotImplementedError

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        """Send a request to one of the services."""
        with self.services() as client:
            answer = client.request(method, path, body)
        assert answer.status in (200, 204, 409), (method, path, answer)
        return answer


class Growing(Working):
    """A writer; `begun` and `done` are the last values that it has begun and ended to write."""

    begun = done = 0

    def step(self) -> None:
        """Raise the number by one; each refusal means that another writer was faster."""
        self.begun += 1
        for _ in range(MOST_REFUSALS):
            if self.write(self.begun).status != 409:
                break
        else:
            raise AssertionError("each write is refused")
        self.done = self.begun

    def write(self, value: int) -> Answer:
        """Write a value, if nobody else wrote to the same provider meanwhile."""
        raise NotImplementedError

    def seen(self, shown: dict[str, Any]) -> int:
        """Return the number that a search shows, of resources by provider."""
        raise NotImplementedError


class Restocking(Growing):
    """Raises an inventory."""

    def write(self, value: int) -> Answer:
        """Set the total."""
        path = f"/resource_providers/{OURS}"
        body = {
            "total": FIRST_TOTAL + value,
            "resource_provider_generation": self.ask("GET", path).body["generation"],
        }
        return self.ask("PUT", f"{path}/inventories/VCPU", body)

    def seen(self, shown: dict[str, Any]) -> int:
        """Return by how much the total was raised."""
        return shown[OURS]["VCPU"]["capacity"] - FIRST_TOTAL


class Claiming(Growing):
    """Claims one unit of a provider after the other, each for a new consumer."""

    def __init__(
        self, services: Services, turn: AbstractContextManager[Any] | None, uuid: str
    ) -> None:
        super().__init__(services, turn)
        self.uuid = uuid

    def consumer(self, number: int) -> str:
        """Return the uuid of a consumer."""
        return numbered("e" if self.uuid == OURS else "f", number)

    def write(self, value: int) -> Answer:
        """Claim for the next consumer."""
        body = holding({self.uuid: {CLAIMED[self.uuid]: 1}})
        return self.ask("PUT", f"/allocations/{self.consumer(value)}", body)

    def seen(self, shown: dict[str, Any]) -> int:
        """Return how much is used."""
        return shown[self.uuid][CLAIMED[self.uuid]]["used"]


class Searching(Working):
    """Searches; `wrong` has what was shown too early or too late."""

    def __init__(
        self,
        services: Services,
        turn: AbstractContextManager[Any] | None,
        writers: Sequence[Growing],
    ) -> None:
        super().__init__(services, turn)
        self.writers = writers
        self.wrong: list[tuple[str, int, int, int]] = []

    def step(self) -> None:
        """Search, and compare with what was written."""
        least = [writer.done for writer in self.writers]
        shown = {}
        for resource in ("VCPU", "DISK_GB"):
            said = self.ask("GET", f"/allocation_candidates?resources={resource}:1").body
            for uuid, summary in said["provider_summaries"].items():
                shown[uuid] = summary["resources"]
        most = [writer.begun for writer in self.writers]
        for writer, low, high in zip(self.writers, least, most, strict=True):
            if not low <= (found := writer.seen(shown)) <= high:
                self.wrong.append((type(writer).__name__, low, found, high))
