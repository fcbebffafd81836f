"""What `tox -e quick` runs for a change."""

import subprocess

import pytest

from tests import quick
from tests.gabbi import test_gabbi

ALWAYS = "tests/architecture"


@pytest.fixture
def clone(tmp_path):
    """Return a repository with one commit on `main`, and a branch that is checked out."""
    for folder in ("unit/placement/storage", "functional/placement", "architecture", "faults"):
        (tmp_path / "tests" / folder).mkdir(parents=True)
    for path, text in (
        ("tests/page.py", 'PAGE = "decisions.rst"'),
        ("tests/unit/test_by_name.py", 'text_of("decisions.rst")'),
        ("tests/functional/test_by_module.py", "from tests.page import PAGE"),
        ("tests/faults/test_long.py", "from tests import clients, page"),
        ("tests/unit/test_another.py", 'text_of("glossary.rst") # from tests.pages import page'),
        ("doc/decisions.rst", ""),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    for path in (
        *("placement/storage/feed_lanes.py", "placement/direct.py", "placement/new/deep.py"),
        *("tests/functional/placement/test_direct.py", "tests/faults/test_locks.py"),
        *("tests/unit/placement/storage/test_feed_lanes.py", "tests/gabbi/gabbits/root.yaml"),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "add", ".")
    commit(tmp_path)
    git(tmp_path, "checkout", "--quiet", "-b", "mine")
    return tmp_path


def git(folder, *arguments):
    subprocess.run(["git", *arguments], cwd=folder, check=True)


def commit(folder):
    me = ("-c", "user.name=me", "-c", "user.email=me@localhost", "-c", "commit.gpgsign=false")
    git(folder, *me, "commit", "--quiet", "--message", "a change")


def test_a_change_is_what_is_committed_since_the_base_or_not_yet_or_untracked(clone):
    (clone / "placement/direct.py").write_text("committed")
    git(clone, "add", ".")
    commit(clone)
    (clone / "placement/storage/feed_lanes.py").write_text("not committed")
    (clone / "placement/another.py").write_text("untracked")
    (clone / ".gitignore").write_text("ignored.py\n.gitignore")
    (clone / "ignored.py").write_text("")
    assert sorted(quick.changed(clone, "main")) == [
        "placement/another.py",
        "placement/direct.py",
        "placement/storage/feed_lanes.py",
    ]


def test_without_the_base_it_is_what_is_not_committed(clone):
    (clone / "placement/direct.py").write_text("not committed")
    assert quick.changed(clone, "elsewhere/main") == ["placement/direct.py"]


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("doc/databases.rst", []),
        ("placement/storage/feed_lanes.py", ["tests/unit/placement/storage"]),
        ("placement/new/deep.py", ["tests/unit/placement"]),
        (
            "placement/direct.py",
            ["tests/functional/placement/test_direct.py", "tests/unit/placement"],
        ),
        (
            "tests/functional/placement/test_direct.py",
            ["tests/functional/placement/test_direct.py"],
        ),
        ("tests/gabbi/gabbits/root.yaml", [f"{quick.GABBI}[sqlite-root]"]),
        ("tests/gabbi/gabbits/removed.yaml", []),
        ("tests/unit/placement/test_removed.py", []),
    ],
)
def test_a_changed_file_has_the_tests_nearest_to_it(clone, path, tests):
    assert quick.chosen([path], clone) == ([ALWAYS, *tests], [])


def test_a_changed_page_has_the_tests_that_read_it(clone):
    assert quick.chosen(["doc/decisions.rst"], clone) == (
        [ALWAYS, "tests/functional/test_by_module.py", "tests/unit/test_by_name.py"],
        ["tests/faults/test_long.py"],
    )


@pytest.mark.parametrize(
    ("page", "tests"),
    [
        ("README.rst", {"tests/functional/test_first_requests.py"}),
        ("doc/compare.rst", {"tests/functional/placement/cli/compare/test_page.py"}),
        ("doc/deployment.rst", {"tests/functional/placement/serving/test_deployment_page.py"}),
        ("doc/extensions.rst", {"tests/functional/placement/test_extensions_page.py"}),
        ("doc/library.rst", {"tests/functional/compute/test_library.py"}),
        ("doc/man/placement-api.rst", {"tests/functional/test_manual_pages.py"}),
    ],
)
def test_the_pages_of_this_repository_have_their_tests(page, tests):
    assert tests <= set(quick.chosen([page], quick.ROOT)[0])


@pytest.mark.parametrize("page", ["agent.rst", "keystone.rst", "upgrade.rst"])
def test_tests_of_a_page_that_take_longer_are_named(page):
    assert quick.chosen([f"doc/{page}"], quick.ROOT)[1]


def test_a_file_is_not_named_beside_its_folder(clone):
    paths = ["placement/storage/feed_lanes.py", "tests/unit/placement/storage/test_feed_lanes.py"]
    assert quick.chosen(paths, clone)[0] == [ALWAYS, "tests/unit/placement/storage"]


def test_what_takes_longer_is_named_and_not_run(clone):
    assert quick.chosen(["tests/faults/test_locks.py"], clone) == (
        [ALWAYS],
        ["tests/faults/test_locks.py"],
    )


def test_a_file_of_requests_is_a_test_of_that_name():
    assert hasattr(test_gabbi, quick.GABBI.partition("::")[2])
    assert "root" in {file.stem for file in test_gabbi.FILES}
