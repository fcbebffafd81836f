"""What a test has begun and left: threads, processes, open files, and connections to databases.

Each of them has an owner: the fixture that is being set up, if that outlives a test, and otherwise
the test. What an owner began has to be gone when it ends. A fixture that begins something later, in
the middle of a test, says so with `lasting`.
"""

import contextlib
import functools
import gc
import logging
import multiprocessing.util
import os
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from multiprocessing.heap import Arena
from multiprocessing.resource_tracker import ResourceTracker
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from placement.wsgi.collection import paused
from tests.patience import PATIENCE
from tests.unmended import UNMENDED

HERE = str(Path(__file__).parent)
#: files whose lines say nothing about who began something
_MECHANISM = {str(Path(HERE) / name) for name in ("leftovers.py", "running_services.py")}
#: how many lines of the tests say where something began
_LINES = 3
FILES = "/proc/self/fd"
FAILED = pytest.StashKey[bool]()
#: stands for children that were started in a way that isn't known here
_OTHERS = -1

#: where each thread, process and connection began
_threads: weakref.WeakKeyDictionary[threading.Thread, str] = weakref.WeakKeyDictionary()
_children: dict[int, str] = {}
#: by what SQLAlchemy's pools know of a connection; with the beginnings of the names of its files
_connections: weakref.WeakKeyDictionary[Any, tuple[str, tuple[str, ...]]] = (
    weakref.WeakKeyDictionary()
)


class OpenFile(NamedTuple):
    """An open file: the number of one that was closed may be another one's by now."""

    number: str
    device: int
    inode: int


class Addresses(NamedTuple):
    """What is known of a file that is a socket, besides that it is one.

    :param own: its family, and its port or path
    :param open: the same, if it listens there
    :param words: its address and that of its other end
    """

    own: Any = None
    open: Any = None
    words: str = ""


class Owner:
    """A test, or a fixture that outlives it.

    :param name: what an error calls it
    :param is_judged: whether there is one
    """

    def __init__(self, name: str, is_judged: bool = True) -> None:
        self.name = name
        self._is_judged = is_judged
        #: what it began, if it outlives a test
        self.begun: set[Any] = set()
        #: it also owns the connections that these open later
        self.databases: weakref.WeakKeyDictionary[Any, None] = weakref.WeakKeyDictionary()
        self._endings = contextlib.ExitStack()

    def at_end(self, end: Callable[[], object]) -> None:
        """Have something called when the owner ends, before it is asked what it left."""
        self._endings.callback(end)

    def end(self) -> None:
        """End what is to be ended with the owner, the last first."""
        self._endings.close()

    def ended(self) -> None:
        """End what outlived a test, and fail if it leaves something."""
        self.end()
        _lasting.remove(self)
        if self._is_judged and self.left():
            gc.collect()
            _refuse(self.name, self.left())

    @contextlib.contextmanager
    def beginning(self) -> Iterator[None]:
        """Own what begins in this block, and outlive the test."""
        if self not in _lasting:
            _lasting.append(self)
        before = _things()
        _owners.append(self)
        try:
            yield
        finally:
            _owners.remove(self)
            self.begun |= (_things() - before).difference(*(each.begun for each in _lasting))

    def going_on(self) -> contextlib.AbstractContextManager[None]:
        """Own what begins in this block as well, in a test that it outlives."""
        return self.beginning() if self in _lasting else contextlib.nullcontext()

    def left(self) -> list[str]:
        """Return the names of what it began, outlived tests with, and left."""
        for thread in _threads_of(self.begun):
            _ends(thread)
        now = _things()
        # what has ended is forgotten: it may refer to files
        self.begun &= now
        return _names(thing for thing in now if self.has(thing))

    def has(self, thing: Any) -> bool:
        """Return whether it began something, or a database or a port of its own did."""
        pool = getattr(thing, "_ConnectionRecord__pool", None)
        is_pooled = any(each.engine.pool is pool for each in living(self.databases))
        return thing in self.begun or is_pooled or self._has_accepted(thing)

    def _has_accepted(self, thing: Any) -> bool:
        """Return whether a port of its own accepted this connection: anybody may come meanwhile."""
        accepted = _addresses(thing).own if isinstance(thing, OpenFile) else None
        files = (each for each in self.begun if isinstance(each, OpenFile))
        return accepted is not None and any(_addresses(each).open == accepted for each in files)


#: of all that begins and has no other owner
RUN = Owner("The run of the tests")
#: the last one owns what begins now
_owners = [RUN]
#: those that outlive a test
_lasting = [RUN]


def owner() -> Owner:
    """Return who owns what begins now."""
    return _owners[-1]


