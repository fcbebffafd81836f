"""Lines in which claims wait, in one process.

There is a common line: claims that came while a thread worked wait there, and are made together
after it. A claim whose tree another writer has locked goes to the line of that tree. Of those that
wait there, one thread makes one write that waits for the lock, for up to 32 claims on one
connection. Who stands in a line holds no connection.
"""

import os
import threading
import time

from placement.errors import ClaimUnfinished, SearchAbandoned
from placement.extensions.claims.claim_batch import ClaimBatch, Job
from placement.extensions.claims.operation import Claimed, ClaimRequest

#: how many claims, and consumers, are written together at most
MOST_CLAIMS, MOST_CONSUMERS = 32, 200
#: seconds to wait at most for as many claims as came together before
LINGER = 0.005
#: seconds between two looks whether the client of a claim that waits is still there
LOOK_EVERY = 1.0
#: the key of the common line; others have the uuid of a root
COMMON = ""


class ClaimLines:
    """Makes the claims of one process."""

    def __init__(self) -> None:
        #: by process: in a child process no thread exists that would release the parent's lock
        self._lines: dict[int, _ProcessLines] = {}

    def make(self, claim: ClaimRequest) -> dict[str, Claimed]:
        """Make the claim; return what each consumer has got, by uuid in the order of the requests.

        Raise NoCandidate if the cloud has no candidates for all consumers; ConcurrentUpdate if a
        consumer holds something else; ClaimUnfinished after too many attempts, and when the time
        is over; and what searches and writes of allocations raise.
        """
        return self._of_process().make(claim)

    def waiting(self, root: str) -> int:
        """Return how many claims wait before a tree, and have no turn."""
        return self._of_process().waiting(root)

    def _of_process(self) -> "_ProcessLines":
        # threads of a new process may come here at the same time: all of them get the same lines
        return self._lines.setdefault(os.getpid(), _ProcessLines())


class _Line:
    """One line. A thread whose job waits works for some of those that wait, if no other does."""

    def __init__(self) -> None:
        self.waiting: list[Job] = []
        self.is_working = False
        #: how many claims there were at the end of the last work
        self.crowd = 1

    def is_crowded(self) -> bool:
        """Say whether as many wait as came together before."""
        return len(self.waiting) >= self.crowd

    def take(self, own: Job) -> list[Job]:
        """Take claims that wait, in their order, and `own` in any case; no consumer twice."""
        taken, seen, left = [own], set(own.uuids), []
        for job in self.waiting:
            if job is own:
                continue
            fits = len(taken) < MOST_CLAIMS and len(seen) + len(job.uuids) <= MOST_CONSUMERS
            are_together = not own.is_alone and not job.is_alone
            if fits and are_together and seen.isdisjoint(job.uuids):
                taken.append(job)
                seen |= job.uuids
            else:
                left.append(job)
        self.waiting = left
        return taken


class _ProcessLines:
    """The lines of one process. All of their state belongs to the lock of `_changed`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: dict[str, _Line] = {COMMON: _Line()}
        #: where each job stands: in a line, or in a batch of that line; the others go alone
        self._place: dict[Job, str] = {}

    def make(self, claim: ClaimRequest) -> dict[str, Claimed]:
        """Make the claim, with others if it can be."""
        job = Job(claim)
        try:
            self._send(job, COMMON)
            while not job.has_ended:
                key, jobs = self._turn(job)
                if jobs:
                    self._work(jobs, key)
        finally:
            self._forget(job)
        if job.error is not None:
            raise job.error
        assert job.results is not None
        return job.results

    def waiting(self, root: str) -> int:
        """Return how many claims wait before a tree."""
        with self._changed:
            line = self._lines.get(root)
            return 0 if line is None else len(line.waiting)

    def _send(self, job: Job, key: str) -> None:
        """Put a job at the end of a line."""
        with self._changed:
            line = self._lines.setdefault(key, _Line())
            self._place[job] = key
            job.waits_since = time.monotonic()
            line.waiting.append(job)
            if len(line.waiting) == line.crowd:
                self._changed.notify_all()

    def _lined(self) -> frozenset[str]:
        with self._changed:
            return frozenset(self._lines) - {COMMON}

    def _turn(self, job: Job) -> tuple[str | None, list[Job]]:
        """Wait until the job has ended, or has its turn; return its line, and what to work for.

        The line is None if the job goes alone.
        """
        with self._changed:
            while not job.has_ended:
                key = self._place.get(job)
                if key is None:
                    return None, [job]
                line = self._lines[key]
                if job not in line.waiting:
                    # another thread works for it
                    self._changed.wait()
                elif line.is_working and key != COMMON and job.should_look:
                    self._leave(line, job)
                elif line.is_working:
                    self._wait_in(line, job)
                else:
                    line.is_working = True
                    if key == COMMON:
                        # who claims one thing after the other comes again as soon as it is answered
                        self._changed.wait_for(line.is_crowded, LINGER)
                    return key, line.take(job)
            return None, []

    def _wait_in(self, line: _Line, job: Job) -> None:
        """Wait until something changed; leave the line if the claim's time is over."""
        claim = job.claim
        if claim.left <= 0:
            job.fail(ClaimUnfinished())
        elif claim.is_abandoned:
            job.fail(SearchAbandoned())
        else:
            self._changed.wait(min(claim.left, LOOK_EVERY))
            return

    def _leave(self, line: _Line, job: Job) -> None:
        """Have a job go by itself, to see what its consumers hold; it comes back if it has to."""
        line.waiting.remove(job)
        del self._place[job]

    def _forget(self, job: Job) -> None:
        """Nothing more is done for a job: its thread doesn't wait any more."""
        with self._changed:
            key = self._place.pop(job, None)
            if key is not None and job in self._lines[key].waiting:
                self._lines[key].waiting.remove(job)
                self._close_if_empty(key)

    def _close_if_empty(self, key: str) -> None:
        line = self._lines[key]
        if key != COMMON and not line.waiting and not line.is_working:
            del self._lines[key]

    def _work(self, jobs: list[Job], key: str | None) -> None:
        """Make some claims of a line, or one that goes alone."""
        try:
            ClaimBatch(jobs, self._send, self._lined, None if key == COMMON else key).run()
        finally:
            if key is not None:
                self._end_turn(key, jobs)

    def _end_turn(self, key: str, jobs: list[Job]) -> None:
        with self._changed:
            line = self._lines[key]
            line.is_working = False
            line.crowd = len(jobs) + len(line.waiting)
            for job in jobs:
                # unless it was sent to a line again
                if job not in line.waiting and self._place.get(job) == key:
                    del self._place[job]
            self._close_if_empty(key)
            self._changed.notify_all()
