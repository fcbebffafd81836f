"""Requests that wait for changes, on real workers: they starve nobody, and end with the worker."""

import contextlib
import json
import os
import signal

import pytest

from tests.faults.forking import running
from tests.faults.running import NO_ANSWER, eventually
from tests.functional.placement.serving.programs import free_port
from tests.patience import PATIENCE

THREADS = 4
#: how many requests of one worker may wait: half of its threads
WAITS = THREADS // 2
PATH = "/berth/v1/changes"
#: the longest waits last longer than any test, so that none has ended because time is up
NEVER_ENDING = f"""
from placement.extensions.changes import handler
waited = handler._waited
def longer(call, cursor, seconds):
    return waited(call, cursor, {2 * PATIENCE} if seconds == 30 else seconds)
handler._waited = longer
"""


@pytest.fixture
def database_kind():
    """Return SQLite only: who waits holds no connection."""
    return "sqlite"


@pytest.fixture
def options():
    """Return an option that would let all threads wait, and code that lets none end by itself."""
    return {"BERTH__CHANGES_WAITS": "100", "code": NEVER_ENDING}


@pytest.fixture
def service(database_url, options):
    """Yield a service with two workers."""
    with running(database_url, workers=2, threads=THREADS, **options) as service:
        yield service


@pytest.fixture
def one_worker(database_url, options):
    """Yield a service with one worker, of which a test can say whether all its places are taken."""
    with running(database_url, workers=1, threads=THREADS, **options) as service:
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


@contextlib.contextmanager
def all_waiting(service):
    """Yield requests that wait in a worker, as many as may."""
    after = position(service)
    waits = [Waiting(service, after) for _ in range(WAITS)]

    def are_all():
        # the place of a client that left, or of the last look, may not be free at first
        for number, wait in enumerate(waits):
            if wait.is_answered():
                wait.close()
                waits[number] = Waiting(service, after)
        return looked(service, after) == 503 and waiting(waits) == waits

    try:
        eventually(are_all, service.said)
        yield waits
    finally:
        for wait in waits:
            wait.close()


def looked(service, after):
    """Return the status of one more request that waits, a second at most."""
    wait = Waiting(service, after, 1)
    try:
        return wait.answer()[0]
    finally:
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
def test_a_stop_or_a_reload_ends_waits_at_once(one_worker, sent):
    before = one_worker.ready_workers()
    with all_waiting(one_worker) as waits:
        one_worker.process.send_signal(sent)
        for wait in waits:
            status, body = wait.answer()
            assert (status, body["providers"], body["complete"]) == (200, [], True)
    if sent == signal.SIGTERM:
        assert one_worker.process.wait(PATIENCE) == 0
    else:

        def is_replaced():
            now = one_worker.ready_workers()
            return now and not now & before

        eventually(is_replaced, one_worker.said)
        assert one_worker.get(PATH).status == 200


@pytest.mark.parametrize("on_tcp", [False, True])
def test_a_client_that_disconnects_frees_its_place(database_url, options, on_tcp):
    port = free_port() if on_tcp else None
    with running(database_url, workers=1, threads=THREADS, port=port, **options) as service:
        after = position(service)
        for _ in range(2):
            with all_waiting(service):
                pass
            eventually(lambda: looked(service, after) == 200, service.said)


def test_a_worker_with_one_thread_never_waits(database_url, options):
    with running(database_url, workers=1, threads=1, **options) as service:
        after = position(service)
        # one after the other would take longer than a client of this test is patient
        answers = [Waiting(service, after) for _ in range(3)]
        assert [wait.answer()[0] for wait in answers] == [200] * 3
        for wait in answers:
            wait.close()


def test_a_killed_worker_leaves_nothing_behind(one_worker):
    with all_waiting(one_worker) as waits:
        (killed,) = one_worker.workers()
        os.kill(killed, signal.SIGKILL)
        for wait in waits:
            with pytest.raises(NO_ANSWER):
                wait.answer()
    eventually(lambda: one_worker.ready_workers() - {killed}, one_worker.said)
    assert one_worker.get(f"{PATH}?after={position(one_worker)}&wait=1").status == 200
