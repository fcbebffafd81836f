"""A thread is used for a request, not for a connection, whatever clients do with connections."""

import contextlib
import json
import socket
import struct

import pytest

from tests.faults.forking import running
from tests.patience import PATIENCE

THREADS = 2
#: many more than threads; the benchmark `benchmarks/connections.py` has 2,000
CROWD = 300
JSON = (
    "X-Auth-Token: admin\r\nX-Roles: admin,service\r\nContent-Type: application/json\r\n"
    "OpenStack-API-Version: placement 1.39\r\n"
)


@pytest.fixture(scope="module")
def database_kind():
    """Return SQLite only: connections don't depend on the database."""
    return "sqlite"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('connections')}/placement.db"
    with running(url, workers=1, threads=THREADS) as service:
        yield service


@pytest.fixture
def connect(service):
    """Return a function that opens connections, which are closed after the test."""
    with contextlib.ExitStack() as stack:

        def connect(sent=b""):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.settimeout(PATIENCE)
            client.connect(service.path)
            client.sendall(sent)
            return client

        yield connect


def request(line="GET / HTTP/1.1", headers="", body=b""):
    return f"{line}\r\nHost: x\r\n{headers}\r\n".encode() + body


def chunked(body, headers=""):
    lines = f"{JSON}Transfer-Encoding: chunked\r\n{headers}"
    return request("POST /resource_providers HTTP/1.1", lines, body)


class Answer:
    """A response as received."""

    def __init__(self, head, body):
        self.line, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(self.line.split()[1])
        self.headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in lines)
        }
        self.body = body

    @property
    def detail(self):
        (error,) = json.loads(self.body)["errors"]
        assert (error["status"], error["request_id"]) == (
            self.status,
            self.headers["x-openstack-request-id"],
        )
        return error["detail"]


def read_answer(client, has_body=True):
    """Read the next response on a connection."""
    head, body = b"", b""
    while b"\r\n\r\n" not in head:
        part = client.recv(1)
        assert part, f"closed after {head!r}"
        head += part
    answer = Answer(head.removesuffix(b"\r\n\r\n"), b"")
    length = int(answer.headers.get("content-length", 0)) if has_body else 0
    while len(body) < length:
        part = client.recv(length - len(body))
        assert part, "closed in the body"
        body += part
    answer.body = body
    return answer


def is_closed(client):
    with contextlib.suppress(ConnectionResetError):
        return client.recv(1) == b""
    return True


SILENT = {
    "that say nothing": b"",
    "in the middle of the headers": b"GET / HTTP/1.1\r\nX-Endless: ",
    "in the middle of the body": request("POST /traits HTTP/1.1", "Content-Length: 9\r\n", b"1"),
    "in the middle of a chunk": chunked(b"ffff\r\n{"),
    "kept alive": request(),
}


@pytest.mark.parametrize("sent", SILENT.values(), ids=SILENT)
def test_requests_are_answered_while_many_connections_are_idle(service, connect, sent):
    for _ in range(CROWD):
        connect(sent)
    assert service.get("/").status == 200
    assert service.get("/resource_providers").status == 200


def test_clients_that_do_not_read_responses_block_no_thread(service, connect):
    """Each client requests more than the buffers of the system hold."""
    for _ in range(4 * THREADS):
        line = "GET /traits?name=startswith:HW HTTP/1.1"
        connect(request(line, JSON) * 200)
    assert service.get("/resource_providers").status == 200


def test_requests_in_a_row_are_answered_in_their_order(connect):
    client = connect(
        request() + request("GET /traits/CUSTOM_NONE HTTP/1.1", JSON) + request("PUT / HTTP/1.1")
    )
    assert [read_answer(client).status for _ in range(3)] == [200, 404, 405]


def test_a_client_that_disconnects_does_no_harm(service, connect):
    for sent in SILENT.values():
        client = connect(sent)
        # closes with a reset
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    assert service.get("/").status == 200


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_client_may_close_its_sending_half_before_it_reads_the_responses(connect, version):
    headers = f"{JSON}Connection: keep-alive\r\n"
    client = connect(request(f"GET /resource_providers HTTP/{version}", headers) * 3)
    client.shutdown(socket.SHUT_WR)
    assert [read_answer(client).status for _ in range(3)] == [200, 200, 200]
    assert is_closed(client)


