"""The manual pages: they say what the programs say, and man shows them without a warning."""

import datetime
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.functional.placement.serving.programs import needed

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "doc" / "man" / "build.py"
_SPEC = importlib.util.spec_from_file_location("build_manual_pages", SOURCE)
build = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = build
_SPEC.loader.exec_module(build)

COMMANDS = sorted(build.commands())
REFRESH = "run: python doc/man/build.py"


def test_each_command_has_a_page():
    assert [path.stem for path in sorted(SOURCE.parent.glob("*.rst"))] == COMMANDS
    assert set(COMMANDS) >= {
        *("placement-api", "placement-manage", "placement-status"),
        *("berth-compute", "nova-manage"),
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_is_up_to_date_with_its_program(command):
    page = build.page_of(command).read_text()
    assert build.up_to_date(page, command) == page, REFRESH


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_has_each_option_that_the_program_shows(command):
    page = build.page_of(command).read_text()
    program = Path(sysconfig.get_path("scripts")) / command
    shown = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    options = set(re.findall(r"^ +(--[\w-]+)", shown.stdout, re.M))
    assert options
    options -= set(build.NOT_IN_EVERY_RELEASE)
    assert {option for option in options if option not in page} == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_each_option_is_explained(command):
    unexplained = [
        (told.command, name)
        for told in build.helps_of(command)
        for name, text in told.listed()
        if not text
    ]
    # oslo.upgradecheck's argument
    assert set(unexplained) <= {("placement-status upgrade", "check")}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_has_the_usual_sections(command):
    page = build.page_of(command).read_text()
    titles = re.findall(r"^([A-Z ]+)\n=+$", page, re.M)
    wanted = ["SYNOPSIS", "DESCRIPTION", "OPTIONS", "FILES", "ENVIRONMENT", "EXIT STATUS"]
    assert [title for title in titles if title in wanted] == wanted
    assert titles[-1] == "SEE ALSO"


@pytest.fixture(scope="module")
def troff(tmp_path_factory):
    """Write the pages as the contributing page says."""
    folder = tmp_path_factory.mktemp("man")
    environ = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "LC_ALL": "C"}
    command = [sys.executable, str(SOURCE), "--troff", str(folder)]
    subprocess.run(command, check=True, env=environ, cwd=folder)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_man_shows_the_page_without_warnings_in_80_columns(troff, command):
    man = needed("man", "man-db")
    shown = subprocess.run(
        [man, "--warnings", "-E", "UTF-8", "-l", str(troff / f"{command}.8")],
        env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stderr == ""
    assert max(len(line) for line in shown.stdout.splitlines()) <= 80
    assert f"{command}(8)" in shown.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_mandoc_finds_nothing_wrong_with_the_page(troff, command):
    lint = [needed("mandoc", "mandoc"), "-Tlint", "-Wwarning", str(troff / f"{command}.8")]
    checked = subprocess.run(lint, capture_output=True, text=True)
    assert (checked.returncode, checked.stdout) == (0, "")


def test_the_date_is_that_of_the_packages_sources(troff):
    day = datetime.datetime.fromtimestamp(1700000000, datetime.UTC).date()
    assert f'"{day}"' in (troff / "placement-api.8").read_text()
