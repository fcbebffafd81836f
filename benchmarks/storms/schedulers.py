"""Schedulers and conductors: they boot, resize and delete instances, as nova does.

A boot searches, and claims one of the candidates. A resize gives a migration what the instance has,
and claims again for the instance; then it is confirmed, or reverted. Each instance is of one
scheduler: nobody else writes its allocations, so its answers tell what placement must have.
"""

import logging
import random
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from keystoneauth1.exceptions import ClientException

from benchmarks.storms.recording import Log, RecordingAdapter
from compute import config, exceptions
from compute.report import SchedulerReportClient
from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from compute.report.wire.context import admin_context

T = TypeVar("T")
FAILURES = (exceptions.NovaException, ClientException)
#: what instances ask for
FLAVORS = (
    {"VCPU": 1, "MEMORY_MB": 2_048, "DISK_GB": 20},
    {"VCPU": 2, "MEMORY_MB": 4_096, "DISK_GB": 40},
    {"VCPU": 4, "MEMORY_MB": 8_192, "DISK_GB": 80},
)
#: candidates that a search asks for; all schedulers see the same ones, and compete for them
LIMIT = 20
#: candidates that are tried before an instance gives up
ALTERNATES = 5
#: instances that a scheduler has at a time
ALIVE = 6
#: seconds in which a step must get a clear answer
LONGEST_STEP = 180.0
PROJECTS = 50


class Unclear(Exception):
    """Placement gave no clear answer for LONGEST_STEP seconds."""


class Scheduler:
    """Works on one instance after the other."""

    def __init__(self, services: Sequence[str], log: Log, source: random.Random) -> None:
        self._adapter = RecordingAdapter(services, log)
        self._client = SchedulerReportClient(
            self._adapter, conf=config.load(files=[], environ={}), sleep=self._sleep
        )
        self._random = source
        self._alive: list[str] = []
        self.done = self.resized = 0

    def _sleep(self, seconds: float) -> None:
        # the client waits for seconds between the tries that a conflict costs
        time.sleep(seconds / 10)

    def step(self) -> None:
        """Boot an instance, or resize or delete one. Raises Unclear."""
        if len(self._alive) < ALIVE:
            self._boot()
            return
        instance = self._random.choice(self._alive)
        self._adapter.case = instance
        if self._random.random() < 0.5:
            self._resize(instance)
        else:
            self._delete(instance)

    def end(self) -> None:
        """Delete the first half of the instances that are left. Raises Unclear."""
        for instance in self._alive[: ALIVE // 2]:
            self._adapter.case = instance
            self._delete(instance)

    def _boot(self) -> None:
        instance = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        self._adapter.case = instance
        if self._claim(instance):
            self._alive.append(instance)
        else:
            # nothing was found, or nobody knows what was claimed: remove what there may be
            self._remove(instance)

    def _delete(self, instance: str) -> None:
        self._remove(instance)
        self._alive.remove(instance)
        self.done += 1

    def _resize(self, instance: str) -> None:
        migration = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        self._move(instance, migration)
        if self._claim(instance) and self._random.random() < 0.7:
            self._remove(migration)
        else:
            self._remove(instance)
            self._move(migration, instance)
        self.resized += 1

    def _claim(self, instance: str) -> bool:
        """Search and claim; return whether the instance has what it needs for sure."""
        group = RequestGroup(resources=self._random.choice(FLAVORS))
        wanted = ResourceRequest({"": group}, limit=LIMIT)
        context = admin_context()

        def search() -> Any:
            found = self._client.get_allocation_candidates(context, wanted)
            return None if found is None or found[0] is None else found

        candidates, _, version = self._insist(search)
        self._random.shuffle(candidates)
        project = f"project-{self._random.randrange(PROJECTS)}"
        for candidate in candidates[:ALTERNATES]:
            try:
                claimed = self._client.claim_resources(
                    context, instance, candidate, project, "user", version
                )
            except FAILURES:
                return False
            if claimed or self._adapter.last_status != 409:
                return bool(claimed)
        return False

    def _move(self, source: str, target: str) -> None:
        self._insist(lambda: self._client.move_allocations(admin_context(), source, target) or None)

    def _remove(self, consumer: str) -> None:
        """Delete what a consumer has; afterwards it has nothing for sure."""
        self._insist(
            lambda: self._client.delete_allocation_for_instance(
                admin_context(), consumer, force=self._random.random() < 0.5
            )
        )

    def _insist(self, send: Callable[[], T | None]) -> T:
        """Repeat until there is a clear answer, and return it. Raises Unclear."""
        end = time.monotonic() + LONGEST_STEP
        while True:
            why: object = "no connection"
            try:
                answer = send()
            except FAILURES as failure:
                answer, why = None, failure
            if answer is not None:
                return answer
            if time.monotonic() > end:
                raise Unclear(str(why))
            time.sleep(self._random.uniform(0.2, 1.0))


def run(
    numbers: range, services: Sequence[str], folder: Path, seed: int, counter: Any, stopped: Any
) -> None:
    """Be a process of schedulers, a thread each, until `stopped`.

    :param counter: a shared number of instances that were deleted again; its lock is used
    """
    logging.disable(logging.CRITICAL)
    log = Log(folder / f"schedulers-{numbers.start}.log")
    unclear = folder / f"schedulers-{numbers.start}.unclear"

    def work(number: int) -> None:
        scheduler = Scheduler(services, log, random.Random(seed * 10_000 + number))
        try:
            while not stopped.is_set():
                before = scheduler.done
                scheduler.step()
                if scheduler.done > before:
                    with counter.get_lock():
                        counter.value += 1
            scheduler.end()
        except Unclear as failure:
            with unclear.open("a") as lines:
                lines.write(f"scheduler {number}: {failure}\n")

    threads = [threading.Thread(target=work, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
