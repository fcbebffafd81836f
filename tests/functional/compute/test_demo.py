"""The demonstration, as `tox -e demo -- --stay` runs it."""

import configparser
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import requests
from rich.console import Console

from compute.demo import story
from compute.demo.programs import PATIENCE as PROGRAM_PATIENCE
from compute.demo.programs import PlacementProgram
from tests.browsing import expect
from tests.functional.forked import Forked
from tests.functional.placement.serving.conftest import configuration
from tests.functional.placement.serving.programs import ADMIN, wait_until
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]


#: the demonstration without its machines, whose story `tox -e demo` tells
SHORT = """
import sys
from compute.demo import story
story._tell_of_machines = lambda console, service, folder, drawing: None
sys.exit(story.main(sys.argv[1:]))
"""


#: starts it as tox does, in the terminal's foreground, and takes Ctrl+C for a failure
AS_TOX = f"""
import fcntl, os, subprocess, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.environ["TOX_ENV_NAME"] = "demo"
sys.exit(subprocess.call([sys.executable, "-c", {SHORT!r}, *sys.argv[1:]]))
"""


@contextlib.contextmanager
def started(folder, *options, run=("-m", "compute.demo"), **popen):
    """Start the demonstration; give the process, and a function that returns what it printed."""
    (folder / "tmp").mkdir()
    log = folder / "demo.log"
    command = [sys.executable, *run, "--stay", *options]
    environ = configuration(folder) | {"TMPDIR": str(folder / "tmp"), "PYTHONUNBUFFERED": "1"}
    environ = {name: value for name, value in environ.items() if not name.startswith("OS_")}
    with (
        log.open("w") as output,
        subprocess.Popen(
            command, cwd=folder, env=environ, stdout=output, stderr=output, **popen
        ) as process,
    ):
        try:
            yield process, log.read_text
        finally:
            process.kill()


def said_when(process, said, pattern):
    """Wait until the demonstration prints what fits; return the first group."""

    def told():
        assert process.poll() is None, said()
        return re.search(pattern, said())

    return wait_until(told, said, 2 * PATIENCE)[1]


PAGE = r"The page of this cloud: (\S+) "


def end(process, said, number):
    """End it with a signal, as tox does: it sends what the terminal has sent, and another one."""
    for each in (number, number, signal.SIGTERM):
        process.send_signal(each)
    assert process.wait(PATIENCE) == 0, said()


def left_nothing_but_a_drawing(folder, api, said):
    """Return the drawing."""
    assert said().endswith("The service has ended. Its files are deleted.\n")
    with pytest.raises(requests.ConnectionError):
        requests.get(api, timeout=PATIENCE)
    (drawing,) = (folder / "tmp").iterdir()
    assert drawing.suffix == ".html"
    return drawing


@pytest.mark.thorough
def test_it_ends_in_a_word_and_leaves_nothing(tmp_path):
    keyboard, terminal = (os.fdopen(number, "r+b", 0) for number in os.openpty())
    of_it = {"stdin": terminal, "start_new_session": True}
    with keyboard, terminal, started(tmp_path, run=("-c", AS_TOX), **of_it) as (process, said):
        api = said_when(process, said, PAGE).removesuffix("/berth/v1/ui/")
        keyboard.write(b"\x03")
        assert process.wait(PATIENCE) == 0, said()
    assert left_nothing_but_a_drawing(tmp_path, api, said)


def test_a_story_that_is_interrupted_leaves_nothing(tmp_path, forking):
    process = Forked(_told_without_end, [str(tmp_path)], {**os.environ})
    assert process.stdout.readline().startswith("placement-api serves ")
    process.send_signal(signal.SIGTERM)
    said, complaints = process.communicate()
    assert (process.returncode, complaints) == (128 + signal.SIGTERM, "")
    assert said.startswith("The service has ended.\n")
    assert "ended by SIGTERM before it was over" in said
    assert list(tmp_path.iterdir()) == []


def _told_without_end(folder):
    """In a forked process: begin the story, with files in a folder and a service that is none."""

    @contextlib.contextmanager
    def service(of_it):
        try:
            yield PlacementProgram("nowhere", of_it)
        finally:
            print("The service has ended.", flush=True)

    def tell(*arguments):
        while True:
            time.sleep(0.01)

    tempfile.tempdir = folder[0]
    story.placement_service, story._tell_all = service, tell
    return story.main(["--stay"])


def test_tox_waits_until_it_has_ended():
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    for each in ("interrupt_timeout", "terminate_timeout"):
        assert tox["testenv:demo"].getint(each) >= PROGRAM_PATIENCE


def test_it_does_not_stay_without_the_tox_that_started_it(tmp_path):
    nobody = -1
    story._stay(Console(quiet=True), PlacementProgram("", tmp_path), nobody)


@pytest.mark.thorough
def test_it_ends_with_a_drawing_and_stays_with_a_page(tmp_path, open_page):
    with started(tmp_path) as (process, said):
        address = said_when(process, said, PAGE)
        page = open_page(address, refused=["ERR_CONNECTION"])
        expect(page.get_by_role("link", name="this-machine")).to_be_visible()
        api = address.removesuffix("/berth/v1/ui/")
        assert requests.get(f"{api}/resource_providers", headers=ADMIN, timeout=PATIENCE).ok
        # told while it stays, too
        drawing = re.search(r"The reshape, drawn for a browser:\s+(\S+\.html)", said())[1]
        end(process, said, signal.SIGINT)
    assert left_nothing_but_a_drawing(tmp_path, api, said) == Path(drawing)
    drawn = open_page(Path(drawing).as_uri(), offline=True)
    expect(drawn.get_by_text("2 consumers move, and each keeps what it holds.")).to_be_visible()


@pytest.mark.thorough
def test_it_stays_with_a_page_of_files_that_are_kept(tmp_path):
    kept = tmp_path / "kept"
    with started(tmp_path, "--keep", str(kept)) as (process, said):
        said_when(process, said, PAGE)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0, said()
    assert list(kept.iterdir())
