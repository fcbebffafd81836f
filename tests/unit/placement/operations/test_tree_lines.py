"""Lines before trees: one claim of a process has its turn, the others wait without a connection."""

import concurrent.futures
import contextlib
import threading

import pytest

from placement.errors import ClaimUnfinished
from placement.operations.tree_lines import TreeLines
from tests.patience import PATIENCE


def test_one_after_the_other_has_its_turn():
    lines, running, most = TreeLines(), [], []

    def go(number):
        with lines.turn("a", PATIENCE):
            running.append(number)
            most.append(len(running))
            running.remove(number)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(go, range(50)))
    assert most == [1] * 50
    assert len(lines) == 0


def test_other_trees_have_lines_of_their_own():
    lines = TreeLines()
    with lines.turn("a", PATIENCE), lines.turn("b", PATIENCE):
        assert len(lines) == 2


def test_who_waits_too_long_leaves_the_line():
    lines = TreeLines()
    with lines.turn("a", PATIENCE):
        with pytest.raises(ClaimUnfinished), lines.turn("a", 0):
            raise AssertionError("it isn't its turn")
        assert len(lines) == 1
    assert len(lines) == 0


def test_a_claim_that_fails_leaves_the_line_to_the_next():
    lines, begun = TreeLines(), threading.Event()

    def wait():
        begun.set()
        with lines.turn("a", PATIENCE):
            return True

    with concurrent.futures.ThreadPoolExecutor() as pool:
        with contextlib.suppress(ZeroDivisionError), lines.turn("a", PATIENCE):
            next_one = pool.submit(wait)
            assert begun.wait(PATIENCE)
            raise ZeroDivisionError
        assert next_one.result(PATIENCE)
