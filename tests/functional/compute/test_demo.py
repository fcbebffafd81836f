"""The demonstration, as `tox -e demo -- --stay` runs it."""

import functools
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from tests.browsing import expect
from tests.functional.placement.serving.conftest import configuration
from tests.functional.placement.serving.programs import ADMIN, wait_until
from tests.patience import PATIENCE


@pytest.fixture
def stayed(tmp_path):
    """Start the demonstration; return the process, and a function that returns what it printed."""
    log = tmp_path / "demo.log"
    command = [sys.executable, "-m", "compute.demo", "--stay", "--keep", str(tmp_path / "kept")]
    environ = configuration(tmp_path) | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    environ = {name: value for name, value in environ.items() if not name.startswith("OS_")}
    with (
        log.open("w") as output,
        subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environ,
            stdout=output,
            stderr=output,
            # tests that run in the background of a shell inherit that it is ignored
            preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        ) as process,
    ):
        yield process, log.read_text
        process.kill()


def test_it_ends_with_a_drawing_and_stays_with_a_page(stayed, open_page):
    process, said = stayed
    pattern = re.compile(r"The page of this cloud: (\S+) ")

    def told():
        assert process.poll() is None, said()
        return pattern.search(said())

    address = wait_until(told, said, 2 * PATIENCE)[1]
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
