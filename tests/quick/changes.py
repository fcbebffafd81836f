"""What differs from the commit where the branch left its base, file by file and line by line."""

import dataclasses
import re
import subprocess
from pathlib import Path

from tests.quick.functions import at_lines

_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.M)


@dataclasses.dataclass(frozen=True)
class Changed:
    """A changed file; for Python, the functions whose lines changed, were added or removed."""

    path: str
    functions: frozenset[str] = frozenset()


def changed(root: Path, base: str) -> list[Changed]:
    """Return what differs from where the branch left `base`, committed or not, and new files.

    If the base doesn't exist, compare with the last commit.
    """
    left = (_git(root, "merge-base", base, "HEAD").decode().split() or ["HEAD"])[0]
    names = _git(root, "diff", "-z", "--name-only", "--no-renames", left)
    others = _git(root, "ls-files", "-z", "--others", "--exclude-standard")
    paths = [*names.decode().split("\0"), *others.decode().split("\0")]
    return [Changed(path, _functions(root, left, path)) for path in filter(None, paths)]


def _functions(root: Path, left: str, path: str) -> frozenset[str]:
    """Return the functions with a difference: of the file as it is, and as it was."""
    if not path.endswith(".py"):
        return frozenset()
    file = root / path
    after = file.read_bytes() if file.is_file() else b""
    before = _git(root, "show", f"{left}:{path}")
    if not before or not after:
        whole = after or before
        return frozenset(at_lines(whole, range(1, whole.count(b"\n") + 1)))
    hunks = _git(root, "diff", "--unified=0", "--no-color", "--no-ext-diff", left, "--", path)
    removed, added = set[int](), set[int]()
    for hunk in _HUNK.finditer(hunks):
        old, olds, new, news = (int(number or b"1") for number in hunk.groups())
        removed.update(range(old, old + olds))
        added.update(range(new, new + news))
    return frozenset(at_lines(before, removed) | at_lines(after, added))


def _git(root: Path, *arguments: str) -> bytes:
    """Return what git printed, nothing if it failed."""
    ended = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)
    return ended.stdout if ended.returncode == 0 else b""
