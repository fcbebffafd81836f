"""What a run tells (tests/mutants)."""

import pytest

from tests.mutants import report
from tests.mutants.places import places_of
from tests.mutants.workers import KILLED, SURVIVED, TIMEOUT, UNCOVERED, Verdict


def verdict(outcome, path="placement/domain/x.py"):
    place = places_of(path, b"def f(a):\n    return a < 1\n")[0]
    return Verdict(place.mutants[0], outcome)


@pytest.mark.parametrize(
    ("outcomes", "percentage"),
    [
        ([], 0),
        ([KILLED, TIMEOUT], 100),
        ([KILLED, SURVIVED], 50),
        ([KILLED, TIMEOUT, KILLED, UNCOVERED], 75),
    ],
)
def test_a_mutant_that_no_test_covers_has_survived(outcomes, percentage):
    assert report.percentage([verdict(outcome) for outcome in outcomes]) == percentage


def test_each_folder_has_a_row_and_so_have_all_together():
    found = [
        verdict(KILLED),
        verdict(SURVIVED),
        verdict(TIMEOUT, "compute/report/x.py"),
        verdict(UNCOVERED, "compute/report/x.py"),
    ]

    head, *rows = report.table(found)

    assert head.split() == ["killed", "timeout", "survived", "not", "covered"]
    assert [row.split() for row in rows] == [
        ["compute/report", "0", "1", "0", "1", "50.0", "%"],
        ["placement/domain", "1", "0", "1", "0", "50.0", "%"],
        ["all", "1", "1", "1", "1", "50.0", "%"],
    ]


def test_survivors_are_told_with_their_lines():
    found = [verdict(KILLED), verdict(UNCOVERED, "b.py"), verdict(SURVIVED, "a.py")]

    first, second = report.survivors(found)

    assert first.splitlines() == [
        "survived: a.py:2  f  (returned None)",
        "  - return a < 1",
        "  + return None",
    ]
    assert second.startswith("not covered: b.py:2")