@contextlib.contextmanager
def lasting() -> Iterator[None]:
    """Let what begins in this block last until a fixture ends it, at the end of the run."""
    with RUN.beginning():
        yield


@contextlib.contextmanager
def nothing_left(name: str, failed: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Fail if something that begins in this block, and has no lasting owner, goes on after it.

    :param failed: whether there was a failure already: its traceback keeps what the test had
    """
    before = _things()
    mine = Owner(name)
    _owners.append(mine)
    try:
        yield
    finally:
        _owners.remove(mine)
        mine.end()
    if _names(_since(before)) and not failed():
        _collect(before)
        threads = _threads_of(_since(before))
        for thread in threads:
            _ends(thread)
        if threads:
            # what only they referred to
            _collect(before)
        _refuse(name, _names(_since(before)))


@contextlib.contextmanager
def own_root_logger() -> Iterator[None]:
    """Undo what this block does to the root logger: commands set it up for their whole process.

    A handler that stayed would write what later tests do to a stream that is closed.
    """
    root = logging.root
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        if root.level != level:
            root.setLevel(level)


def _collect(before: set[Any]) -> None:
    """Close what began since then, and nothing refers to any more: else chance says when.

    Most of it is young: a look at all objects of a long run takes as long as several tests.
    """
    for generation in range(3):
        if _names(_since(before)):
            gc.collect(generation)


def _since(before: set[Any]) -> set[Any]:
    """Return what began since then, and has no lasting owner."""
    new = _things() - before
    return {thing for thing in new if not any(each.has(thing) for each in _lasting)}


def _refuse(name: str, left: list[str]) -> None:
    if left:
        pytest.fail("\n  ".join([f"{name} leaves", *left]), pytrace=False)


def _things() -> set[Any]:
    """Return all threads, ids of processes, connections as pools know them, and open files."""
    return {*threading.enumerate(), *_living_children(), *_living_connections(), *_open_files()}


def _threads_of(things: Iterable[Any]) -> list[threading.Thread]:
    return [thing for thing in things if isinstance(thing, threading.Thread)]


def _names(things: Iterable[Any]) -> list[str]:
    return sorted(filter(None, map(_name, things)))


def _name(thing: Any) -> str:
    """Name a thing; empty: a file that is closed, or of a connection, which is not named again."""
    if isinstance(thing, threading.Thread):
        return f"thread {thing.name}, begun at {_threads.get(thing, '?')}"
    if isinstance(thing, int):
        return f"process {thing}, begun at {_children.get(thing, '?')}"
    if isinstance(thing, OpenFile):
        target = _target(thing.number)
        of_connections = [file for each in _living_connections() for file in _connections[each][1]]
        is_named = bool(target) and not target.startswith(tuple(of_connections))
        return f"open file {target}{_addresses(thing).words}" if is_named else ""
    return f"a connection of {_connections[thing][0]}"


def _ends(thread: threading.Thread) -> bool:
    """Wait for a thread that may have been told to end, and return whether it has."""
    # who starts it may be in the middle of that
    thread._started.wait(PATIENCE)  # type: ignore[attr-defined]
    thread.join(PATIENCE)
    return not thread.is_alive()


def _open_files() -> set[OpenFile]:
    """Return the open files, without the one that reads the list."""
    found = set()
    for number in os.listdir(FILES):
        # what is closed meanwhile doesn't matter
        with contextlib.suppress(OSError):
            status = os.stat(f"{FILES}/{number}")
            found.add(OpenFile(number, status.st_dev, status.st_ino))
    return found


def _living_connections() -> list[Any]:
    return [known for known in living(_connections) if known.dbapi_connection is not None]


def living(keys: weakref.WeakKeyDictionary[Any, Any]) -> list[Any]:
    """Return the keys; other threads may add some meanwhile, which an iteration doesn't survive."""
    found = (reference() for reference in keys.keyrefs())
    return [key for key in found if key is not None]


def _target(number: str) -> str:
    """Return what an open file is; empty: it is closed."""
    with contextlib.suppress(OSError):
        return os.readlink(f"{FILES}/{number}")
    return ""


def _addresses(file: OpenFile) -> Addresses:
    """Return the addresses of a socket; without any: it is none, or is closed."""
    if not _target(file.number).startswith("socket:"):
        return Addresses()
    # it may be closed at any time by another thread
    with contextlib.suppress(OSError), contextlib.ExitStack() as looking:
        found = socket.socket(fileno=int(file.number))
        looking.callback(found.detach)
        address, other = found.getsockname(), None
        with contextlib.suppress(OSError):
            other = found.getpeername()
        own = found.family, address[1] if isinstance(address, tuple) else address
        listens = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        return Addresses(own, own if listens else None, f" at {address}, its other end at {other}")
    return Addresses()


def _living_children() -> set[int]:
    """Return the ids of the children that nobody has waited for."""
    for child in list(_children):
        if not _is_child(os.P_PID, child):
            _children.pop(child, None)
    # with a child that is known it can't be told whether there are others
    return set(_children) or ({_OTHERS} if _is_child(os.P_ALL, 0) else set())


def _is_child(kind: int, child: int) -> bool:
    try:
        os.waitid(kind, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _place() -> str:
    """Return the innermost lines of the tests that are running."""
    lines: list[str] = []
    frame = sys._getframe(2)
    while frame is not None and len(lines) < _LINES:
        file = frame.f_code.co_filename
        if file.startswith(HERE) and file not in _MECHANISM:
            lines.append(f"tests{file.removeprefix(HERE)}:{frame.f_lineno}")
        frame = frame.f_back  # type: ignore[assignment]
    return " < ".join(lines) or "?"


@contextlib.contextmanager
def noticed() -> Iterator[None]:
    """Note where threads, processes and connections begin in this block."""
    plain_start, plain_popen = threading.Thread.start, subprocess.Popen.__init__
    plain_fork, plain_spawn = os.fork, multiprocessing.util.spawnv_passfds
    plain_tracker, plain_arena = ResourceTracker.ensure_running, Arena.__init__

    @functools.wraps(plain_start)
    def start(thread: threading.Thread) -> None:
        _threads[thread] = _place()
        plain_start(thread)

    @functools.wraps(plain_popen)
    def popen(process: Any, *given: Any, **named: Any) -> None:
        plain_popen(process, *given, **named)
        _children[process.pid] = _place()

    @functools.wraps(plain_fork)
    def fork() -> int:
        child = plain_fork()
        if child:
            _children[child] = _place()
        return child

    def spawn(*given: Any) -> int:
        child = plain_spawn(*given)
        _children[child] = _place()
        return child

    def ensure_running(tracker: Any) -> None:
        # Python starts it at its first use, and ends it itself
        with contextlib.nullcontext() if tracker._fd is not None else lasting():
            plain_tracker(tracker)

    def arena(memory: Any, *given: Any) -> None:
        # Python keeps it for the next who needs one
        with lasting():
            plain_arena(memory, *given)

    def connected(connection: Any, known: Any) -> None:
        _connections[known] = (_place(), tuple(_files_of(connection)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        patch.setattr(subprocess.Popen, "__init__", popen)
        patch.setattr(os, "fork", fork)
        patch.setattr(multiprocessing.util, "spawnv_passfds", spawn)
        patch.setattr(ResourceTracker, "ensure_running", ensure_running)
        patch.setattr(Arena, "__init__", arena)
        event.listen(sa.pool.Pool, "connect", connected)
        try:
            yield
        finally:
            event.remove(sa.pool.Pool, "connect", connected)


def _files_of(connection: Any) -> Iterable[str]:
    """Return the beginnings of the names of a connection's files."""
    if hasattr(connection, "fileno"):
        return [_target(str(connection.fileno()))]
    if hasattr(connection, "_sock"):
        return [_target(str(connection._sock.fileno()))]
    # SQLite's, which has more than one
    return [row[2] for row in connection.execute("PRAGMA database_list") if row[2]]


def _is_unmended(node: pytest.Item) -> bool:
    return node.nodeid.startswith(tuple(UNMENDED))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: Any
) -> Generator[None, Any, Any]:
    """Let a fixture that outlives a test own what it begins, and refuse what it leaves."""
    if fixturedef.scope == "function":
        return (yield)
    mine = Owner(f"The fixture {fixturedef.argname}", not _is_unmended(request._pyfuncitem))
    # the first of its finalizers is called last
    fixturedef.addfinalizer(mine.ended)
    with mine.beginning():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Note failures: see `nothing_left`."""
    if call.excinfo is not None:
        item.stash[FAILED] = True
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Generator[None, object, object]:
    """Know where everything begins."""
    with noticed():
        return (yield)


@pytest.fixture(autouse=True)
def _nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that ends less than it began. It is the first fixture, and so ends last.

    Garbage of earlier tests is collected between tests. In the middle of one its finalizers could
    write a line, take a lock, or find no room where something recurses to Python's limit.
    """
    node = request.node
    with (
        nothing_left(node.name, lambda: node.stash.get(FAILED, False) or _is_unmended(node)),
        own_root_logger(),
        paused(),
    ):
        yield
        # the values of fixtures, which pytest forgets later
        node.funcargs.clear()
