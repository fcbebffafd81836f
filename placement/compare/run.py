"""Ask both services the same requests, those that differ again, and count what came of them.

The cloud lives meanwhile. So answers that differ are no difference yet: both services are asked
again, in turn and in further passes. A difference is a difference only if both answers held still
while they differed.
"""

import collections
import concurrent.futures
import dataclasses
import threading
from collections.abc import Callable, Iterable, Sequence

from placement.compare import searches
from placement.compare.answers import ReceivedAnswer
from placement.compare.asking import ComparedService, TokenRefused, Unanswered
from placement.compare.request import Request
from placement.compare.tokens import NoToken
from placement.compare.verdict import Judge, ObservedAnswer, Verdict, VerdictKind

#: so many requests in a row that don't even reach a service end the run
MOST_UNREACHED = 5
#: why a run ended early
INTERRUPTED = "interrupted"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of one request.

    :param note: more about it, a sentence
    """

    request: Request
    verdict: Verdict
    note: str = ""


@dataclasses.dataclass
class RunTally:
    """The outcomes of a run.

    :ivar same: number of requests with the same answers
    :ivar statuses: number of answers of the other service by status, at the first time
    :ivar others: all outcomes but the same ones
    :ivar ended: why the run ended before all requests were judged; empty: it didn't
    :ivar left: number of requests that weren't judged
    """

    same: int = 0
    statuses: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)
    others: list[Outcome] = dataclasses.field(default_factory=list)
    ended: str = ""
    left: int = 0

    def of(self, kind: VerdictKind) -> list[Outcome]:
        """Return the outcomes of a kind other than SAME."""
        return [outcome for outcome in self.others if outcome.verdict.kind is kind]

    def count(self, kind: VerdictKind) -> int:
        """Return the number of requests of a kind."""
        return self.same if kind is VerdictKind.SAME else len(self.of(kind))

    @property
    def judged(self) -> int:
        """The number of requests with an outcome."""
        return self.same + len(self.others)


class Stop(Exception):
    """The run can't go on; the message is a sentence."""


@dataclasses.dataclass
class _Pending:
    """A request whose answers differed at first, or that got none.

    :ivar held: verdicts from passes in which both answers held still
    :ivar looks: those of the other service and of this one, in the order of asking
    """

    request: Request
    first: Verdict
    looks: tuple[list[ObservedAnswer], list[ObservedAnswer]]
    held: list[Verdict] = dataclasses.field(default_factory=list)
    last: Verdict | None = None


