"""Requests that wait for changes, on real workers: they starve nobody, and end with the worker."""

import contextlib
import http.client
import json
import os
import signal
import time

import pytest

from tests.faults.forking import running
from tests.faults.running import eventually
from tests.functional.placement.serving.programs import free_port
from tests.patience import PATIENCE

THREADS = 4
#: how many requests of one worker may wait: half of its threads
WAITS = THREADS // 2
PATH = "/berth/v1/changes"


@pytest.fixture
def database_kind():
    """Return SQLite only: who waits holds no connection."""
    return "sqlite"


@pytest.fixture
def options():
    """Return an option that would let all threads wait."""
    return {"BERTH__CHANGES_WAITS": "100"}


@pytest.fixture
def service(database_url, options):
    """Yield a service with two workers."""
    with running(database_url, workers=2, threads=THREADS, **options) as service:
        yield service


def position(service):
    answer = service.get(PATH)
    assert answer.status == 200, answer
    return answer.body["position"]


class Waiting:
    """A request that waits, on a connection of its own."""

    def __init__(self, service, after, seconds=30):
        self.connection = service.connect()
        url = f"{PATH}?after={after}&wait={seconds}"
        self.connection.request("GET", url, headers=service.headers())

    def is_answered(self):
        """Return whether some of the response is there, without waiting."""
        self.connection.sock.setblocking(False)
        try:
            return self.connection.sock.recv(1, 2) is not None  # MSG_PEEK
        except BlockingIOError:
            return False
        finally:
            self.connection.sock.settimeout(PATIENCE)

    def answer(self):
        response = self.connection.getresponse()
        return response.status, json.loads(response.read())

    def close(self):
        self.connection.close()


@contextlib.contextmanager
def many_waiting(service, count):
    """Yield requests of which so many wait as may wait; the others were refused."""
    after = position(service)
    waits = [Waiting(service, after) for _ in range(count)]
    try:
        yield waits
    finally:
        for wait in waits:
            wait.close()


def waiting(waits):
    return [wait for wait in waits if not wait.is_answered()]


def test_an_ordinary_request_is_answered_while_all_that_may_wait_do(service):
    with many_waiting(service, 2 * THREADS * 3) as waits:
        eventually(lambda: len(waiting(waits)) <= 2 * WAITS, service.said)
        for number in range(20):
            assert service.get("/resource_providers").status == 200
            if number % 5 == 0:
                assert service.get(PATH).status == 200
        still = waiting(waits)
        assert still
        refused = [wait.answer() for wait in waits if wait not in still]
        assert {status for status, _ in refused} == {503}
        codes = {body["errors"][0]["code"] for _, body in refused}
        assert codes == {"berth.too_many_waits"}
        created = service.post("/resource_providers", {"name": "host"})
        assert created.status == 200
        for wait in still:
            status, body = wait.answer()
            assert (status, body["providers"]) == (200, [created.body["uuid"]])


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_stop_or_a_reload_ends_waits_at_once(service, sent):
    before = service.ready_workers()
    with many_waiting(service, 1) as waits:
        time.sleep(1)
        assert waiting(waits) == waits
        service.process.send_signal(sent)
        status, body = waits[0].answer()
        assert (status, body["providers"], body["complete"]) == (200, [], True)
    if sent == signal.SIGTERM:
        assert service.process.wait(20) == 0
    else:
        eventually(
            lambda: len(service.ready_workers()) == 2 and not service.ready_workers() & before,
            service.said,
        )
        assert service.get(PATH).status == 200


@pytest.mark.parametrize("on_tcp", [False, True])
def test_a_client_that_disconnects_frees_its_place(database_url, on_tcp):
    port = free_port() if on_tcp else None
    with running(database_url, workers=1, threads=THREADS, port=port) as service:
        after = position(service)
        for _ in range(2):
            waits = [Waiting(service, after) for _ in range(WAITS)]
            one_more = []

            def is_full(after=after, one_more=one_more, waits=waits):
                one_more[:] = [service.get(f"{PATH}?after={after}&wait=0")]
                # the place of a client that left, or of the last look, may not be free at first
                for number, wait in enumerate(waits):
                    if wait.is_answered():
                        wait.close()
                        waits[number] = Waiting(service, after)
                wait = Waiting(service, after, 1)
                status, _ = wait.answer()
                wait.close()
                return status == 503 and waiting(waits) == waits

            eventually(is_full, service.said)
            for wait in waits:
                wait.close()

            def has_place(after=after):
                wait = Waiting(service, after, 1)
                status, _ = wait.answer()
                wait.close()
                return status == 200

            eventually(has_place, service.said)


def test_a_worker_with_one_thread_never_waits(database_url, options):
    with running(database_url, workers=1, threads=1, **options) as service:
        after = position(service)
        # one after the other would take longer than a client of this test is patient
        answers = [Waiting(service, after) for _ in range(3)]
        assert [wait.answer()[0] for wait in answers] == [200] * 3
        for wait in answers:
            wait.close()


def test_a_killed_worker_leaves_nothing_behind(service):
    with many_waiting(service, 1) as waits:
        time.sleep(1)
        for pid in service.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with pytest.raises((OSError, http.client.HTTPException)):
            waits[0].answer()
    service.wait_until_served()
    assert service.get(f"{PATH}?after={position(service)}&wait=1").status == 200
