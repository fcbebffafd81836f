"""A proxy on loopback that lets requests through to placement, or does them harm."""

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from tests.functional.conftest import RecordingAdapter

#: the request never arrives
DROPPED = "dropped"
#: it arrives, and the answer gets lost
ANSWER_LOST = "answer lost"
#: the connection breaks in the middle of the answer
HALF_AN_ANSWER = "half an answer"
#: something answers that isn't placement
GARBAGE = "garbage"
#: no answer as long as anybody waits
SILENT = "silent"
SERVER_ERROR = 500
UNAVAILABLE = 503
UNAUTHORIZED = 401

FORWARDED = ("content-type", "x-auth-token", "x-roles", "openstack-api-version", "accept")


class FaultProxy:
    """Serves on a port of its own. `fault(number, method, path)` says what to do with a request:
    None, a status to answer with, or one of the names above. Numbers count from 0 after `reset`.
    """

    def __init__(self, http, upstream):
        self.http = http
        self.upstream = upstream
        self.fault = lambda number, method, path: None
        self.count = 0
        self.closing = threading.Event()
        self._clients = contextlib.ExitStack()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01])
        self._thread.start()

    def reset(self, fault=None):
        self.fault = fault or (lambda number, method, path: None)
        self.count = 0

    def close(self):
        self.closing.set()
        # each connection that a client keeps has a thread here
        self._clients.close()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def adapter(self, seconds=60):
        session = Session(auth=Token(self.url, "admin"), timeout=seconds)
        self._clients.callback(_hang_up, session.session)
        return RecordingAdapter(
            session,
            service_type="placement",
            raise_exc=False,
            additional_headers={"x-roles": "admin,service"},
        )

    def _forward(self, method, path, headers, body):
        kept = {name: value for name, value in headers.items() if name.lower() in FORWARDED}
        with self._lock:
            return self.http.request(method, self.upstream + path, headers=kept, data=body)

    def _handler(proxy):  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # An answer is sent as a whole. In two parts, the second one waits until the client's
            # machine has confirmed the first one, which it puts off.
            wbufsize = -1

            def handle_one(self):
                with proxy._lock:
                    number = proxy.count
                    proxy.count += 1
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
                fault = proxy.fault(number, self.command, self.path)
                if fault == DROPPED:
                    self.close_connection = True
                elif fault == SILENT:
                    proxy.closing.wait()
                    self.close_connection = True
                elif isinstance(fault, int):
                    self.answer(fault, "application/json", b'{"errors": []}')
                elif fault == GARBAGE:
                    self.answer(200, "text/html", b"<html>Welcome to the hotel's network</html>")
                else:
                    self.pass_on(fault, body)

            def pass_on(self, fault, body):
                response = proxy._forward(self.command, self.path, self.headers, body)
                if fault == ANSWER_LOST:
                    self.close_connection = True
                    return
                content, kind = response.content, response.headers.get("content-type", "")
                self.answer(response.status_code, kind, content, half=fault == HALF_AN_ANSWER)

            def answer(self, status, kind, content, half=False):
                self.send_response(status)
                if kind:
                    self.send_header("Content-Type", kind)
                if status != 204:
                    self.send_header("Content-Length", str(len(content) + (100 if half else 0)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if half else content)
                self.close_connection = self.close_connection or half

            do_GET = do_PUT = do_POST = do_DELETE = handle_one  # noqa: N815

            def log_message(self, *args):
                """Log nothing: the output belongs to the tests."""

        return Handler


def _hang_up(client):
    """End the connections that a client keeps; it itself leaves them to what errors refer to."""
    for adapter in client.adapters.values():
        pools = adapter.poolmanager.pools
        for pool in map(pools.get, pools.keys()):
            pool.close()
    client.close()
