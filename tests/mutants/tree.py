"""Copies of the repository to be mutated, so that nobody else meets a mutant."""

import os
import shutil
import subprocess
from pathlib import Path


def copied(root: Path, target: Path) -> Path:
    """Copy the files that git knows or would add, as they are now. Return the copy.

    What Python compiled of them goes with them: that takes longer than to import it.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
    )
    names = list(filter(None, os.fsdecode(listed.stdout).split("\0")))
    for name in names:
        source, file = root / name, target / name
        if source.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, file)
    for folder in {Path(name).parent / "__pycache__" for name in names if name.endswith(".py")}:
        if (root / folder).is_dir():
            shutil.copytree(root / folder, target / folder, dirs_exist_ok=True)
    return target


class Swapped:
    """A file of a copy with another content, until the context ends.

    The times of the file tell Python which of the compiled files fits.
    """

    def __init__(self, file: Path, content: bytes) -> None:
        self._file, self._content = file, content

    def __enter__(self) -> None:
        self._before, self._stat = self._file.read_bytes(), self._file.stat()
        self._file.write_bytes(self._content)
        # not that of the original, which has a compiled file
        later = int(self._stat.st_mtime) + 100
        os.utime(self._file, (later, later))

    def __exit__(self, *_: object) -> None:
        self._file.write_bytes(self._before)
        os.utime(self._file, ns=(self._stat.st_atime_ns, self._stat.st_mtime_ns))
