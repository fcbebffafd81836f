"""Tests run against mutants, in copies of the repository (tests/mutants)."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.mutants.places import places_of
from tests.mutants.tree import Swapped
from tests.mutants.workers import KILLED, SURVIVED, TIMEOUT, UNCOVERED, Workers

ROOT = Path(__file__).parents[3]
PATH = "placement/thing.py"
PRODUCT = """\
def count(a):
    n = 0
    while n < a:
        n += 1
    return n


def unlooked(a):
    return a


def started(a):
    return a


START = started(1) + 1
"""
TESTS = """\
from pathlib import Path

from placement import thing


def test_passing():
    assert thing.unlooked


def test_counting():
    assert thing.count(3) == 3


def test_not_in_this_place():
    assert Path("of the developer").exists()


def test_as_sent():
    assert "n += 1" in Path(thing.__file__).read_text()
"""


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    for folder in ("mutants", "quick"):
        shutil.copytree(ROOT / "tests" / folder, root / "tests" / folder)
    files = {PATH: PRODUCT, "tests/test_thing.py": TESTS}
    for path, text in (files | {"placement/__init__.py": "", "tests/__init__.py": ""}).items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    # not part of the repository
    (root / ".gitignore").write_text("of the developer\n")
    (root / "of the developer").touch()
    with pytest.MonkeyPatch.context() as patch:
        # these tests need none, and to load them takes longer
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        made = Workers(root, tmp_path_factory.mktemp("trees"), 1, ["tests/test_thing.py"], 0.5)
        yield made
        made.close()


def judged(workers, after, *tests):
    (mutant,) = [
        mutant
        for place in places_of(PATH, PRODUCT.encode())
        for mutant in place.mutants
        if after in (mutant.after, f"{mutant.function}: {mutant.after}")
    ]
    asked = {f"tests/test_thing.py::{test}": 0.01 for test in tests}
    verdict = workers.judged(workers.workers[0], mutant, asked)
    return verdict.outcome, verdict.test.rpartition("::")[2]


def test_a_mutant_is_killed_by_the_first_test_that_fails(workers):
    assert judged(workers, "count: return None", "test_passing", "test_counting") == (
        KILLED,
        "test_counting",
    )


def test_it_survives_if_all_pass(workers):
    assert judged(workers, "unlooked: return None", "test_passing", "test_counting") == (
        SURVIVED,
        "",
    )


def test_a_test_that_takes_far_longer_than_without_it_is_a_timeout(workers):
    assert judged(workers, "n -= 1", "test_passing", "test_counting") == (TIMEOUT, "test_counting")


def test_what_fails_without_the_mutant_too_is_no_judge(workers):
    assert judged(workers, "count: return None", "test_not_in_this_place", "test_counting") == (
        KILLED,
        "test_counting",
    )
    assert judged(workers, "count: return None", "test_not_in_this_place") == (UNCOVERED, "")


def test_a_product_that_can_not_be_imported_is_killed(workers):
    assert judged(workers, "started: return None", "test_passing") == (KILLED, "an import")


def test_programs_read_the_mutant_from_its_file_and_then_the_file_is_as_before(workers):
    assert judged(workers, "n -= 1", "test_as_sent") == (KILLED, "test_as_sent")
    assert judged(workers, "unlooked: return None", "test_as_sent") == (SURVIVED, "")


def test_a_file_gets_its_content_and_its_time_back(tmp_path):
    file = tmp_path / "x.py"
    file.write_text("a")
    before = file.stat().st_mtime_ns

    with Swapped(file, b"b"):
        assert file.read_text() == "b"
        # a compiled file that belongs to the original must not be taken
        assert int(file.stat().st_mtime) != before // 10**9

    assert (file.read_text(), file.stat().st_mtime_ns) == ("a", before)
