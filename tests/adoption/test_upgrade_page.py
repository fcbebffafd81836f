"""The way to Berth and back in upgrade.rst: its commands, in their order, on a running cloud."""

import contextlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from placement.storage.database.engine import Database, DatabaseSettings
from tests.adoption import cloud
from tests.adoption.comparison import Answers
from tests.adoption.programs import Service
from tests.adoption.rows import execute
from tests.faults.running import Client, eventually
from tests.functional.placement.serving.programs import free_port
from tests.page_code import PLACE, commands_of
from tests.reference.starting import plain_environ

THEIR_PORT, OUR_PORT, FOLDER = "8778", "8779", "/etc/placement"


@pytest.fixture(scope="session", params=["sqlite"])
def database_kind(request):
    """Return SQLite only: other tests take databases of all kinds over."""
    return request.param


def prepared(line, folder, theirs, mine):
    """Return a command of the page with the places and ports of this test, for a shell."""
    commands = shlex.quote(str(Path(sys.executable).parent))
    for shown, here in (
        (PLACE, commands),
        (FOLDER, shlex.quote(str(folder))),
        (THEIR_PORT, str(theirs)),
        (OUR_PORT, str(mine)),
    ):
        line = line.replace(shown, here)
    return line


@contextlib.contextmanager
def started(line, environ, log):
    """Run a command of the page that doesn't end by itself."""
    with log.open("wb") as said:
        process = subprocess.Popen(
            ["sh", "-c", f"exec env {line}"], env=environ, cwd="/", stdout=said, stderr=said
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def answers(port):
    with contextlib.suppress(OSError):
        return Client(port).get("/").status == 200
    return False


def drop_our_tables(url):
    with contextlib.closing(Database(DatabaseSettings(url))) as database:
        names = sa.inspect(database.engine).get_table_names()
    ours = [name for name in names if name.startswith("berth_")]
    assert ours
    execute(url, *(f"DROP TABLE {name}" for name in ours))


def test_the_page_leads_to_berth_and_back(empty_url, reference, tmp_path):
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "placement.conf").write_text(
        f"[placement_database]\nconnection = {empty_url}\n[api]\nauth_strategy = noauth2\n"
    )
    # the commands find the file where the page has it without being told
    environ = {**plain_environ(), "OS_PLACEMENT_CONFIG_DIR": str(folder)}
    environ["HOME"] = os.fspath(tmp_path)
    check, compare, sync, serve = commands_of("upgrade.rst", "From OpenStack Placement")
    with reference.serving(empty_url, sync=True) as theirs:
        cloud.build(theirs)
        port = free_port()

        def run(line):
            return subprocess.run(
                prepared(line, folder, theirs.port, port),
                shell=True,
                env=environ,
                cwd="/",
                capture_output=True,
                text=True,
                check=False,
            )

        for line, words in ((check, "Check: Berth Schema"), (compare, "  same"), (sync, "")):
            done = run(line)
            assert (done.returncode, words in done.stdout) == (0, True), (line, done)
        log = tmp_path / "log"
        with started(prepared(serve, folder, theirs.port, port), environ, log) as process:
            eventually(lambda: process.poll() is not None or answers(port), log.read_text)
            assert process.poll() is None, log.read_text()
            mine = Service("ours", port)
            assert Answers(theirs).differences(Answers(mine)) == []
            cloud.live_on(mine)
            after = Answers(mine)
    with reference.serving(empty_url) as theirs:
        assert after.differences(Answers(theirs)) == []
    drop_our_tables(empty_url)
    with reference.serving(empty_url) as theirs:
        assert after.differences(Answers(theirs)) == []
