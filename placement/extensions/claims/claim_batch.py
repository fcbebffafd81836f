"""Makes several claims at once: what they get is stored by one write (extensions.md 4).

A claim costs mostly its two transactions: one that reads the change feed, and the write. So both
are done once for all claims of a batch. Each claim is planned as if those before it were stored
already, so no two of them choose the same free amounts. A single claim is a batch of one.
"""

import time
from collections.abc import Callable, Collection, Sequence

from placement.candidates.cloud.snapshot import Snapshot
from placement.errors import (
    AllocationRefused,
    ClaimUnfinished,
    NoCandidate,
    PlacementError,
    SearchUnfinished,
)
from placement.extensions.claims.claim_plan import ClaimPlan, with_choice
from placement.extensions.claims.operation import (
    OVERTAKEN,
    Claimed,
    ClaimRequest,
    ConsumerHolds,
    Locked,
    write,
)
from placement.storage.driver.dialects import LONGEST_LOCK

#: how many plans for a claim are written before it is given up, and how many plans for several
#: claims together before each goes alone
ATTEMPTS, ATTEMPTS_TOGETHER = 200, 20
#: seconds that the others of a batch wait at most for the search of one claim
LONGEST_SEARCH = 0.1
#: seconds in the line of a locked tree after which a claim reads what its consumers hold
LOOK_AFTER = 1.0


class Job:
    """One claim on its way, from a line to its end."""

    def __init__(self, claim: ClaimRequest) -> None:
        self.claim = claim
        self.uuids = frozenset(request.uuid for request in claim.consumers)
        #: how many times a plan for it was to be written
        self.attempts = 0
        #: whether no other claim must wait for its searches
        self.is_alone = False
        #: whether it had its turn in the line of a tree, and left the line without a candidate
        self.has_left_line = False
        #: since when it waits in a line
        self.waits_since = time.monotonic()
        #: whether another thread answers requests while its own one waits
        self.has_stand_in = False
        #: whether it has read what its consumers hold
        self.has_looked = False
        self.results: dict[str, Claimed] | None = None
        self.error: Exception | None = None

    @property
    def has_ended(self) -> bool:
        """Say whether the claim was made, or failed."""
        return self.results is not None or self.error is not None

    @property
    def should_look(self) -> bool:
        """Say whether it waits for so long that another try of it may have been made meanwhile."""
        return not self.has_looked and time.monotonic() - self.waits_since >= LOOK_AFTER

    def fail(self, error: Exception) -> None:
        """End with an error."""
        if isinstance(error, SearchUnfinished) and self.claim.seconds_left <= 0:
            # the time of the claim ended the search, not the limit of searches
            error = ClaimUnfinished()
        self.error = error

    def goes_on(self) -> bool:
        """Count an attempt, and say whether there is something to do, and time for it; else end."""
        if not self.has_ended and self.claim.is_made:
            self.results = self.claim.results()
        elif not self.has_ended and (self.claim.seconds_left <= 0 or self.attempts >= ATTEMPTS):
            self.error = ClaimUnfinished()
        self.attempts += 1
        return not self.has_ended


