"""Find a sequential order of concurrent calls that explains every result (linearizability).

The algorithm is Wing and Gong's, with Lowe's cache of visited states. A call may come next if it
began before the end of every other remaining call.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

from tests.concurrency.model import Operation, State


@dataclasses.dataclass(frozen=True)
class Call:
    """One call.

    :param client: a client makes its calls one after the other
    :param began: seconds of a clock that all clients share
    :param ended: None if no response came; the call may have taken effect at any later time, or
        never
    """

    client: int
    began: float
    ended: float | None
    operation: Operation
    answer: Any = None

    @property
    def answered(self) -> bool:
        return self.ended is not None

    def __str__(self) -> str:
        ended = "without an answer" if self.ended is None else f"{self.ended:.6f}"
        return f"{self.began:.6f} to {ended} {self.client}: {self.operation} → {self.answer}"


@dataclasses.dataclass(frozen=True)
class Explained:
    """A sequential order of the calls that explains them, and the final state."""

    order: list[Call]
    state: State


@dataclasses.dataclass(frozen=True)
class Unexplained:
    """No order explains the calls. Has the longest order found, its state, and why it can't go on.

    :param expected: each call that could come next, with the result that it should have had
    :param rest: the calls that the order lacks
    """

    order: list[Call]
    state: State
    expected: list[tuple[Call, Any]]
    rest: list[Call]

    def __str__(self) -> str:
        """Tell the whole history: an order that goes far need not be the one that goes wrong."""
        next_ones = [
            f"  {call}, but here it would be {expected}" for call, expected in self.expected
        ]
        return "\n".join(
            [
                f"Explained: {len(self.order)} calls, in this order",
                *(f"  {call}" for call in self.order),
                f"leading to {self.state}",
                "None of these follows:",
                *next_ones,
                "Not explained:",
                *(f"  {call}" for call in sorted(self.rest, key=lambda call: call.began)),
            ]
        )


Positions = tuple[int, ...]


class _Search:
    def __init__(self, calls: Iterable[Call], start: State) -> None:
        answered = [call for call in calls if call.answered]
        lost = [call for call in calls if not call.answered]
        clients = itertools.groupby(
            sorted(answered, key=lambda call: (call.client, call.began)),
            key=lambda call: call.client,
        )
        #: calls of one client, in order; a call without a response is a line of its own
        self.lines = [list(line) for _, line in clients] + [[call] for call in lost]
        self.needed = len(answered)
        self.start = start

    def run(self) -> Explained | Unexplained:
        """Search depth first, without recursion: histories exceed Python's recursion limit."""
        at: Positions = (0,) * len(self.lines)
        order: list[Call] = []
        tried = {(at, self.start)}
        stack = [(at, self.start, iter(self.possible(at)))]
        best = self.as_far_as(at, self.start, [])
        while stack:
            at, state, choices = stack[-1]
            if sum(call.answered for call in order) == self.needed:
                return Explained(order, state)
            step = next((s for s in (self.step(at, state, n) for n in choices) if s), None)
            if step is None:
                stack.pop()
                if order:
                    order.pop()
                continue
            at, state, call = step
            if (at, state) in tried:
                continue
            tried.add((at, state))
            order.append(call)
            stack.append((at, state, iter(self.possible(at))))
            if len(order) > len(best.order):
                best = self.as_far_as(at, state, order)
        return best

    def as_far_as(self, at: Positions, state: State, order: Sequence[Call]) -> Unexplained:
        rest = [call for line, i in zip(self.lines, at, strict=True) for call in line[i:]]
        return Unexplained(list(order), state, self.expected(at, state), rest)

    def possible(self, at: Positions) -> Sequence[int]:
        """Return the lines whose next call may come next."""
        waiting = {n: self.lines[n][i] for n, i in enumerate(at) if i < len(self.lines[n])}
        first_end = min(
            (call.ended for call in waiting.values() if call.ended is not None), default=math.inf
        )
        return [n for n, call in waiting.items() if call.began <= first_end]

    def step(self, at: Positions, state: State, line: int) -> tuple[Positions, State, Call] | None:
        """Apply the next call of a line; return None if its result differs."""
        call = self.lines[line][at[line]]
        answer, after = call.operation.apply(state)
        if call.answered and answer != call.answer:
            return None
        return (*at[:line], at[line] + 1, *at[line + 1 :]), after, call

    def expected(self, at: Positions, state: State) -> list[tuple[Call, Any]]:
        calls = [self.lines[line][at[line]] for line in self.possible(at)]
        return [(call, call.operation.apply(state)[0]) for call in calls]


def explain(calls: Iterable[Call], start: State) -> Explained | Unexplained:
    """Search an order of the calls that leads from `start` and explains every result."""
    return _Search(list(calls), start).run()
