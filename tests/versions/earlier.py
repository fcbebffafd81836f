"""The code of the version before this one, taken from the history of this repository."""

import configparser
import dataclasses
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.faults.running import ROOT

BEFORE = Path(__file__).with_name("before.ini")


class NoHistory(Exception):
    """The commit of the version before can't be read here."""


@dataclasses.dataclass(frozen=True)
class Release:
    """A version: its number, its commit, and the name of its distribution."""

    version: str
    commit: str
    distribution: str


def release_before() -> Release:
    """Return the version before this one."""
    read = configparser.ConfigParser()
    read.read_string(BEFORE.read_text(encoding="utf-8"))
    return Release(**read["before"])


def is_shallow() -> bool:
    """Say whether this is a clone without its whole history: then no commit can be expected."""
    asked = subprocess.run(
        ["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, capture_output=True, check=False
    )
    return asked.stdout.strip() == b"true"


def code_of(release: Release, folder: Path) -> Path:
    """Put the packages of a release into the folder, and return it. Raises NoHistory.

    Its code runs with the libraries of this environment, from this folder as `PYTHONPATH`.
    """
    archive = subprocess.run(
        ["git", "archive", release.commit, "placement"], cwd=ROOT, capture_output=True, check=False
    )
    if archive.returncode:
        raise NoHistory(archive.stderr.decode(errors="replace").strip())
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        # Debian 12's Python has no filters yet, and git writes no path outside of the folder
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        files.extractall(folder, **safely)
    # what its code asks importlib.metadata for
    metadata = folder / f"{release.distribution}-{release.version}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(
        f"Metadata-Version: 2.1\nName: {release.distribution}\nVersion: {release.version}\n"
    )
    return folder


def manage(root: Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `placement-manage` of the code in a folder on a database."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    environ |= {"PYTHONPATH": str(root), "OS_PLACEMENT_DATABASE__CONNECTION": url}
    command = [sys.executable, "-m", "placement.cli.manage", *arguments]
    return subprocess.run(
        command, cwd="/", env=environ, capture_output=True, text=True, check=False
    )
