"""Several processes at work on one database at once."""

import concurrent.futures
import multiprocessing

from tests.functional.placement.service import Service

COUNT = 3
#: seconds to wait for the others to be ready
READY = 60

_of_process = {}


class Processes:
    """COUNT processes that run a job at the same time, each with a service of its own.

    A job is a function of a module: `job(service, number)`, number being 0 … COUNT-1.
    """

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self._everybody = context.Barrier(COUNT)
        self._pool = concurrent.futures.ProcessPoolExecutor(
            COUNT, context, initializer=_start, initargs=(self._everybody,)
        )

    def run(self, job, *urls):
        """What the jobs answer, by number; with several URLs, the services share them out."""
        jobs = [
            self._pool.submit(_run, job, urls[number % len(urls)], number)
            for number in range(COUNT)
        ]
        concurrent.futures.wait(jobs)
        self._everybody.reset()
        return [job.result() for job in jobs]

    def close(self):
        self._pool.shutdown()


def _start(barrier):
    _of_process["all"] = barrier


def _run(job, url, number):
    # nobody comes past this before everybody is here, so each process takes one job
    _of_process["all"].wait(READY)
    try:
        service = Service(url)
    except Exception:
        # the others shall not wait for us
        _of_process["all"].abort()
        raise
    _of_process["all"].wait(READY)
    return job(service, number)
