"""Probes of a service whose database is frozen, and whose threads all wait for it."""

import concurrent.futures
import contextlib
import json
import os
import signal

import pytest

from tests.databases.fixtures import CHOSEN
from tests.databases.mortal import mortal
from tests.faults.forking import running
from tests.faults.running import eventually

HEALTH = "/berth/v1/health"
THREADS, MORE = 2, 6
#: shorter than an operator would have it, in the processes of the service
LIMITS = (
    "from placement.extensions.monitoring import health\nhealth.FRESH, health.DOUBTFUL = 0.3, 1.5\n"
)


@pytest.fixture
def database(request):
    with mortal(request.param) as server:
        yield server


def on(kind):
    """Run a test on this kind of database alone, because it takes seconds."""
    return pytest.mark.parametrize(
        "database", [one for one in CHOSEN if one == kind], indirect=True
    )


def checks(answer):
    """Return the HTTP status, and the status of each check that isn't `pass`."""
    found = {name: one["status"] for name, (one,) in json.loads(answer.body)["checks"].items()}
    return answer.status, {name: status for name, status in found.items() if status != "pass"}


@on("postgresql")
def test_probes_are_answered_while_the_database_is_frozen_and_every_thread_waits(database):
    with running(database.url, workers=1, threads=THREADS, code=LIMITS) as service:
        # the first answer of the database may take longer than the report waits for it
        eventually(lambda: checks(service.probe(HEALTH)) == (200, {}), service.said)
        with (
            concurrent.futures.ThreadPoolExecutor(THREADS + MORE + 8) as pool,
            contextlib.ExitStack() as freezing,
        ):
            freezing.enter_context(database.frozen())
            held = [pool.submit(service.get, "/traits") for _ in range(THREADS + MORE)]
            seen = []

            def has_failed():
                probes = [pool.submit(service.probe, HEALTH) for _ in range(4)]
                assert service.probe("/healthcheck").status == 200
                seen.extend(checks(probe.result()) for probe in probes)
                return seen[-1][0] == 503

            eventually(has_failed, service.said)
            # they were answered beside requests that still wait
            assert not any(one.done() for one in held)
            doubted, failed = (200, {"database": "warn"}), (503, {"database": "fail"})
            assert [one for one in seen if one not in ((200, {}), doubted, failed)] == []
            assert seen[-1] == failed
            freezing.close()
            assert [one.result().status for one in held] == [200] * len(held)
            eventually(lambda: checks(service.probe(HEALTH)) == (200, {}), service.said)


@on("mariadb")
def test_a_worker_that_starts_while_the_database_is_frozen_lives(database):
    limits = {"PLACEMENT_DATABASE__CONNECTION_PARAMETERS": "connect_timeout=1&read_timeout=1"}
    with running(database.url, workers=1, threads=THREADS, code=LIMITS, **limits) as service:
        with database.frozen():
            (worker,) = service.workers()
            os.kill(worker, signal.SIGKILL)
            eventually(lambda: service.ready_workers() - {worker}, service.said)
            assert service.probe("/healthcheck").status == 200
            assert checks(service.probe(HEALTH)) == (503, {"database": "fail", "schema": "fail"})
        eventually(lambda: checks(service.probe(HEALTH)) == (200, {}), service.said)
        assert service.get("/traits").status == 200
