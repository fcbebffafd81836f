"""Run the tests nearest to the current change: `tox -e quick`.

The change is everything that differs from the commit where the branch left its base
(`BERTH_QUICK_BASE`, or `origin/main`), committed or not. Tests that take longer are listed, but not
run.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
BASE = os.environ.get("BERTH_QUICK_BASE", "origin/main")
PACKAGES = ("placement", "compute", "virt", "benchmarks")
#: folders whose single files are quick
QUICK = ("unit", "functional", "architecture", "gabbi")
#: run after any change
ALWAYS = "tests/architecture"
GABBI = "tests/gabbi/test_gabbi.py::test_every_response_is_as_the_file_says"
MANUAL_PAGES = "tests/functional/test_manual_pages.py"
_GABBI_FOLDER = PurePosixPath("tests/gabbi")


def main(arguments: list[str]) -> int:
    """Run the tests and return pytest's exit code; `arguments` are pytest's."""
    tests, longer = chosen(changed(ROOT, BASE), ROOT)
    print("quick:", *tests, sep="\n  ")
    if longer:
        print("they take longer and are NOT RUN:", *longer, sep="\n  ")
    sys.stdout.flush()
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", *arguments, *tests]
    environment = {**os.environ, "BERTH_TEST_DATABASES": "sqlite"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def changed(root: Path, base: str) -> list[str]:
    """Return the files that differ from where the branch left `base`, and untracked files.

    If the base doesn't exist, compare with the last commit.
    """
    left = _git(root, "merge-base", base, "HEAD") or ["HEAD"]
    return [
        *_git(root, "diff", "--name-only", "--no-renames", left[0]),
        *_git(root, "ls-files", "--others", "--exclude-standard"),
    ]


def chosen(paths: Iterable[str], root: Path) -> tuple[list[str], list[str]]:
    """Return the tests to run for these changed files, and the related tests that take longer."""
    tests, longer = {ALWAYS}, set()
    for path in map(PurePosixPath, paths):
        if path.parts[0] in PACKAGES:
            tests |= _tests_of(path, root)
        elif path.match("tests/gabbi/gabbits/*.yaml"):
            tests |= {f"{GABBI}[sqlite-{path.stem}]"} if (root / path).exists() else set()
        elif path.match("doc/man/*"):
            tests.add(MANUAL_PAGES)
        elif path.match("*.rst"):
            readers = _readers_of(path, root)
            tests |= {test for test in readers if _is_quick(test)}
            longer |= {test for test in readers if not _is_quick(test)}
        elif path.match("test_*.py") and (root / path).exists() and path.parent != _GABBI_FOLDER:
            (tests if _is_quick(str(path)) else longer).add(str(path))
    inside = {test for test in tests if not tests.isdisjoint(map(str, PurePosixPath(test).parents))}
    return sorted(tests - inside), sorted(longer)


def _tests_of(path: PurePosixPath, root: Path) -> set[str]:
    """Return the folder of unit tests that mirrors a module's, and functional tests of its name."""
    folder = path.parent
    while not (root / "tests" / "unit" / folder).is_dir():
        folder = folder.parent
    named = (root / "tests" / "functional" / path.parent).glob(f"test_{path.stem}.py")
    return {f"tests/unit/{folder}", *(str(one.relative_to(root)) for one in named)}


def _is_quick(test: str) -> bool:
    return test.split("/")[1] in QUICK


def _readers_of(page: PurePosixPath, root: Path) -> set[str]:
    """Return the tests that name a page, or that import a module of the tests which names it."""
    named = re.compile(rf'["/]{re.escape(page.name)}"')
    texts = {path: path.read_text(encoding="utf-8") for path in (root / "tests").rglob("*.py")}
    naming = {path.relative_to(root) for path, text in texts.items() if named.search(text)}
    modules = "|".join(
        rf"from {re.escape('.'.join(path.parent.parts))}(?:\.{path.stem}| import .*\b{path.stem}\b)"
        for path in naming
        if not path.name.startswith("test_")
    )
    importing = re.compile(rf"^(?:{modules})", re.M) if modules else None
    return {
        str(path.relative_to(root))
        for path, text in texts.items()
        if path.name.startswith("test_")
        and (path.relative_to(root) in naming or (importing and importing.search(text)))
    }


def _git(root: Path, *arguments: str) -> list[str]:
    ended = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    return ended.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
