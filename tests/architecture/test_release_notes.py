"""Every change has a release note, and the notes of a version are collected from them."""

import configparser
import pathlib
import shutil
import subprocess
import sys
import tomllib

import pytest

from tests.offenders import assert_each

ROOT = pathlib.Path(__file__).parents[2]
RELEASES = ROOT / "doc" / "releases"
CHANGES = sorted((RELEASES / "changes").glob("*.rst"))
TOOL = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
KINDS = {kind["directory"] for kind in TOOL["type"]}

unless_just_released = pytest.mark.skipif(not CHANGES, reason="no change since the last release")


def version() -> str:
    """Return the version of the sources."""
    read = configparser.ConfigParser()
    read.read(ROOT / "setup.cfg")
    return read["metadata"]["version"]


def test_this_version_and_the_one_before_have_notes() -> None:
    before = configparser.ConfigParser()
    before.read(ROOT / "tests" / "versions" / "before.ini")
    for number in (version(), before["before"]["version"]):
        assert (RELEASES / f"{number}.rst").read_text().startswith(f"Berth {number}\n=====")


def has_a_kind_and_is_short(path: pathlib.Path) -> None:
    begin, kind, _ = path.name.split(".")
    assert begin.startswith("+")
    assert kind in KINDS
    text = path.read_text(encoding="utf-8")
    assert text.endswith(".\n")
    assert "\n\n" not in text
    assert len(text) < 500


@unless_just_released
def test_a_note_has_a_kind_and_is_a_short_paragraph() -> None:
    assert_each({path.name: (path,) for path in CHANGES}, has_a_kind_and_is_short)


@unless_just_released
def test_the_notes_of_this_version_are_collected(tmp_path: pathlib.Path) -> None:
    shutil.copytree(RELEASES, tmp_path / "doc" / "releases")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    collect = [sys.executable, "-m", "towncrier", "build", "--version", version(), "--keep"]
    subprocess.run(collect, cwd=tmp_path, check=True, capture_output=True)
    collected = (tmp_path / "doc" / "releases" / f"{version()}.rst").read_text()
    assert collected == (RELEASES / f"{version()}.rst").read_text()
