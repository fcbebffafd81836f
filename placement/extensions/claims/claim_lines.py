"""Lines in which the claims of one process wait (extensions.md 4).

Every claim first goes to the common line. While one thread makes claims of it, those that come wait
there; the next thread makes them together. A claim whose tree another writer has locked goes on to
the line of that tree. There one thread makes one write that waits in the database for the lock
(`placement.storage.providers.lock`), for up to 32 claims on one connection. A claim that waits
in a line holds no connection, and neither does its write while it waits for long
(`placement.storage.database.lock_waits`).

Each claim has the thread of its request. While it waits for a tree, another thread of the server
stands in for that one, so that other requests are answered. A thread whose claim waits works for
its line if no other thread does. It takes its own claim, and others that wait there. The other
threads wait until their claims have ended, or it is their turn. One lock, that of
`_ProcessLines._changed`, guards all lines; no thread holds it while it makes claims.
"""

import contextlib
import os
import threading
import time

from placement.errors import ClaimUnfinished, SearchAbandoned
from placement.extensions.claims.claim_batch import ClaimBatch, Job
from placement.extensions.claims.operation import Claimed, ClaimRequest

#: how many claims, and consumers, are written together at most
MOST_CLAIMS, MOST_TOGETHER = 32, 200
#: seconds that a thread of the common line waits for as many claims as came together before
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

        Raises NoCandidate if the cloud has no candidates for all consumers, ConcurrentUpdate if a
        consumer holds something else, ClaimUnfinished if there were too many attempts or the time
        is over, and what searches and writes of allocations raise.
        """
        return self._of_process().make(claim)

    def waiting(self, root: str) -> int:
        """Return how many claims wait in the line of a tree, besides those that are being made."""
        return self._of_process().waiting(root)

    def _of_process(self) -> "_ProcessLines":
        # `setdefault` is atomic: threads of a new process get the same lines
        return self._lines.setdefault(os.getpid(), _ProcessLines())


class _Line:
    """One line of claims."""

    def __init__(self) -> None:
        self.waiting: list[Job] = []
        #: whether a thread makes claims of this line
        self.is_working = False
        #: how many claims the last work ended, and how many waited then: as many may come again
        self.expected = 1

    def has_expected(self) -> bool:
        """Say whether as many wait as came together before."""
        return len(self.waiting) >= self.expected

    def take(self, own: Job) -> list[Job]:
        """Take claims that wait, in their order, and `own` in any case; no consumer twice."""
        taken, consumers, left = [own], set(own.uuids), []
        for job in self.waiting:
            if job is own:
                continue
            fits = len(taken) < MOST_CLAIMS and len(consumers) + len(job.uuids) <= MOST_TOGETHER
            may_join = not own.is_alone and not job.is_alone
            if fits and may_join and consumers.isdisjoint(job.uuids):
                taken.append(job)
                consumers |= job.uuids
            else:
                left.append(job)
        self.waiting = left
        return taken


class _ProcessLines:
    """The lines of one process. The lock of `_changed` guards all of their state."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: dict[str, _Line] = {COMMON: _Line()}
        #: the line in which each job waits, or from which it is being made; a job without a line
        #: goes alone
        self._line_of: dict[Job, str] = {}

    def make(self, claim: ClaimRequest) -> dict[str, Claimed]:
        """Make the claim, together with others if possible."""
        job = Job(claim)
        try:
            self._send(job, COMMON)
            with contextlib.ExitStack() as stand_ins:
                while not job.has_ended:
                    key, jobs = self._turn(job)
                    if jobs:
                        self._work(jobs, key)
                    elif not job.has_ended:
                        stand_ins.enter_context(claim.stand_in())
                        job.has_stand_in = True
        finally:
            self._forget(job)
        if job.error is not None:
            raise job.error
        assert job.results is not None
        return job.results

    def waiting(self, root: str) -> int:
        """Return how many claims wait in the line of a tree."""
        with self._changed:
            line = self._lines.get(root)
            return 0 if line is None else len(line.waiting)

    def _send(self, job: Job, key: str) -> None:
        """Put a job at the end of a line."""
        with self._changed:
            line = self._lines.setdefault(key, _Line())
            self._line_of[job] = key
            job.waits_since = time.monotonic()
            line.waiting.append(job)
            if len(line.waiting) == line.expected:
                # the thread that waits for so many goes on
                self._changed.notify_all()

    def _roots_with_lines(self) -> frozenset[str]:
        with self._changed:
            return frozenset(self._lines) - {COMMON}

    def _turn(self, job: Job) -> tuple[str | None, list[Job]]:
        """Wait until the job has ended, or it is its turn; return its line, and the jobs to make.

        The line is None if the job goes alone. There are no jobs to make if the job has ended, or
        if it is to wait for a tree and has no stand-in yet.
        """
        with self._changed:
            while not job.has_ended:
                key = self._line_of.get(job)
                if key is None:
                    return None, [job]
                if key != COMMON and not job.has_stand_in:
                    return key, []
                line = self._lines[key]
                if job not in line.waiting:
                    # another thread is making it
                    self._changed.wait()
                elif not line.is_working:
                    line.is_working = True
                    if key == COMMON:
                        # clients that claim one thing after the other come again as soon as they
                        # have their answers
                        self._changed.wait_for(line.has_expected, LINGER)
                    return key, line.take(job)
                elif key != COMMON and job.should_look:
                    self._leave(line, job)
                else:
                    self._wait_in(line, job)
            return None, []

    def _wait_in(self, line: _Line, job: Job) -> None:
        """Wait until something changed; leave the line if the claim's time is over."""
        claim = job.claim
        if claim.seconds_left <= 0:
            job.fail(ClaimUnfinished())
        elif claim.is_abandoned:
            job.fail(SearchAbandoned())
        else:
            self._changed.wait(min(claim.seconds_left, LOOK_EVERY))
            return

    def _leave(self, line: _Line, job: Job) -> None:
        """Have a job go alone, to read what its consumers hold; the batch may send it back."""
        line.waiting.remove(job)
        del self._line_of[job]

    def _forget(self, job: Job) -> None:
        """Take a job out of the lines: its thread ends."""
        with self._changed:
            key = self._line_of.pop(job, None)
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
            root = None if key == COMMON else key
            ClaimBatch(jobs, self._send, self._roots_with_lines, root).run()
        finally:
            if key is not None:
                self._end_turn(key, jobs)

    def _end_turn(self, key: str, jobs: list[Job]) -> None:
        """Let the next thread of the line have its turn."""
        with self._changed:
            line = self._lines[key]
            line.is_working = False
            line.expected = len(jobs) + len(line.waiting)
            for job in jobs:
                # unless the batch put it into this line again, or into another one
                if job not in line.waiting and self._line_of.get(job) == key:
                    del self._line_of[job]
            self._close_if_empty(key)
            self._changed.notify_all()