@pytest.mark.parametrize("sent", [SILENT[name] for name in SILENT if name != "kept alive"])
def test_a_connection_that_ends_within_a_request_is_closed_at_once(connect, sent):
    client = connect(sent)
    client.shutdown(socket.SHUT_WR)
    assert is_closed(client)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_connection_is_kept_as_the_client_wants_it(connect, version):
    kept = connect(request(f"GET / HTTP/{version}", "Connection: keep-alive\r\n"))
    assert read_answer(kept).status == 200
    kept.sendall(request())
    assert read_answer(kept).status == 200
    ended = connect(request(f"GET / HTTP/{version}", "Connection: close\r\n"))
    assert (read_answer(ended).status, is_closed(ended)) == (200, True)


def test_head_has_no_body(connect):
    client = connect(request("HEAD / HTTP/1.1") + request())
    assert read_answer(client, has_body=False).status == 405
    assert read_answer(client).status == 200


def test_a_client_that_expects_100_continue_gets_it(connect):
    body = json.dumps({"name": "patient"}).encode()
    headers = f"{JSON}Expect: 100-continue\r\nContent-Length: {len(body)}\r\n"
    client = connect(request("POST /resource_providers HTTP/1.1", headers))
    assert read_answer(client, has_body=False).status == 100
    client.sendall(body)
    assert read_answer(client).status == 200


def test_without_a_body_there_is_no_100_continue(connect):
    assert read_answer(connect(request(headers="Expect: 100-continue\r\n"))).status == 200


def test_a_body_that_is_too_long_is_rejected_before_it_is_sent(connect):
    headers = f"{JSON}Expect: 100-continue\r\nContent-Length: {10**12}\r\n"
    client = connect(request("POST /resource_providers HTTP/1.1", headers))
    answer = read_answer(client)
    assert (answer.status, "max_body_size" in answer.detail) == (413, True)
    assert answer.headers["connection"] == "close"


UNREADABLE = {
    "a chunk's size": (chunked(b"zz\r\n{}\r\n0\r\n\r\n"), 400),
    "a chunk's end": (chunked(b"2\r\n{}xx0\r\n\r\n"), 400),
    "a chunk's size without end": (chunked(b"1" * 100_000), 400),
    "trailers without end": (chunked(b"0\r\n" + b"x" * 100_000), 400),
    "the length": (request("POST / HTTP/1.1", "Content-Length: zz\r\n"), 400),
    "a header": (request(headers="no colon\r\n"), 400),
    "a line break in a header": (request(headers="X-A: b\rX-B: c\r\n"), 400),
    "two ends of a body": (chunked(b"0\r\n\r\n", "Content-Length: 5\r\n"), 400),
    "two lengths": (request("POST / HTTP/1.1", "Content-Length: 0\r\nContent-Length: 5\r\n"), 400),
    "a length beyond numbers": (
        request("POST / HTTP/1.1", f"Content-Length: {'9' * 5000}\r\n"),
        400,
    ),
    "chunks in HTTP/1.0": (request("POST / HTTP/1.0", "Transfer-Encoding: chunked\r\n"), 400),
    "two hosts": (request(headers="Host: y\r\n"), 400),
    "half an address": (request("GET http://[::1 HTTP/1.1"), 400),
    "the first line": (b"nonsense\r\n\r\n", 400),
    "the method": (request("get / HTTP/1.1"), 400),
    "the headers' length": (request(headers=f"X-Long: {'x' * 100_000}\r\n"), 431),
    "the encoding": (request("POST / HTTP/1.1", "Transfer-Encoding: gzip\r\n"), 501),
}


@pytest.mark.parametrize(("sent", "status"), UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_request_gets_an_error_in_the_usual_form(connect, sent, status):
    client = connect(sent)
    answer = read_answer(client)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/json")
    assert answer.detail
    assert is_closed(client)


@pytest.mark.parametrize("path", ["/traits/a%2Fb", "/traits/%C3%A9", "/traits/%ff", "//traits"])
def test_unusual_paths_arrive_unchanged(connect, path):
    assert read_answer(connect(request(f"GET {path} HTTP/1.1", JSON))).status == 404


def test_a_client_can_not_pretend_to_be_a_proxy(connect):
    headers = f"{JSON}X-Forwarded-Host: evil.example\r\nForwarded: host=evil.example\r\n"
    path = "/resource_classes/CUSTOM_FORWARDED"
    answer = read_answer(connect(request(f"PUT {path} HTTP/1.1", headers)))
    assert (answer.status, answer.headers["location"]) == (
        201,
        "http://x/resource_classes/CUSTOM_FORWARDED",
    )
