"""The agents of compute hosts: each has a report client, and keeps its host's tree in placement.

An agent starts, and later changes what its host has, as when a device is plugged in. If placement
doesn't take an update, the agent tries again some time later. At the end it makes sure that its
last tree is there.
"""

import heapq
import itertools
import json
import logging
import random
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from benchmarks.storms.recording import Log, RecordingAdapter
from compute import config, exceptions
from compute.provider_tree import ProviderTree
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from virt.inventory import record

#: what placement may refuse, or not answer
FAILURES = (exceptions.NovaException, ClientException)
#: seconds until the next try; an agent's is a minute
PAUSE = 3.0
#: seconds in which an agent must succeed at the end
LONGEST_END = 180.0
#: what a root has, and each of its two children
STOCK = {"MEMORY_MB": 65_536, "DISK_GB": 1_000}
CHILD_STOCK = {"VCPU": 8, "PCPU": 2}
CHILDREN = 2
TRAIT = "CUSTOM_STORM_{}"
TRAITS = 20


class Agent:
    """One host: a root with two children.

    :param number: gives the names and uuids
    """

    def __init__(
        self, number: int, conf: cfg.ConfigOpts, services: Sequence[str], log: Log
    ) -> None:
        self.name = f"host-{number}"
        self.uuid = str(uuid.UUID(int=number + (0x57021 << 96)))
        #: how often the host has changed
        self.changes = 0
        self._services, self._log, self._conf = services, log, conf
        self._client: SchedulerReportClient | None = None

    def update(self) -> bool:
        """Bring placement up to date, as an agent does; return whether that is done."""
        if self._client is None:
            # at its start, not before
            adapter = RecordingAdapter(self._services, self._log)
            self._client = SchedulerReportClient(adapter, conf=self._conf)
        context = admin_context()
        try:
            tree = self._client.get_provider_subtree(context, self.uuid, self.name)
            self._fill(tree)
            self._client.update_from_provider_tree(context, tree)
        except FAILURES:
            return False
        return True

    def _fill(self, tree: ProviderTree) -> None:
        wanted = self.wanted()
        for name, (inventory, traits) in wanted.items():
            if not tree.exists(name):
                tree.new_child(name, self.name)
            tree.update_inventory(name, {c: record(total) for c, total in inventory.items()})
            tree.update_traits(name, traits)

    def wanted(self) -> dict[str, tuple[dict[str, int], list[str]]]:
        """Return the providers that the host has now by name: totals and traits; the root first."""
        trait = TRAIT.format(self.changes % TRAITS)
        # what is there never gets less, so that it can't be less than what instances have
        memory = {**STOCK, "MEMORY_MB": STOCK["MEMORY_MB"] + self.changes}
        children = {f"{self.name}-{n}": (CHILD_STOCK, list[str]()) for n in range(CHILDREN)}
        return {self.name: (memory, [trait]), **children}


class Crowd:
    """Some agents, worked for by some threads: the one whose turn comes first, first.

    :param seconds: in which they start
    :param pace: seconds between changes of one agent
    """

    def __init__(self, agents: Sequence[Agent], seconds: float, pace: float) -> None:
        self._pace = pace
        self._condition = threading.Condition()
        self._numbers = itertools.count()
        begun = time.monotonic()
        self._turns: list[tuple[float, int, Agent, bool]] = []
        for agent in agents:
            self._put(begun + random.uniform(0, seconds), agent, is_new=True)
        self._starting = len(agents)
        self._stopped = False

    def _put(self, when: float, agent: Agent, is_new: bool = False) -> None:
        heapq.heappush(self._turns, (when, next(self._numbers), agent, is_new))

    def work(self) -> None:
        """Update agents until `stop` is called."""
        while True:
            with self._condition:
                now = time.monotonic()
                while not self._stopped and self._turns[0][0] > now:
                    self._condition.wait(self._turns[0][0] - now)
                    now = time.monotonic()
                if self._stopped:
                    return
                _, _, agent, is_new = heapq.heappop(self._turns)
            if not is_new:
                agent.changes += 1
            done = agent.update()
            with self._condition:
                if done:
                    self._starting -= is_new
                    self._put(time.monotonic() + random.uniform(0.5, 1.5) * self._pace, agent)
                else:
                    self._put(time.monotonic() + random.uniform(0.5, 1.5) * PAUSE, agent, is_new)
                self._condition.notify()

    def have_started(self) -> bool:
        """Return whether all agents have their trees in placement."""
        return not self._starting

    def stop(self) -> None:
        """Let the threads end."""
        with self._condition:
            self._stopped = True
            self._condition.notify_all()


def finish(agents: Iterator[Agent]) -> Iterator[Agent]:
    """Make sure that placement has the trees; yield the agents that don't succeed in time.

    Threads may share the iterator if it has a lock.
    """
    end = time.monotonic() + LONGEST_END
    for agent in agents:
        while not agent.update():
            if time.monotonic() > end:
                yield agent
                break
            time.sleep(random.uniform(0, PAUSE))


def run(
    numbers: range,
    services: Sequence[str],
    folder: Path,
    given: Any,
    has_started: Any,
    stopped: Any,
) -> None:
    """Be a process of agents: start them, change them until `stopped`, finish, and write all down.

    :param has_started: set when all have started
    """
    logging.disable(logging.CRITICAL)
    log = Log(folder / f"agents-{numbers.start}.log")
    conf = config.load(files=[], environ={})
    agents = [Agent(number, conf, services, log) for number in numbers]
    crowd = Crowd(agents, given.start_seconds, given.pace)
    threads = [threading.Thread(target=crowd.work) for _ in range(given.threads)]
    for thread in threads:
        thread.start()
    while not (crowd.have_started() or stopped.is_set()):
        time.sleep(0.1)
    has_started.set()
    stopped.wait()
    crowd.stop()
    for thread in threads:
        thread.join()
    lost = {agent.name for agent in finish(iter(agents))}
    log.close()
    # with the uuid that the root must have
    wanted = {agent.name: (agent.uuid, agent.wanted(), agent.name in lost) for agent in agents}
    (folder / f"agents-{numbers.start}.json").write_text(json.dumps(wanted))