class Comparison:
    """Compares two services.

    :param other: the service that this one is compared with, the reference
    :param tries: passes over the requests whose answers differed
    :param pause: waits before the pass of this number, from 1 on
    :param progress: called with the number of requests judged so far
    """

    def __init__(
        self,
        other: ComparedService,
        this: ComparedService,
        judge: Judge,
        tries: int = 3,
        concurrency: int = 2,
        pause: Callable[[int], object] = lambda number: None,
        progress: Callable[[int], object] = lambda number: None,
    ) -> None:
        self._services = (other, this)
        self._judge = judge
        self._tries = tries
        self._concurrency = concurrency
        self._pause = pause
        self._progress = progress
        self._unreached: collections.Counter[str] = collections.Counter()
        self._stopped = threading.Event()

    def run(self, requests: Sequence[Request]) -> RunTally:
        """Ask all requests. After an interruption or a failure, return what is known so far."""
        tally = RunTally()
        pending: list[_Pending] = []
        try:
            for first in self._each(self._ask_first, requests):
                tally.statuses.update(look.answer.status for look in first.looks[0][:1])
                if first.first.kind is VerdictKind.SAME:
                    tally.same += 1
                elif first.first.kind is VerdictKind.KNOWN:
                    tally.others.append(Outcome(first.request, first.first))
                else:
                    pending.append(first)
                self._progress(tally.judged + len(pending))
            for number in range(1, self._tries + 1):
                pending = self._again(number, pending, tally)
            tally.others += [_outcome(one, self._judge, self._tries) for one in pending]
        except KeyboardInterrupt:
            tally.ended = INTERRUPTED
        except (Stop, TokenRefused, NoToken) as error:
            tally.ended = (
                f"{error} refuses the token (401): it is wrong, has expired or was revoked."
                if isinstance(error, TokenRefused)
                else str(error)
            )
        tally.left = len(requests) - tally.judged
        return tally

    def _again(self, number: int, pending: list[_Pending], tally: RunTally) -> list[_Pending]:
        """Ask again; add what is settled to the tally, and return the rest."""
        if not pending:
            return []
        self._pause(number)
        rest = []
        for one in self._each(self._ask_again, pending):
            if one.last is None or one.last.kind not in (VerdictKind.SAME, VerdictKind.KNOWN):
                rest.append(one)
            elif one.first.kind is VerdictKind.DIFFERENT or one.held:
                tally.others.append(_agreed(one, self._judge))
            elif one.last.kind is VerdictKind.SAME:
                # there was nothing to compare at first
                tally.same += 1
            else:
                tally.others.append(Outcome(one.request, one.last))
        return rest

    def _each(
        self, work: Callable[..., _Pending], items: Iterable[Request] | Iterable[_Pending]
    ) -> Iterable[_Pending]:
        """Do the work for each item, some of them at a time; yield the results in order."""
        with concurrent.futures.ThreadPoolExecutor(self._concurrency) as pool:
            left = iter(items)
            running: collections.deque[concurrent.futures.Future[_Pending]] = collections.deque()
            try:
                while True:
                    for item in left:
                        running.append(pool.submit(self._unless_stopped, work, item))
                        if len(running) >= 2 * self._concurrency:
                            break
                    if not running:
                        return
                    yield running.popleft().result()
            except BaseException:
                self._stopped.set()
                raise

    def _unless_stopped(self, work: Callable[..., _Pending], item: object) -> _Pending:
        if self._stopped.is_set():
            raise Stop("The run has ended.")
        return work(item)

    def _ask_first(self, request: Request) -> _Pending:
        looks: tuple[list[ObservedAnswer], list[ObservedAnswer]] = ([], [])
        verdict = self._round(request, looks, (0, 1), everything=False)
        if verdict.kind is VerdictKind.UNDECIDED and searches.limit_of(request.path) is not None:
            verdict = self._round(request, looks, (0, 1), everything=True)
        return _Pending(request, verdict, looks)

    def _ask_again(self, one: _Pending) -> _Pending:
        everything = searches.limit_of(one.request.path) is not None
        before = [len(looks) for looks in one.looks]
        verdict = self._round(one.request, one.looks, (0, 1, 0, 1), everything)
        fresh = [looks[count:] for looks, count in zip(one.looks, before, strict=True)]
        still = all(
            len(looks) == 2 and self._judge.same(looks[0], looks[1], bool(side))
            for side, looks in enumerate(fresh)
        )
        if verdict.kind is VerdictKind.DIFFERENT and still:
            one.held.append(verdict)
        one.last = verdict
        return one

    def _round(
        self,
        request: Request,
        looks: tuple[list[ObservedAnswer], list[ObservedAnswer]],
        order: Sequence[int],
        everything: bool,
    ) -> Verdict:
        """Ask in this order, until two answers one after the other agree; return the verdict."""
        verdict = Verdict(VerdictKind.ERROR, why="no answer")
        last: dict[int, ObservedAnswer] = {}
        for side in order:
            try:
                if len(looks[side]) > 0:
                    # asked again: what it kept may be why it differed
                    self._services[side].renew()
                last[side] = self._look(side, request, everything)
            except Unanswered as error:
                name = "this service" if side else "the other service"
                return Verdict(VerdictKind.ERROR, why=f"{name}: {error}")
            looks[side].append(last[side])
            if len(last) == 2:
                verdict = self._judge.verdict(request, last[0], last[1])
                if verdict.kind in (VerdictKind.SAME, VerdictKind.KNOWN):
                    break
        return verdict

    def _look(self, side: int, request: Request, everything: bool) -> ObservedAnswer:
        answer = self._ask(side, request)
        if not everything:
            return ObservedAnswer(answer)
        unlimited = dataclasses.replace(request, path=searches.without_limit(request.path))
        try:
            return ObservedAnswer(answer, self._ask(side, unlimited))
        except Unanswered:
            return ObservedAnswer(answer)

    def _ask(self, side: int, request: Request) -> ReceivedAnswer:
        service = self._services[side]
        if self._stopped.is_set():
            raise Stop("The run has ended.")
        try:
            answer = service.ask(request)
        except Unanswered as error:
            if not error.connected:
                self._unreached[service.name] += 1
                if self._unreached[service.name] >= MOST_UNREACHED:
                    raise Stop(f"{service.name} can't be reached: {error}.") from None
            raise
        self._unreached[service.name] = 0
        return answer


def _agreed(one: _Pending, judge: Judge) -> Outcome:
    """Return the outcome of a request whose answers differed, and agree now."""
    theirs, mine = one.looks
    note = "the answers agree now"
    if theirs and judge.same(theirs[0], theirs[-1], False) and not _stood(mine, judge, True):
        note += "; meanwhile only the answer of this service changed"
    differed = one.first if one.first.kind is VerdictKind.DIFFERENT else one.held[-1]
    return Outcome(one.request, dataclasses.replace(differed, kind=VerdictKind.CHANGED), note)


def _stood(looks: Sequence[ObservedAnswer], judge: Judge, mine: bool) -> bool:
    """Return whether all answers of a service were the same."""
    return all(judge.same(looks[0], look, mine) for look in looks[1:])


def _outcome(one: _Pending, judge: Judge, tries: int) -> Outcome:
    """Return the outcome of a request whose answers never agreed.

    A cloud that goes back and forth can look as if both answers held still, but hardly twice.
    """
    last = one.last or one.first
    if len(one.held) >= min(2, tries):
        return Outcome(one.request, one.held[-1])
    if last.kind is not VerdictKind.DIFFERENT:
        return Outcome(one.request, last)
    for name, looks, mine in (("other", one.looks[0], False), ("this", one.looks[1], True)):
        if len(looks) > 2 and _stood(looks, judge, mine):
            return Outcome(
                one.request, last, f"only the answers of the {name} service stayed the same"
            )
    return Outcome(
        one.request,
        dataclasses.replace(last, kind=VerdictKind.CHANGED),
        "the answers never held still",
    )
