"""The commands of the README and of pages, word for word, against a service of the test's own."""

import contextlib
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from placement import app, config
from placement.cli.configuration import ALONE
from placement.extensions.monitoring.counting import Counting
from placement.metrics.slots import Slots
from tests.functional.placement.served import served
from tests.functional.placement.serving.programs import Server, free_port
from tests.patience import PATIENCE

README = Path(__file__).parents[1] / "README.rst"
#: where the README's service is
URL = "http://127.0.0.1:8778"


def commands_beginning(start: str) -> str:
    """Return the one block of commands whose first line begins with `start`."""
    blocks = re.findall(r"::\n\n((?: {4}.*\n|\n)+)", README.read_text(encoding="utf-8"))
    (found,) = [block for block in blocks if block.strip().startswith(start)]
    return textwrap.dedent(found).strip() + "\n"


@contextlib.contextmanager
def service_in(folder: Path) -> Iterator[str]:
    """Serve from this process what the README's service serves, on a free port; give its URL."""
    overrides = {
        **ALONE,
        ("placement_database", "connection"): f"sqlite:///{folder}/placement.db",
        ("placement_database", "sqlite_synchronous"): False,
    }
    layout = app.metrics_layout()
    counting = Counting.shared(layout, Slots.anonymous(layout.width))
    conf = config.load(files=[], environ=False, overrides=overrides)
    running = app.start(conf, counting=counting)
    try:
        with served(running.application) as url:
            yield url
    finally:
        running.close()


@contextlib.contextmanager
def started_in(folder: Path) -> Iterator[str]:
    """Start the README's service on a free port, as the README does; give its URL."""
    port = free_port()
    environ = {k: v for k, v in os.environ.items() if not k.startswith("OS_")}
    command = [sys.executable, "-m", "placement.cli.serve", "--port", str(port)]
    server = Server(command, folder, environ | {"HOME": str(folder)}, f"http://127.0.0.1:{port}")
    try:
        yield server.wait_until(None).url
    finally:
        server.stop()


def run(commands: str, url: str) -> str:
    """Run commands of the README in bash, with `url` in place of its own; return their output.

    Raise AssertionError, with what was printed, if one fails.
    """
    assert URL in commands
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands.replace(URL, url)],
        env={k: v for k, v in os.environ.items() if not k.startswith("OS_")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr == ""
    return ended.stdout
