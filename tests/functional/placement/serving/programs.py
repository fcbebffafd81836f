"""Servers in separate processes: start them, send requests, reload and stop them."""

import contextlib
import errno
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sysconfig
import time
from pathlib import Path

import pytest
import requests

from tests.faults.forking import Forked, Start
from tests.patience import PATIENCE

#: stands for the program `placement-api`, forked from a process that has imported it: a third of a
#: start. Tests of the program itself, or of what it imports, start an interpreter
FORKED = "placement-api (forked)"
#: below those that Linux gives to clients, and to servers that ask for any
PORTS = range(20_000, 32_768)
ADMIN = {"x-auth-token": "admin", "openstack-api-version": "placement 1.39"}


def needed(program, package):
    """Return the program's path. Without the program, skip the test; in CI, fail."""
    found = shutil.which(program, path=f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}")
    if found is None:
        reason = f"NOT TESTED WITH {program.upper()}: install {package}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return found


def free_port(host="127.0.0.1"):
    """Return a port for a server that is started later.

    It is none of those that the system gives to whoever wants any, in all processes of the machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    while True:
        # not by `random`: the tests of all workers begin with one seed
        port = secrets.choice(PORTS)
        try:
            with socket.create_server((host, port), family=family):
                return port
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise


def wait_until(happened, why, patience=PATIENCE):
    """Return the first true value of `happened()`; after `patience` seconds, fail with `why()`."""
    end = time.monotonic() + patience
    while True:
        value = happened()
        if value:
            return value
        assert time.monotonic() < end, why()
        time.sleep(0.05)


class Server:
    """A running server.

    :param url: `http://host:port` and the mount point
    """

    def __init__(self, command, folder, environ, url, verify=True):
        self.url = url
        self.verify = verify
        self.log = folder / f"{Path(command[0]).name}.log"
        if command[0] == FORKED:
            start = Start([*map(str, command[1:])], environ, str(folder), str(self.log))
            self.process: Forked | subprocess.Popen[bytes] = Forked(start)
            return
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def said(self):
        return self.log.read_text(errors="replace")

    def wait_until(self, ready, patience=PATIENCE):
        """Wait for `ready()`, by default for a response; fail if the server ends first."""

        def running():
            assert self.process.poll() is None, self.said()
            return (ready or self._answers)()

        wait_until(running, self.said, patience)
        return self

    def _answers(self):
        try:
            return requests.get(f"{self.url}/", timeout=PATIENCE, verify=self.verify).ok
        except requests.ConnectionError:
            return False

    def request(self, method, path, **options):
        options.setdefault("headers", ADMIN)
        return requests.request(
            method, self.url + path, timeout=PATIENCE, verify=self.verify, **options
        )

    def workers(self):
        """Return the process ids of the server's children."""
        pid = self.process.pid
        return set(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())

    def stop(self, how=signal.SIGTERM):
        """Stop the server; return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(PATIENCE)

    def kill(self):
        """Kill the server and its workers."""
        if self.process.poll() is None:
            workers = self.workers()
            self.process.kill()
            for worker in workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(worker), signal.SIGKILL)
        self.process.wait()


class SlowClient:
    """A client that creates a provider, but delays the end of the request."""

    def __init__(self, host, port, name):
        body = b'{"name": "%s"}' % name.encode()
        self._socket = socket.create_connection((host, port), timeout=PATIENCE)
        head = (
            "POST /resource_providers HTTP/1.1\r\nHost: placement.test\r\nX-Auth-Token: admin\r\n"
            "OpenStack-API-Version: placement 1.39\r\nContent-Type: application/json\r\n"
            f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._socket.sendall(head.encode() + body[:-1])
        self._rest = body[-1:]

    def finish(self):
        """Send the rest of the request; return the first line of the response."""
        self._socket.sendall(self._rest)
        answer = read_all(self._socket)
        self._socket.close()
        return answer.split(b"\r\n", 1)[0].decode()


def read_all(connection):
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)
