"""A test that leaves something fails, with the name of what it left."""

import gc
import logging
import socket
import subprocess
import sys
import threading

import pytest

from placement.storage.database.engine import Database, DatabaseSettings
from tests import leftovers

HERE = "tests/unit/test_leftovers.py:"


@pytest.fixture
def impatient(monkeypatch):
    """Wait for no thread: the one of the test doesn't end by itself."""
    monkeypatch.setattr(leftovers, "PATIENCE", 0)


@pytest.fixture
def told():
    """Return an event for threads that is set at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


def refused(begin):
    """Return what a test is told that does this and then ends."""
    with pytest.raises(pytest.fail.Exception) as failure, leftovers.nothing_left("A test"):
        kept = begin()
    del kept
    return str(failure.value)


def test_a_test_that_ends_what_it_began_passes(tmp_path):
    with leftovers.nothing_left("A test"):
        thread = threading.Thread(target=print)
        thread.start()
        thread.join()
        subprocess.run([sys.executable, "-c", ""], check=True)
        (tmp_path / "file").write_text("")
        database = Database(DatabaseSettings(f"sqlite:///{tmp_path}/some.db"))
        database.engine.connect().close()
        database.close()


def test_a_thread_is_noticed(told, impatient):
    thread = threading.Thread(target=told.wait, name="sleepless")
    words = refused(thread.start)
    assert words.startswith(f"A test leaves\n  thread sleepless, begun at {HERE}")
    told.set()
    thread.join()


def test_a_thread_that_is_about_to_end_is_waited_for(told):
    with leftovers.nothing_left("A test"):
        thread = threading.Thread(target=told.wait)
        thread.start()
        threading.Timer(0.01, told.set).start()
    assert not thread.is_alive()


def test_a_process_is_noticed_until_somebody_waits_for_it():
    started = []
    words = refused(lambda: started.append(subprocess.Popen([sys.executable, "-c", ""])))
    assert f"process {started[0].pid}, begun at {HERE}" in words
    started[0].wait()
    with leftovers.nothing_left("A test"):
        pass


def test_an_open_file_is_noticed(tmp_path):
    opened = []
    words = refused(lambda: opened.append((tmp_path / "kept").open("w")))
    opened[0].close()
    assert words == f"A test leaves\n  open file {tmp_path}/kept"


def test_sockets_and_pipes_are_files():
    opened = []
    words = refused(lambda: opened.extend(socket.socketpair()))
    for each in opened:
        each.close()
    assert words.count("open file socket:") == 2


def test_a_socket_is_named_with_both_of_its_addresses():
    opened = [socket.create_server(("127.0.0.1", 0))]
    address = opened[0].getsockname()
    words = refused(lambda: opened.append(socket.create_connection(address)))
    own = opened[1].getsockname()
    for each in opened:
        each.close()
    assert words.endswith(f" at {own}, its other end at {address}")


def test_a_look_at_what_is_no_socket_any_more_leaves_nothing(tmp_path, monkeypatch):
    """Another thread may close one at any time, and open a file that gets its number."""
    monkeypatch.setattr(leftovers, "_target", lambda number: "socket:[1]")
    with (tmp_path / "file").open("w") as file:
        before = leftovers._open_files()
        found = leftovers._addresses(leftovers.OpenFile(str(file.fileno()), 0, 0))
        assert (found, leftovers._open_files()) == (leftovers.Addresses(), before)


@pytest.mark.parametrize("name", ["/some.db", ""])
def test_a_pooled_connection_is_noticed_also_to_a_database_in_memory(tmp_path, name):
    database = Database(DatabaseSettings(f"sqlite:///{tmp_path}{name}" if name else "sqlite://"))
    words = refused(lambda: database.engine.connect().close())
    database.close()
    assert words.startswith(f"A test leaves\n  a connection of {HERE}")
    assert words.count("\n") == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_nothing_refers_to_is_not_left(tmp_path):
    """When it is collected is a matter of chance."""
    with leftovers.nothing_left("A test"):
        cycle = [(tmp_path / "kept").open("w")]
        cycle.append(cycle)
        del cycle


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_only_a_thread_referred_to_is_not_left(tmp_path, told, monkeypatch):
    """It can't be collected before the thread has ended."""
    ends = leftovers._ends
    monkeypatch.setattr(leftovers, "_ends", lambda thread: told.set() or ends(thread))
    with leftovers.nothing_left("A test"):
        cycle = [(tmp_path / "kept").open("w")]
        cycle.append(cycle)
        threading.Thread(target=lambda kept: told.wait(), args=[cycle]).start()
        del cycle


