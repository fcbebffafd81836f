"""A database server that is killed and started again under load (DESIGN D3)."""

import random
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path

import pytest

from tests.databases.fixtures import CHOSEN, MEMORY, refuse_if_missing
from tests.databases.servers import MariaDB, PostgreSQL
from tests.faults.load import begin, wrong_candidates
from tests.faults.running import Client, eventually, running
from tests.faults.tables import broken_rules, part_of, shared_generation


class DurablePostgreSQL(PostgreSQL):
    """What it has committed survives the process."""

    def _starting(self):
        return [*super()._starting(), "--synchronous_commit=on"]

    def create(self, name):
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")


class DurableMariaDB(MariaDB):
    """What it has committed survives the process."""

    def _starting(self):
        return [*super()._starting(), "--innodb-flush-log-at-trx-commit=2"]

    def create(self, name):
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")


KINDS = {"postgresql": DurablePostgreSQL, "mariadb": DurableMariaDB}
#: seconds of load before the server is killed
LOAD = 0.5


class Killable:
    """A server of its own, whose process is at hand."""

    def __init__(self, server):
        self.server = server
        server.make()
        self.start()
        server.create("berth")
        self.url = server.url("berth")

    def start(self):
        self._process = self.server.start()
        eventually(self._answers, self.server.log)

    def _answers(self):
        if self._process.poll() is not None:
            # what is left of the killed one may hold its memory for a moment
            self._process = self.server.start()
        return self.server.ready()

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


@pytest.fixture(params=[kind for kind in CHOSEN if kind != "sqlite"])
def database(request):
    refuse_if_missing(request.param)
    place = MEMORY if MEMORY.is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="berth-", dir=place))
    killable = None
    try:
        killable = Killable(KINDS[request.param](folder))
        yield killable
    finally:
        if killable is not None:
            killable.kill()
        shutil.rmtree(folder, ignore_errors=True)


def write(service, writers, stop):
    threads = [
        threading.Thread(target=writer.run, args=(Client(service.path), stop.is_set))
        for writer in writers
    ]
    for thread in threads:
        thread.start()
    time.sleep(LOAD)
    return threads


def end(threads, stop):
    stop.set()
    for thread in threads:
        thread.join()


def check(url, writers):
    """Everything that was answered is there, and of what wasn't all or nothing."""
    for writer in writers:
        writer.settle(part_of(url, writer))
    assert shared_generation(url) == 1 + sum(writer.part.shared_steps for writer in writers)
    assert broken_rules(url) == {}
    assert [writer.wrong for writer in writers] == [[] for _ in writers]


def test_a_database_that_is_killed_is_503_and_works_again_when_it_is_back(database):
    with running(database.url) as service:
        workers = service.workers()
        writers = begin(service, random.Random().random())
        stop = threading.Event()
        threads = write(service, writers, stop)
        database.kill()
        # nobody tells them to stop: each is answered 503
        for thread in threads:
            thread.join()
        assert all(writer.maybe is not None for writer in writers)
        assert service.get("/resource_providers").status == 503
        assert service.get("/").status == 200

        database.start()
        eventually(lambda: service.get("/resource_providers").status == 200, service.said)
        check(database.url, writers)
        stop = threading.Event()
        end(write(service, writers, stop), stop)

        check(database.url, writers)
        assert wrong_candidates(service, database.url) == []
        assert all(writer.granted for writer in writers)
        assert service.workers() == workers
