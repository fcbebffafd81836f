"""Keeps a private server running while any process needs it.

All processes of a test run share one server of a kind. Each process that needs the server holds the
writing end of a named pipe open. This program holds the reading end. When it reads the end of the
file, no other process is left, however the processes ended. Then this program stops the server and
removes the folder.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.databases.servers import SERVERS, Server, ServerFailed
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
PIPE = "users"
#: files: one is created when the server is ready, the other has the reason if it can't start
READY = "ready"
FAILED = "failed"

#: the programs that this process started; they outlive it, so nothing waits for them
_started: list[subprocess.Popen] = []


def join(kind: str, folder: Path) -> Server:
    """Return the folder's server, started if needed; it runs until this process ends, or longer.

    Raises ServerFailed.
    """
    server = SERVERS[kind](folder)
    with only_one(folder):
        if not _hold(folder):
            _start_keeper(kind, folder)
        _wait_until_ready(folder)
    return server


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock for the folder, between all processes."""
    path = folder.with_suffix(".lock")
    while True:
        with path.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # the previous owner of the lock may have removed the file in the meantime
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                yield
                return


def _hold(folder: Path) -> bool:
    """Open the pipe until this process ends; return whether the keeper reads the pipe."""
    try:
        os.open(folder / PIPE, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    return True


def _start_keeper(kind: str, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o755)
    os.mkfifo(folder / PIPE)
    reader = os.open(folder / PIPE, os.O_RDONLY | os.O_NONBLOCK)
    _hold(folder)
    with (folder / "keeper.log").open("wb") as log:
        _started.append(
            subprocess.Popen(
                [sys.executable, "-m", "tests.databases.keeper", kind, str(folder), str(reader)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=[reader],
                cwd=ROOT,
            )
        )
    os.close(reader)


def _wait_until_ready(folder: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not (folder / READY).exists():
        if (folder / FAILED).exists():
            raise ServerFailed((folder / FAILED).read_text(errors="replace"))
        if time.monotonic() > end:
            raise ServerFailed((folder / "keeper.log").read_text(errors="replace"))
        time.sleep(0.02)


def keep(kind: str, folder: Path, reader: int) -> None:
    """Run the server until no process holds the pipe, then remove the folder."""
    server = SERVERS[kind](folder)
    process = None
    try:
        try:
            server.make()
            process = server.start()
            _answer(server, process)
            (folder / READY).touch()
        except ServerFailed as failed:
            (folder / FAILED).write_text(str(failed))
        _stay_while_used(reader)
    finally:
        with contextlib.ExitStack() as lock:
            # renamed first, so that no process sees a partly removed folder; it may be gone already
            with contextlib.suppress(FileNotFoundError):
                lock.enter_context(only_one(folder))
            if process is not None:
                stop(process)
            shutil.rmtree(folder, ignore_errors=True)
            folder.with_suffix(".lock").unlink(missing_ok=True)


def _answer(server: Server, process: subprocess.Popen) -> None:
    """Wait until the server answers. Raises ServerFailed if it ends first."""
    end = time.monotonic() + PATIENCE / 2
    while not server.ready():
        if process.poll() is not None or time.monotonic() > end:
            raise ServerFailed(f"{server.kind} doesn't answer:\n{server.log()}")
        time.sleep(0.05)


def _stay_while_used(reader: int) -> None:
    """Return when no process holds the writing end; nothing is ever written."""
    os.set_blocking(reader, True)
    os.read(reader, 1)


def stop(process: subprocess.Popen) -> None:
    """Stop a server: terminate it, and kill it if it doesn't end."""
    process.send_signal(signal.SIGINT if "postgres" in str(process.args) else signal.SIGTERM)
    try:
        process.wait(PATIENCE / 2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _leave(*_: object) -> None:
    raise SystemExit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _leave)
    keep(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
