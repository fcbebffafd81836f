"""Clients that send slowly or without end neither block others nor fill the memory."""

import concurrent.futures
import contextlib
import json
import sqlite3
import threading
import time
import uuid

import pytest

from tests.faults.forking import running
from tests.faults.running import NO_ANSWER
from tests.faults.test_connections import is_closed

THREADS = 2
#: seconds in which a client must send a request
PATIENT = 2
LONGEST_BODY = 10_000


@pytest.fixture(scope="module")
def database_kind():
    """Return SQLite only: the database isn't used before a request is complete."""
    return "sqlite"


@pytest.fixture(scope="module")
def service(module_database_url):
    """Yield a service that the module's tests share: what is rude to it leaves nothing behind."""
    options = {"BERTH__MAX_BODY_SIZE": str(LONGEST_BODY)}
    arguments = [f"--client-timeout={PATIENT}"]
    with running(
        module_database_url, workers=1, threads=THREADS, arguments=arguments, **options
    ) as service:
        yield service


@pytest.fixture
def small_spool(database_url):
    """Yield a service that buffers one MiB for its clients, and accepts bodies nearly as long."""
    options = {"BERTH__MAX_BODY_SIZE": "900000"}
    arguments = ["--spool-size=1"]
    with running(
        database_url, workers=1, threads=THREADS, arguments=arguments, **options
    ) as service:
        yield service


def head(*lines):
    return "\r\n".join(["POST /resource_providers HTTP/1.1", "Host: x", *lines, ""]).encode()


OPENINGS = {
    "in the headers": head("X-Endless: "),
    "in the body": head(
        "X-Auth-Token: admin", "Content-Type: application/json", "Content-Length: 9999", "", ""
    ),
}


@contextlib.contextmanager
def dripping(service, opening, count):
    """Start clients that have begun a request and go on sending a byte now and then."""
    stop = threading.Event()

    def drip(sock):
        with contextlib.suppress(OSError):
            while not stop.wait(0.1):
                sock.sendall(b" ")

    with contextlib.ExitStack() as stack:
        threads = []
        for _ in range(count):
            connection = stack.enter_context(contextlib.closing(service.connect()))
            connection.connect()
            connection.sock.sendall(opening)
            threads.append(threading.Thread(target=drip, args=(connection.sock,)))
            threads[-1].start()
        try:
            yield threads
        finally:
            stop.set()
            for thread in threads:
                thread.join()


@pytest.mark.parametrize("opening", OPENINGS.values(), ids=OPENINGS)
def test_slow_clients_are_disconnected_and_others_are_served(service, opening):
    with dripping(service, opening, 2 * THREADS) as slow:
        assert service.get("/resource_providers").status == 200
        # each client finds its connection closed after a while
        for thread in slow:
            thread.join(service.patience)
        assert not any(thread.is_alive() for thread in slow)


def test_the_size_of_all_incomplete_bodies_together_is_limited(small_spool):
    """The service closes the connection that it has waited for longest, and serves the latest."""
    opening = head("Content-Type: application/json", "Content-Length: 900000", "", "")
    with contextlib.ExitStack() as stack:
        begun = []
        for _ in range(4):
            connection = stack.enter_context(contextlib.closing(small_spool.connect()))
            connection.connect()
            connection.sock.sendall(opening + b" " * 800_000)
            begun.append(connection.sock)
        for client in begun[:3]:
            assert is_closed(client)
        assert small_spool.post("/resource_providers", {"name": "in time"}).status == 200
        begun[3].sendall(b" " * 100_000)
        assert begun[3].recv(20).startswith(b"HTTP/1.1 401 ")


