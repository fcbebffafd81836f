"""Claims are made in batches: what one batch gets is stored by one write.

A claim costs mostly its two transactions: one that reads what is new, and the write. So both are
done once for all claims of a batch. Each is planned as if those before it were stored already, so
they don't choose the same place. A single claim is a batch of one.
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
from placement.extensions.claims.claim_plan import (
    OVERTAKEN,
    ClaimPlan,
    ConsumerHolds,
    Locked,
    with_choice,
    write,
)
from placement.extensions.claims.operation import Claimed, ClaimRequest
from placement.storage.driver.dialects import LONGEST_LOCK

#: how many plans for a claim are written before it is given up, and before it goes alone
ATTEMPTS, ATTEMPTS_TOGETHER = 200, 20
#: seconds that the others of a batch wait at most for the search of one claim
LONGEST_SEARCH = 0.1
#: seconds in the line of a locked tree after which a claim looks what its consumers hold
LOOK_AFTER = 1.0


class Job:
    """One claim on its way."""

    def __init__(self, claim: ClaimRequest) -> None:
        self.claim = claim
        self.uuids = frozenset(request.uuid for request in claim.wanted)
        #: how many plans for it were written, or could not be
        self.attempts = 0
        #: whether no other claim must wait for its searches
        self.is_alone = False
        #: whether it had its turn in the line of a tree of which it could get nothing
        self.has_left_line = False
        #: since when it waits in a line
        self.waits_since = time.monotonic()
        #: whether it has seen what its consumers hold
        self.has_looked = False
        self.results: dict[str, Claimed] | None = None
        self.error: Exception | None = None

    @property
    def has_ended(self) -> bool:
        """Say whether the claim was made, or failed."""
        return self.results is not None or self.error is not None

    @property
    def should_look(self) -> bool:
        """Say whether it waits for so long that its consumers may hold what another try got."""
        return not self.has_looked and time.monotonic() - self.waits_since >= LOOK_AFTER

    def fail(self, error: Exception) -> None:
        """End with an error."""
        if isinstance(error, SearchUnfinished) and self.claim.left <= 0:
            # not the limit of searches has ended it
            error = ClaimUnfinished()
        self.error = error

    def goes_on(self) -> bool:
        """Say whether there is something to do, and time for it; else end."""
        if not self.has_ended and self.claim.is_made:
            self.results = self.claim.results()
        elif not self.has_ended and (self.claim.left <= 0 or self.attempts >= ATTEMPTS):
            self.error = ClaimUnfinished()
        self.attempts += 1
        return not self.has_ended


class ClaimBatch:
    """Makes some claims.

    Providers that other writers have locked are passed over as long as there are others. So are
    trees before which claims wait, and providers where the database refused a candidate. After
    another writer took a candidate, the search is repeated.

    After `run` each claim has ended, or was sent to the line of a tree, or goes alone: its search
    is a long one, its consumers hold something already, or the write of several failed and it isn't
    known whose fault that is.

    :param jobs: no consumer is in two of them; those that go alone are in a batch of one
    :param send: puts a job into the line of a tree, by the uuid of the root
    :param lined: returns the roots of the trees that have lines
    :param root: in whose line the jobs stood: they wait for locks; None: they wait for none
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        send: Callable[[Job, str], None],
        lined: Callable[[], Collection[str]],
        root: str | None = None,
    ) -> None:
        self._jobs = list(jobs)
        self._send, self._lined, self._root = send, lined, root
        self._is_alone = len(jobs) == 1 and jobs[0].is_alone
        first = jobs[0].claim
        self._database, self._cloud, self._tries = first.database, first.cloud, first.tries
        self._after_refusal = first.after_refusal
        self._snapshot: Snapshot | None = None
        #: providers, and trees by their roots, to choose only if there are no others
        self._busy: frozenset[str] = frozenset()
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
            self._part()
        except Exception as error:
            if len(self._jobs) == 1:
                self._jobs[0].fail(error)
            else:
                # whose fault it is shows when each goes alone: one must not fail another
                self._part()

    def _part(self) -> None:
        for job in self._jobs:
            job.is_alone = True

    def _attempt(self) -> None:
        """Write a plan for all; return if they are stored, or have to be planned in another way."""
        if self._snapshot is None:
            self._snapshot, self._busy = self._current(), self._refused
            self._trees = frozenset(self._lined()) - {self._root or ""}
            if all(job.claim.is_made for job in self._jobs):
                return
        snapshot = self._snapshot
        try:
            together = self._planned(snapshot)
            if not self._jobs:
                return
            patience = max(min(job.claim.left for job in self._jobs), LONGEST_LOCK)
            stored, generations = write(
                self._database, snapshot, together, self._tries, patience, self._root is not None
            )
        except Locked as locked:
            self._busy |= locked.uuids
        except ConsumerHolds as holding:
            self._look_at(holding)
        except AllocationRefused as refusal:
            self._refused |= refusal.providers
            self._snapshot, self._busy = self._after_refusal(snapshot), self._refused
        except OVERTAKEN:
            self._snapshot = None
        except (NoCandidate, SearchUnfinished) as failure:
            self._look_again(snapshot, failure)
        else:
            for job in self._jobs:
                job.claim.settle(stored, generations)

    def _current(self) -> Snapshot:
        """Return the cloud as of now; look at what the consumers hold if the claim has to."""
        job = self._jobs[0]
        if self._root is not None or len(self._jobs) > 1 or not job.should_look:
            return self._cloud.current()
        job.has_looked = True
        return job.claim.keep()

    def _look_at(self, holding: ConsumerHolds) -> None:
        """See to the claims of which consumers hold something already."""
        if self._is_alone:
            self._snapshot, self._busy = self._jobs[0].claim.keep(), self._refused
            return
        for job in self._jobs:
            job.is_alone = not job.uuids.isdisjoint(holding.uuids)
        self._jobs = [job for job in self._jobs if not job.is_alone]

    def _look_again(self, snapshot: Snapshot, failure: PlacementError) -> None:
        (job,) = self._jobs
        self._snapshot = job.claim.after_failure(snapshot, failure)
        self._busy = self._refused

    def _planned(self, snapshot: Snapshot) -> ClaimPlan:
        """Return the plans of the claims, each after those before it; the others leave the batch.

        Raise what the search of a claim raises that goes alone.
        """
        cloud, together, planned = snapshot, ClaimPlan(), []
        for job in self._jobs:
            try:
                plan = self._plan(job, cloud)
            except Exception:
                if self._is_alone:
                    raise
                # its own thread meets the error again, and tells its client
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
        """Return the plan of one claim; None: it was sent to the line of a tree, or leaves its own.

        In a line it waits for whatever it takes. Others that stand there must not wait with it for
        another tree. So it leaves the line, once, if it takes nothing of this one.
        """
        claim, seconds = job.claim, None if self._is_alone else LONGEST_SEARCH
        is_narrow = bool(self._busy or self._trees)
        try:
            plan = claim.plan(cloud, self._busy, self._trees, seconds)
        except SearchUnfinished:
            # what is quickly found in all the cloud may be locked for a moment only
            if not (is_narrow and self._is_alone):
                raise
            plan = None
        if plan is None and is_narrow:
            plan = claim.plan(cloud, seconds=seconds)
        if plan is None:
            raise NoCandidate(claim.why_none(cloud) if self._is_alone else "")
        trees = plan.trees(cloud)
        if self._root is None:
            # `busy` keeps a search from providers, not from a tree of which nothing is taken
            locked = {
                root for uuid, root in trees.items() if uuid in self._busy or root in self._trees
            }
            if not locked:
                return plan
            self._send(job, min(locked))
        elif self._root in trees.values() or job.has_left_line:
            return plan
        else:
            job.has_left_line = True
        return None
