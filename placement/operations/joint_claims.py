"""Claims that wait at the same time in one process are written together.

A claim costs mostly its two transactions: one that reads what is new, and the write. So a thread
does both for all claims that came while the thread before it worked. Each claim is planned as if
those before it were stored already, so they don't choose the same place. Where a claim can't go
with the others, or its search is a long one, its own thread makes it alone, and the others aren't
concerned. The same holds for a claim that takes of sharing providers alone while another writer has
locked its tree: it waits in that tree's line (`tree_lines.py`).
"""

import os
import threading

from placement.candidates.snapshot import Snapshot
from placement.errors import AllocationRefused, ClaimUnfinished
from placement.operations.claim_plan import OVERTAKEN, Holding, Locked, Plan, with_choice, write
from placement.operations.claims import Claim, Claimed
from placement.operations.tree_lines import TreeLines
from placement.storage.dialects import LONGEST_LOCK

#: how many claims, and consumers, are written together at most
MOST_CLAIMS, MOST_CONSUMERS = 32, 200
#: how many plans are written before each claim goes alone
ATTEMPTS = 20
#: seconds to wait at most for as many claims as came together before
LINGER = 0.005
#: seconds that the others wait at most for the search of one claim
LONGEST_SEARCH = 0.1


class Job:
    """One claim that waits.

    :param done: whether it was made, or has to be made alone
    """

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.done = False
        self.results: dict[str, Claimed] | None = None
        self.uuids = frozenset(request.uuid for request in claim.wanted)

    def finish(self, together: Plan, generations: dict[str, int]) -> None:
        """Note that the claim's part of a plan was stored."""
        self.claim.settle(together, generations)
        self.results = self.claim.results()


class JointClaims:
    """Makes the claims of one process."""

    def __init__(self) -> None:
        #: by process: in a child process no thread exists that would release the parent's lock
        self._queues: dict[int, _Queue] = {}

    def make(self, claim: Claim) -> dict[str, Claimed]:
        """Make the claim; return and raise what `Claim.run` returns and raises."""
        # threads of a new process may come here at the same time: all of them get the same queue
        return self._queues.setdefault(os.getpid(), _Queue()).make(claim)


class _Queue:
    """The claims that wait in one process."""

    def __init__(self) -> None:
        self._lines = TreeLines()
        self._changed = threading.Condition()
        self._waiting: list[Job] = []
        self._working = False
        #: how many claims there were at the end of the last work
        self._crowd = 1

    def make(self, claim: Claim) -> dict[str, Claimed]:
        """Make the claim, with others if it can be."""
        job = Job(claim)
        with self._changed:
            self._waiting.append(job)
            if len(self._waiting) == self._crowd:
                self._changed.notify_all()
            while self._working and not job.done:
                self._wait_for_others(job)
            jobs: list[Job] = []
            if not job.done:
                self._working = True
                # clients that claim one after the other come again as soon as they are answered
                self._changed.wait_for(lambda: len(self._waiting) >= self._crowd, LINGER)
                jobs = self._taken(job)
        if jobs:
            try:
                make_together(jobs)
            finally:
                with self._changed:
                    self._working = False
                    self._crowd = len(jobs) + len(self._waiting)
                    for one in jobs:
                        one.done = True
                    self._changed.notify_all()
        return claim.run(self._lines) if job.results is None else job.results

    def _wait_for_others(self, job: Job) -> None:
        """Wait until something changed. Raise ClaimUnfinished if the claim's time is over.

        A claim that others are making now waits for them: it may be stored already.
        """
        if job not in self._waiting:
            self._changed.wait()
        elif not self._changed.wait(max(job.claim.left, 0)) and job.claim.left <= 0:
            self._waiting.remove(job)
            raise ClaimUnfinished()

    def _taken(self, own: Job) -> list[Job]:
        """Take claims that wait, in their order, and `own` in any case; no consumer twice."""
        taken, seen, left = [own], set(own.uuids), []
        for job in self._waiting:
            if job is own:
                continue
            fits = len(taken) < MOST_CLAIMS and len(seen) + len(job.uuids) <= MOST_CONSUMERS
            if fits and seen.isdisjoint(job.uuids):
                taken.append(job)
                seen |= job.uuids
            else:
                left.append(job)
        self._waiting = left
        return taken


def make_together(jobs: list[Job]) -> None:
    """Make what can be made in one write; the other jobs have no results then.

    :param jobs: no consumer is in two of them
    """
    first = min((job.claim for job in jobs), key=lambda claim: claim.end)
    snapshot: Snapshot | None = None
    busy: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    try:
        for _ in range(ATTEMPTS):
            if snapshot is None:
                snapshot, busy = first.cloud.current(), refused
            plans = _planned(jobs, snapshot, busy)
            jobs, together = list(plans), sum(plans.values(), Plan())
            if not jobs or first.left <= 0:
                return
            try:
                generations = write(
                    first.database, snapshot, together, first.tries, max(first.left, LONGEST_LOCK)
                )
            except Locked as locked:
                busy |= locked.uuids
                # `busy` keeps searches from providers, not from a tree of which nothing is taken
                trees = {job: plans[job].anchors(snapshot) for job in jobs}
                jobs = [job for job in jobs if trees[job].isdisjoint(locked.uuids)]
            except Holding as holding:
                jobs = [job for job in jobs if job.uuids.isdisjoint(holding.uuids)]
            except AllocationRefused as refusal:
                refused |= refusal.providers
                snapshot, busy = first.after_refusal(snapshot), refused
            except OVERTAKEN:
                snapshot = None
            else:
                for job in jobs:
                    job.finish(together, generations)
                return
    except Exception:
        # whose fault it is shows when each goes alone: one bad claim must not fail another
        return


def _planned(jobs: list[Job], snapshot: Snapshot, busy: frozenset[str]) -> dict[Job, Plan]:
    """Return the plans of the claims for which there are candidates, each after those before it."""
    cloud, plans = snapshot, {}
    for job in jobs:
        found = _plan(job, cloud, busy)
        if found is not None:
            for choice in found.choices:
                cloud = with_choice(cloud, choice)
            plans[job] = found
    return plans


def _plan(job: Job, cloud: Snapshot, busy: frozenset[str]) -> Plan | None:
    """Return the plan of one claim; None if it has to be made alone."""
    try:
        return job.claim.plan(cloud, busy, LONGEST_SEARCH)
    except Exception:
        # its own thread meets the error again, and tells its client
        return None
