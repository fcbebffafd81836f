"""A PgBouncer for one test, in front of a private PostgreSQL."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.databases.servers import PostgreSQL
from tests.patience import PATIENCE

PROGRAM = "pgbouncer"
#: number of connections to the server, which all clients share
SHARED = 3


def refuse_if_missing() -> None:
    """Skip the test, or fail it in CI, if the program isn't installed."""
    if PostgreSQL._find(PROGRAM) is not None:
        return
    reason = f"NOT TESTED WITH A POOLER: {PROGRAM} isn't installed: apt-get install {PROGRAM}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@contextlib.contextmanager
def pooled(url: str) -> Iterator[str]:
    """Yield the URL of the same database through a pooler in transaction mode."""
    refuse_if_missing()
    server = Path(url.partition("host=")[2].partition("&")[0])
    name = url.partition("@/")[2].partition("?")[0]
    folder = Path(tempfile.mkdtemp(prefix="berth-"))
    try:
        (folder / "users").write_text('"berth" ""\n')
        (folder / "pgbouncer.ini").write_text(
            f"""
            [databases]
            {name} = host={server} dbname={name} user=berth
            [pgbouncer]
            pool_mode = transaction
            default_pool_size = {SHARED}
            auth_type = trust
            auth_file = {folder}/users
            listen_addr =
            unix_socket_dir = {folder}
            logfile = {folder}/log
            """
        )
        identity = PostgreSQL._identity()
        if identity:
            shutil.chown(folder, identity["user"], identity["group"])
        process = subprocess.Popen(
            [str(PostgreSQL._find(PROGRAM)), f"{folder}/pgbouncer.ini"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **identity,
        )
        try:
            pooled_url = f"postgresql://berth@/{name}?host={folder}&port=6432"
            _wait_until_it_answers(pooled_url, process, folder / "log")
            yield pooled_url
        finally:
            process.terminate()
            process.wait()
    finally:
        shutil.rmtree(folder)


def _wait_until_it_answers(url: str, process: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
        except psycopg.OperationalError:
            said = log.read_text() if log.exists() else ""
            assert process.poll() is None, said
            assert time.monotonic() < end, said
            time.sleep(0.05)
        else:
            return
