"""Several processes that use one database concurrently."""

import concurrent.futures
import contextlib

import pytest

from tests import extent
from tests.functional.forked import PROCESSES
from tests.functional.placement.service import Service
from tests.patience import PATIENCE

COUNT = 3
_of_process = {}


class Processes:
    """COUNT processes that run a job concurrently, each with its own service.

    A job is a function of a module: `job(service, number)`, with number 0 … COUNT-1.
    """

    def __init__(self):
        self._everybody = PROCESSES.Barrier(COUNT)
        self._pool = concurrent.futures.ProcessPoolExecutor(
            COUNT, PROCESSES, initializer=_start, initargs=(self._everybody, extent.thorough)
        )
        # its threads and processes start at the first jobs; here they belong to the fixture
        concurrent.futures.wait([self._pool.submit(together) for _ in range(COUNT)])

    def run(self, job, *urls):
        """Return the jobs' results, by number; several URLs are distributed among the services."""
        jobs = [
            self._pool.submit(_run, job, urls[number % len(urls)], number)
            for number in range(COUNT)
        ]
        concurrent.futures.wait(jobs)
        self._everybody.reset()
        return [job.result() for job in jobs]

    def close(self):
        self._pool.shutdown()
        # they have pipes and memory, which go with the last reference
        del self._pool, self._everybody


@pytest.fixture(scope="session")
def processes(forking):
    """Return processes that all tests of this run share; the first test that asks starts them."""
    started = Processes()
    yield started
    started.close()


def together():
    """Wait until the jobs of all processes are here; called by jobs, by all of them as often."""
    _of_process["all"].wait(PATIENCE)


def _start(barrier, thorough):
    _of_process["all"] = barrier
    # before it imports a test that asks
    extent.thorough = thorough


@contextlib.contextmanager
def _releasing_others():
    """After a failure, release the other processes: nobody comes to where they wait."""
    try:
        yield
    except Exception:
        _of_process["all"].abort()
        raise


def _run(job, url, number):
    # every process waits here for all others, so each process takes one job
    together()
    with _releasing_others():
        service = Service(url)
    together()
    try:
        with _releasing_others():
            return job(service, number)
    finally:
        # the process goes on, and the database is removed
        service.running.close()
