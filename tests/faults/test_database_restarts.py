"""A database server is killed and restarted under load (architecture.rst D3)."""

import os
import random
import signal
import threading

import pytest

from tests.databases.fixtures import CHOSEN
from tests.databases.mortal import mortal
from tests.faults.forking import running
from tests.faults.load import begin, wrong_candidates
from tests.faults.running import Client, eventually
from tests.faults.tables import broken_rules, part_of, shared_generation

#: number of writes of each writer before a kill
EACH = 5
SERVERS = [kind for kind in CHOSEN if kind != "sqlite"]


@pytest.fixture
def database(kind):
    with mortal(kind) as server:
        yield server


def write(service, writers, stop):
    """Begin to write; return the threads when each writer has had some writes granted."""
    wanted = [writer.granted + EACH for writer in writers]
    threads = [
        threading.Thread(target=writer.run, args=(Client(service.path), stop.is_set))
        for writer in writers
    ]
    for thread in threads:
        thread.start()

    def have_written():
        return all(writer.granted >= n for writer, n in zip(writers, wanted, strict=True))

    eventually(have_written, service.said)
    return threads


def end(threads, stop):
    stop.set()
    for thread in threads:
        thread.join()


def check(url, writers):
    """Check that all answered writes are stored, and unanswered ones completely or not at all."""
    for writer in writers:
        writer.settle(part_of(url, writer))
    assert shared_generation(url) == 1 + sum(writer.part.shared_steps for writer in writers)
    assert broken_rules(url) == {}
    assert [writer.wrong for writer in writers] == [[] for _ in writers]


@pytest.mark.parametrize("kind", SERVERS)
def test_requests_get_503_while_the_database_is_down_and_succeed_afterwards(database):
    with running(database.url) as service:
        workers = service.workers()
        writers = begin(service, random.Random().random())
        stop = threading.Event()
        threads = write(service, writers, stop)
        database.kill()
        # the writers stop by themselves: each gets 503
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
        assert service.workers() == workers


def killed(service):
    for worker in service.workers():
        os.kill(worker, signal.SIGKILL)


def reloaded(service):
    service.process.send_signal(signal.SIGHUP)


#: how a worker's predecessor ended doesn't depend on the database
STARTS = {"postgresql": (killed, reloaded), "mariadb": (reloaded, killed)}


@pytest.mark.parametrize(
    ("kind", "end_workers"),
    [
        case
        for kind in SERVERS
        for case in (
            pytest.param(kind, STARTS[kind][0]),
            pytest.param(kind, STARTS[kind][1], marks=pytest.mark.thorough),
        )
    ],
)
def test_workers_that_start_while_the_database_is_down_return_503_until_it_is_up(
    database, end_workers
):
    with running(database.url) as service:
        assert service.put("/traits/CUSTOM_BEFORE").status == 201
        before = set(service.workers())
        database.kill()
        end_workers(service)
        eventually(lambda: not before & set(service.workers()), service.said)
        service.wait_until_served()
        assert service.get("/resource_providers").status == 503
        assert service.put("/traits/CUSTOM_AWAY").status == 503
        assert service.get("/").status == 200

        database.start()
        eventually(lambda: service.get("/resource_providers").status == 200, service.said)
        found = [
            service.get(f"/traits/CUSTOM_{name}").status for name in ("BEFORE", "AWAY", "AFTER")
        ]
        assert found == [204, 404, 404]
        assert service.put("/traits/CUSTOM_AFTER").status == 201
