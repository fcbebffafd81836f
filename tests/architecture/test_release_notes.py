"""Every change has a release note, and a version is released with the notes of its changes."""

import configparser
import pathlib
import runpy
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


def test_each_version_has_notes_and_the_list_of_versions_names_them() -> None:
    before = configparser.ConfigParser()
    before.read(ROOT / "tests" / "versions" / "before.ini")
    assert (RELEASES / f"{before['before']['version']}.rst").exists()
    listed = (ROOT / "CHANGELOG.rst").read_text()
    for notes in RELEASES.glob("*.rst"):
        assert notes.read_text().startswith(f"Berth {notes.stem}\n=====")
        assert f"<doc/releases/{notes.name}>" in listed


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
def test_towncrier_can_collect_the_notes() -> None:
    # what is collected may be older than a note: make_release.py refuses a release without it
    draft = [sys.executable, "-m", "towncrier", "build", "--version", version(), "--draft"]
    told = subprocess.run(draft, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    words = told.split()
    for path in CHANGES:
        first = path.read_text(encoding="utf-8").split()[:3]
        assert any(words[at : at + len(first)] == first for at in range(len(words))), path.name


def test_a_release_without_its_notes_is_refused(tmp_path: pathlib.Path) -> None:
    changes = tmp_path / "doc" / "releases" / "changes"
    changes.mkdir(parents=True)
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    make_release = runpy.run_path(str(ROOT / "contrib" / "release" / "make_release.py"))
    make_release["check_notes"](tmp_path)
    (changes / f"+new.{min(KINDS)}.rst").touch()
    with pytest.raises(make_release["Refused"], match=f"build --version {version()} --yes"):
        make_release["check_notes"](tmp_path)
