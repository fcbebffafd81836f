"""The demonstration, as `tox -e demo -- --stay` runs it."""

import configparser
import contextlib
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from compute.demo.programs import PATIENCE as PROGRAM_PATIENCE
from tests.browsing import expect
from tests.functional.placement.serving.conftest import configuration
from tests.functional.placement.serving.programs import ADMIN, wait_until
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]


@contextlib.contextmanager
def started(folder, *options):
    """Start the demonstration; give the process, and a function that returns what it printed."""
    (folder / "tmp").mkdir()
    log = folder / "demo.log"
    command = [sys.executable, "-m", "compute.demo", "--stay", *options]
    environ = configuration(folder) | {"TMPDIR": str(folder / "tmp"), "PYTHONUNBUFFERED": "1"}
    environ = {name: value for name, value in environ.items() if not name.startswith("OS_")}
    with (
        log.open("w") as output,
        subprocess.Popen(command, cwd=folder, env=environ, stdout=output, stderr=output) as process,
    ):
        try:
            yield process, log.read_text
        finally:
            process.kill()


@pytest.fixture
def stayed(tmp_path):
    with started(tmp_path, "--keep", str(tmp_path / "kept")) as found:
        yield found


def said_when(process, said, pattern):
    """Wait until the demonstration prints what fits; return the first group."""

    def told():
        assert process.poll() is None, said()
        return re.search(pattern, said())

    return wait_until(told, said, 2 * PATIENCE)[1]


PAGE = r"The page of this cloud: (\S+) "


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_it_ends_in_a_word_and_leaves_nothing(tmp_path, number):
    with started(tmp_path) as (process, said):
        api = said_when(process, said, PAGE).removesuffix("/berth/v1/ui/")
        # tox sends what the terminal has sent already, and then another one
        for each in (number, number, signal.SIGTERM):
            process.send_signal(each)
        assert process.wait(PATIENCE) == 0, said()
    assert said().endswith("The service has ended. Its files are deleted.\n")
    with pytest.raises(requests.ConnectionError):
        requests.get(api, timeout=PATIENCE)
    (drawing,) = (tmp_path / "tmp").iterdir()
    assert drawing.suffix == ".html"


def test_a_story_that_is_interrupted_leaves_nothing(tmp_path):
    with started(tmp_path) as (process, said):
        api = said_when(process, said, r"placement-api serves (\S+) ")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM, said()
    assert "ended by SIGTERM before it was over" in said()
    assert "Traceback" not in said()
    with pytest.raises(requests.ConnectionError):
        requests.get(api, timeout=PATIENCE)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_tox_waits_until_it_has_ended():
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    for each in ("interrupt_timeout", "terminate_timeout"):
        assert tox["testenv:demo"].getint(each) >= PROGRAM_PATIENCE


def test_it_ends_with_a_drawing_and_stays_with_a_page(stayed, open_page):
    process, said = stayed
    address = said_when(process, said, PAGE)
    page = open_page(address, refused=["ERR_CONNECTION"])
    expect(page.get_by_role("link", name="this-machine")).to_be_visible()
    api = address.removesuffix("/berth/v1/ui/")
    assert requests.get(f"{api}/resource_providers", headers=ADMIN, timeout=PATIENCE).ok
    # told while it stays, too
    drawing = re.search(r"The reshape, drawn for a browser:\s+(\S+\.html)", said())[1]
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0, said()
    drawn = open_page(Path(drawing).as_uri(), offline=True)
    expect(drawn.get_by_text("2 consumers move, and each keeps what it holds.")).to_be_visible()
