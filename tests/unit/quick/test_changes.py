"""What differs from the base of a branch."""

import subprocess

import pytest

from tests.quick.changes import Changed, changed
from tests.quick.functions import MODULE

PLAIN = """\
def first():
    return 1


def second():
    one = 1
    return one
"""


@pytest.fixture
def clone(tmp_path):
    """Return a repository with one commit on `main`, and a branch that is checked out."""
    for path in ("placement/direct.py", "placement/storage/lanes.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(PLAIN)
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    commit(tmp_path)
    git(tmp_path, "checkout", "--quiet", "-b", "mine")
    return tmp_path


def git(folder, *arguments):
    subprocess.run(["git", *arguments], cwd=folder, check=True)


def commit(folder):
    git(folder, "add", ".")
    me = ("-c", "user.name=me", "-c", "user.email=me@localhost", "-c", "commit.gpgsign=false")
    git(folder, *me, "commit", "--quiet", "--message", "a change")


def test_a_change_is_what_is_committed_since_the_base_or_not_yet_or_untracked(clone):
    (clone / "placement/direct.py").write_text(PLAIN.replace("return 1", "return 2"))
    commit(clone)
    (clone / "placement/storage/lanes.py").write_text(PLAIN.replace("one = 1", "one = 2"))
    (clone / "placement/another.py").write_text("LIMIT = 1\ndef third():\n    return 3\n")
    (clone / ".gitignore").write_text("ignored.py\n.gitignore")
    (clone / "ignored.py").write_text("")
    assert sorted(changed(clone, "main"), key=lambda change: change.path) == [
        Changed("placement/another.py", frozenset({MODULE, "third"})),
        Changed("placement/direct.py", frozenset({"first"})),
        Changed("placement/storage/lanes.py", frozenset({"second"})),
    ]


def test_without_the_base_it_is_what_is_not_committed(clone):
    (clone / "placement/direct.py").write_text(PLAIN + "\nLIMIT = 1\n")
    assert changed(clone, "elsewhere/main") == [Changed("placement/direct.py", frozenset({MODULE}))]


def test_a_removed_line_is_a_change_of_the_function_it_was_in(clone):
    (clone / "placement/direct.py").write_text(PLAIN.replace("    one = 1\n", ""))
    assert changed(clone, "main") == [Changed("placement/direct.py", frozenset({"second"}))]


def test_a_removed_function_is_a_change_of_it(clone):
    (clone / "placement/direct.py").write_text(PLAIN.partition("\n\n\ndef second")[0] + "\n")
    assert "second" in changed(clone, "main")[0].functions


def test_a_removed_file_is_a_change_of_all_its_functions(clone):
    (clone / "placement/direct.py").unlink()
    [removed] = changed(clone, "main")
    assert {"first", "second"} <= removed.functions