def test_what_a_lasting_fixture_began_is_not_the_tests(told, impatient):
    with leftovers.nothing_left("A test"), leftovers.lasting():
        thread = threading.Thread(target=told.wait)
        thread.start()
    told.set()
    thread.join()


def test_connections_of_a_lasting_database_may_be_opened_later(lasting_database):
    with leftovers.nothing_left("A test"):
        lasting_database.engine.connect().close()


@pytest.mark.parametrize("family", ["AF_INET", "AF_UNIX"])
def test_who_comes_to_a_lasting_port_is_not_the_tests(tmp_path, family):
    """A program beside the tests may read the pages of a fixture at any time."""
    place = ("127.0.0.1", 0) if family == "AF_INET" else str(tmp_path / "port")
    fixture, opened = leftovers.Owner("A fixture"), []
    with fixture.beginning():
        listener = socket.create_server(place, family=socket.AddressFamily[family])
        client = socket.socket(listener.family)
        client.connect(listener.getsockname())
    with leftovers.nothing_left("A test"):
        opened.append(listener.accept()[0])
    for each in (listener, client, *opened):
        each.close()
    fixture.ended()


@pytest.fixture(scope="module")
def lasting_database(tmp_path_factory):
    """Return a database that nobody has opened."""
    database = Database(DatabaseSettings(f"sqlite:///{tmp_path_factory.mktemp('d')}/some.db"))
    yield database
    database.close()


def test_a_file_that_has_the_number_of_a_lasting_one_is_noticed(tmp_path):
    """Whoever outlives the test has closed its file meanwhile."""
    fixture = leftovers.Owner("A fixture")
    with fixture.beginning():
        first = (tmp_path / "first").open("w")
    number = first.fileno()
    first.close()
    opened = []
    words = refused(lambda: opened.append((tmp_path / "kept").open("w")))
    assert opened[0].fileno() == number
    opened[0].close()
    fixture.ended()
    assert words == f"A test leaves\n  open file {tmp_path}/kept"


def test_a_fixture_that_outlives_a_test_leaves_nothing_either(tmp_path):
    for closes in (True, False):
        fixture = leftovers.Owner("A fixture")
        with fixture.beginning():
            opened = (tmp_path / "kept").open("w")
        if closes:
            opened.close()
            fixture.ended()
        else:
            with pytest.raises(pytest.fail.Exception, match=r"^A fixture leaves\n.*/kept$"):
                fixture.ended()
            opened.close()


def test_what_lasts_to_the_end_of_the_run_is_not_a_fixtures(tmp_path):
    fixture = leftovers.Owner("A fixture")
    with fixture.beginning(), leftovers.lasting():
        opened = (tmp_path / "kept").open("w")
    fixture.ended()
    opened.close()


def test_a_failure_is_not_told_twice(tmp_path):
    """Its traceback keeps what the test had."""
    with leftovers.nothing_left("A test", failed=lambda: True):
        opened = (tmp_path / "kept").open("w")
    opened.close()


def test_a_thread_that_is_being_started_is_waited_for():
    thread = threading.Thread(target=lambda: None)
    starting = threading.Thread(target=thread.start)
    starting.start()
    assert leftovers._ends(thread)
    starting.join()


def test_later_tests_get_the_root_logger_as_it_was():
    root, handler = logging.root, logging.NullHandler()
    handlers, level = root.handlers[:], root.level
    with leftovers.own_root_logger():
        root.handlers[:] = [handler]
        root.setLevel(logging.DEBUG)
    assert (root.handlers, root.level) == (handlers, level)


def test_no_garbage_of_others_is_collected_in_the_middle_of_a_test():
    assert not gc.isenabled()
