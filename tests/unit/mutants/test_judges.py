"""Which tests judge a mutant (tests/mutants)."""

import pytest

from tests.mutants.judges import Judges
from tests.mutants.places import places_of
from tests.quick.record import Record

SOURCE = "def f(a):\n    return a < 1\n\n\ndef unused(a):\n    return a\n"
FIRST = "import placement.thing\n\n\ndef test_slow(): ...\n\n\ndef test_quick(): ...\n"


@pytest.fixture
def root(tmp_path):
    for path, text in {
        "placement/thing.py": SOURCE,
        "tests/unit/test_first.py": FIRST,
        "tests/unit/test_second.py": "def test_second(): ...\n",
        "tests/unit/test_new.py": "import placement.thing\n\n\ndef test_new(): ...\n",
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def judged_by(root, tests, seconds=20.0):
    record = Record(tests, {"placement/thing.py": {"f": (1 << len(tests)) - 1}})
    place = places_of("placement/thing.py", (root / "placement/thing.py").read_bytes())[0]
    return Judges(root, record, seconds).of(place.mutants[0])


FIRSTS, SECOND = "tests/unit/test_first.py", "tests/unit/test_second.py"
TESTS = {f"{FIRSTS}::test_slow": 3.0, f"{FIRSTS}::test_quick": 0.5, f"{SECOND}::test_second": 2.0}


def test_the_cheapest_file_comes_first_and_within_it_the_cheapest_test(root):
    assert list(judged_by(root, TESTS)) == [
        "tests/unit/test_new.py",
        f"{SECOND}::test_second",
        f"{FIRSTS}::test_quick",
        f"{FIRSTS}::test_slow",
    ]


def test_no_more_is_run_than_there_is_time_for_except_what_is_newer_than_the_record(root):
    assert set(judged_by(root, TESTS, seconds=3.0)) == {
        f"{FIRSTS}::test_quick",
        f"{SECOND}::test_second",
        "tests/unit/test_new.py",
    }


def test_a_recorded_test_that_is_gone_is_left_out(root):
    gone = {f"{SECOND}::test_gone": 0.1, "tests/unit/test_gone.py::test_it": 0.1}

    assert not judged_by(root, TESTS | gone).keys() & gone.keys()


def test_a_test_that_is_newer_than_the_record_is_run_if_its_file_imports_the_mutant(root):
    known = {f"{FIRSTS}::test_slow": 3.0}

    assert f"{FIRSTS}::test_quick" in judged_by(root, known)