def test_a_client_that_does_not_read_its_response_is_disconnected(service):
    root = {"name": "root", "uuid": str(uuid.uuid4())}
    assert service.post("/resource_providers", root).status == 200
    for batch in range(24):
        children = {
            str(uuid.uuid4()): {
                "generation": None,
                "name": f"{batch} {number:0190}",
                "parent_provider_uuid": root["uuid"],
            }
            for number in range(25)
        }
        path = f"/berth/v1/provider_trees/{root['uuid']}"
        assert service.put(path, {"providers": children}).status == 200
    with contextlib.ExitStack() as stack:
        for _ in range(THREADS):
            connection = stack.enter_context(contextlib.closing(service.connect()))
            connection.request("GET", "/resource_providers", headers=service.headers())
        assert service.get("/").status == 200


def test_a_request_that_takes_long_is_answered(service, module_database_url):
    """The service waits longer for the database than for any client."""
    file = module_database_url.removeprefix("sqlite:///")
    with (
        concurrent.futures.ThreadPoolExecutor() as beside,
        contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        answer = beside.submit(service.put, "/traits/CUSTOM_LATE")
        time.sleep(PATIENT + 2)
        assert not answer.done()
        other.execute("ROLLBACK")
        assert answer.result().status == 201


def test_a_body_whose_content_length_is_too_long_is_not_read(service):
    with contextlib.closing(service.connect()) as connection:
        connection.putrequest("POST", "/resource_providers")
        for name, value in service.headers().items():
            connection.putheader(name, value)
        connection.putheader("content-type", "application/json")
        connection.putheader("content-length", str(10**12))
        connection.endheaders()
        response = connection.getresponse()
        (error,) = json.loads(response.read())["errors"]
    assert (response.status, error["title"]) == (413, "Request Entity Too Large")
    assert str(LONGEST_BODY) in error["detail"]


def test_a_body_without_end_is_not_read_to_its_end(service):
    sent = [0]

    def endless():
        while True:
            sent[0] += 1000
            yield b" " * 1000

    with contextlib.closing(service.connect()) as connection:
        headers = service.headers() | {"content-type": "application/json"}
        with contextlib.suppress(*NO_ANSWER):
            connection.request("POST", "/resource_providers", endless(), headers)
    # the rest is in the buffers between the two
    assert sent[0] < LONGEST_BODY + 2_000_000
    assert service.get("/resource_providers").status == 200


def create(service, sent, length):
    """Create a provider with a body so long; return the status and the body of the answer."""
    text = json.dumps({"name": str(uuid.uuid4())}).ljust(length)
    with contextlib.closing(service.connect()) as connection:
        headers = service.headers() | {"content-type": "application/json"}
        connection.request("POST", "/resource_providers", sent(text), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def in_parts(body):
    """Return chunks, so that the length isn't known in advance."""
    yield body


@pytest.mark.parametrize("sent", [str.encode, lambda body: in_parts(body.encode())])
@pytest.mark.parametrize(("length", "status"), [(LONGEST_BODY, 200), (LONGEST_BODY + 1, 413)])
def test_a_body_may_be_as_long_as_allowed_and_no_longer(service, sent, length, status):
    told, found = create(service, sent, length)
    assert told == status
    if status == 413:
        assert str(LONGEST_BODY) in found["errors"][0]["detail"]


#: the disk for temporary files is full
NO_ROOM = """
import errno
from waitress.buffers import TempfileBasedBuffer
def full(*arguments, **more):
    raise OSError(errno.ENOSPC, "No space left on device")
TempfileBasedBuffer.newfile = full
"""


@pytest.mark.parametrize("sent", [str.encode, lambda body: in_parts(body.encode())])
def test_a_body_for_which_the_disk_has_no_room_is_refused_with_a_sentence(database_url, sent):
    with running(database_url, workers=1, code=NO_ROOM) as service:
        for length, status in ((1_000_000, 507), (1_000, 200), (1_000_000, 507)):
            told, found = create(service, sent, length)
            assert told == status, found
            if status == 507:
                assert "temporary file: No space left on device" in found["errors"][0]["detail"]
        assert "uncaptured" not in service.said()
        assert "Traceback" not in service.said()