class ClaimBatch:
    """Makes some claims.

    Some providers are chosen only if there are no others: those that other writers have locked,
    those of trees with a line of claims, and those where the database refused a candidate. If
    another writer was quicker, the search is repeated in a new snapshot.

    After `run` each claim has ended, or stands in the line of a tree, or is to go alone. It goes
    alone if its search is long, if its consumers hold something already, or if the write of several
    claims failed and it isn't known because of which.

    Only one thread works on a batch, and it has all jobs of it (see `claim_lines`). Other writers
    may act at any time: the write checks all under its locks.

    :param jobs: no consumer is in two of them; a job that goes alone is the only one
    :param send: puts a job into the line of a tree, by the uuid of the root
    :param roots_with_lines: returns the roots of the trees that have lines, by uuid
    :param root: the root of the tree in whose line the jobs stood: their write waits for the locks
        of this tree; None: it waits for no locks
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        send: Callable[[Job, str], None],
        roots_with_lines: Callable[[], Collection[str]],
        root: str | None = None,
    ) -> None:
        self._jobs = list(jobs)
        self._send, self._roots_with_lines, self._root = send, roots_with_lines, root
        self._is_alone = len(jobs) == 1 and jobs[0].is_alone
        first = jobs[0].claim
        self._database, self._cloud, self._tries = first.database, first.cloud, first.tries
        self._after_refusal = first.after_refusal
        #: where to search; None: in the cloud as of now
        self._snapshot: Snapshot | None = None
        #: the providers to choose only if there are no others, by uuid
        self._busy: frozenset[str] = frozenset()
        #: the trees to choose only if there are no others, by the uuids of their roots
        self._trees: frozenset[str] = frozenset()
        #: providers where the database refused a candidate
        self._refused: frozenset[str] = frozenset()

    def run(self) -> None:
        """Make what can be made in one write."""
        try:
            for _ in range(ATTEMPTS if self._is_alone else ATTEMPTS_TOGETHER):
                self._jobs = [job for job in self._jobs if job.goes_on()]
                if not self._jobs:
                    return
                self._attempt()
            self._send_alone()
        except Exception as error:
            if len(self._jobs) == 1:
                self._jobs[0].fail(error)
            else:
                # one claim must not fail another: alone, the one that can't be made fails again
                self._send_alone()

    def _send_alone(self) -> None:
        for job in self._jobs:
            job.is_alone = True

    def _attempt(self) -> None:
        """Plan the claims and write the plan.

        If that isn't possible, note what the next attempt has to do otherwise.
        """
        if self._snapshot is None:
            self._snapshot, self._busy = self._current(), self._refused
            self._trees = frozenset(self._roots_with_lines()) - {self._root or ""}
            if all(job.claim.is_made for job in self._jobs):
                return
        snapshot = self._snapshot
        try:
            plan = self._plan_all(snapshot)
            if not self._jobs:
                return
            patience = max(min(job.claim.seconds_left for job in self._jobs), LONGEST_LOCK)
            stored, generations = write(
                self._database, snapshot, plan, self._tries, patience, self._root
            )
        except Locked as locked:
            self._busy |= locked.uuids
        except ConsumerHolds as holding:
            self._see_to_holders(holding)
        except AllocationRefused as refusal:
            self._refused |= refusal.providers
            self._snapshot, self._busy = self._after_refusal(snapshot), self._refused
        except OVERTAKEN:
            self._snapshot = None
        except (NoCandidate, SearchUnfinished) as failure:
            self._search_elsewhere(snapshot, failure)
        else:
            for job in self._jobs:
                job.claim.settle(stored, generations)

    def _current(self) -> Snapshot:
        """Return the cloud as of now; note what the consumers hold if the claim waited for long."""
        job = self._jobs[0]
        if self._root is not None or len(self._jobs) > 1 or not job.should_look:
            return self._cloud.current()
        job.has_looked = True
        return job.claim.keep()

    def _see_to_holders(self, holding: ConsumerHolds) -> None:
        """Have claims go alone whose consumers hold something; if this one does, note what."""
        if self._is_alone:
            self._snapshot, self._busy = self._jobs[0].claim.keep(), self._refused
            return
        for job in self._jobs:
            job.is_alone = not job.uuids.isdisjoint(holding.uuids)
        self._jobs = [job for job in self._jobs if not job.is_alone]

    def _search_elsewhere(self, snapshot: Snapshot, failure: PlacementError) -> None:
        """Have the next attempt search in another cloud. Raises the failure if there is none."""
        # `_plan_all` raises what a search raises for a single claim only
        (job,) = self._jobs
        self._snapshot = job.claim.after_failure(snapshot, failure)
        self._busy = self._refused

    def _plan_all(self, snapshot: Snapshot) -> ClaimPlan:
        """Plan the claims one after the other; those without a plan leave the batch.

        Raises what the search of a claim raises if that claim goes alone.
        """
        cloud, together, planned = snapshot, ClaimPlan(), []
        for job in self._jobs:
            try:
                plan = self._plan(job, cloud)
            except Exception:
                if self._is_alone:
                    raise
                # alone, on its own thread, it meets the error again, and its client gets it
                job.is_alone = True
                continue
            if plan is not None:
                for choice in plan.choices:
                    cloud = with_choice(cloud, choice)
                together += plan
                planned.append(job)
        self._jobs = planned
        return together

    def _plan(self, job: Job, cloud: Snapshot) -> ClaimPlan | None:
        """Return the plan of one claim; None: it went into the line of a tree, or left its line.

        A write from a line waits for its tree only. If the plan also takes of another tree that is
        locked, the claim goes on to the line of that one. Others of this line must not wait with a
        claim that doesn't need to. So a claim leaves the line, once, if its plan takes nothing of
        the line's tree.
        """
        claim, seconds = job.claim, None if self._is_alone else LONGEST_SEARCH
        is_restricted = bool(self._busy or self._trees)
        try:
            plan = claim.plan(cloud, self._busy, self._trees, seconds)
        except SearchUnfinished:
            # without the restriction, a candidate may be found quickly
            if not (is_restricted and self._is_alone):
                raise
            plan = None
        if plan is None and is_restricted:
            plan = claim.plan(cloud, seconds=seconds)
        if plan is None:
            raise NoCandidate(claim.why_none(cloud) if self._is_alone else "")
        trees = plan.trees(cloud)
        # a search without the `busy` providers may still choose a tree with such a root, if it
        # takes nothing of the tree
        locked = {root for uuid, root in trees.items() if uuid in self._busy}
        if self._root is None:
            locked |= self._trees.intersection(trees.values())
        if locked:
            self._send(job, min(locked))
        elif self._root is None or self._root in trees.values() or job.has_left_line:
            return plan
        else:
            job.has_left_line = True
        return None
