"""contrib/haproxy: two hosts behind HAProxy, and one of them goes away under requests."""

import contextlib
import csv
import functools
import os
import re
import signal
import socket
import uuid

import pytest
import requests

from tests.contrib.certificate import made_certificate
from tests.contrib.files import adapted
from tests.contrib.load import Load
from tests.functional.placement.serving.conftest import starting
from tests.functional.placement.serving.programs import (
    ADMIN,
    FORKED,
    free_port,
    needed,
    read_all,
    wait_until,
)
from tests.patience import PATIENCE

FILE = "haproxy/placement-api.cfg"
#: what Debian's haproxy.cfg has in its section `global`
FRAME = """
global
    log stderr format raw local0
    stats socket {control} level admin

"""


class Host:
    """A host with the service; it can be stopped, and starts again on the same port."""

    def __init__(self, start, drained):
        self.port = free_port()
        self._start = start
        self.drained = drained
        self.start()

    def start(self):
        command = [FORKED, "--port", str(self.port)]
        options = {
            "OS_OSLO_MIDDLEWARE__ENABLE_PROXY_HEADERS_PARSING": "true",
            "OS_HEALTHCHECK__BACKENDS": "disable_by_file",
            "OS_HEALTHCHECK__DISABLE_BY_FILE_PATH": str(self.drained),
        }
        self.server = self._start(command, f"http://127.0.0.1:{self.port}", **options)

    def used(self):
        """Return how many lists of providers the host has answered."""
        return self.server.said().count('"GET /resource_providers" status: 200')

    def signal(self, which):
        for pid in (self.server.process.pid, *self.server.workers()):
            os.kill(int(pid), which)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    """Return two services with one database."""
    database = tmp_path_factory.mktemp("database")
    with contextlib.ExitStack() as stack:
        found = []
        for name in ("one", "two"):
            start = stack.enter_context(starting(tmp_path_factory.mktemp(name)))
            url = f"sqlite:///{database}/placement.db"
            start = functools.partial(start, OS_PLACEMENT_DATABASE__CONNECTION=url)
            found.append(Host(start, database / f"{name}.drained"))
        yield found


@pytest.fixture(scope="module")
def balanced(start_for_module, hosts, tmp_path_factory):
    """Return the hosts as clients reach them."""
    folder = tmp_path_factory.mktemp("haproxy")
    certificate, key = made_certificate(folder)
    pem = folder / "placement.pem"
    pem.write_bytes(certificate.read_bytes() + key.read_bytes())
    port = free_port()
    ours = {
        "bind :8780": f"bind 127.0.0.1:{port}",
        "/etc/haproxy/placement.pem": str(pem),
        "192.0.2.11:8778": f"127.0.0.1:{hosts[0].port}",
        "192.0.2.12:8778": f"127.0.0.1:{hosts[1].port}",
        "inter 2s": "inter 200ms",
    }
    control = folder / "haproxy.sock"
    path = folder / "haproxy.cfg"
    path.write_text(FRAME.format(control=control) + adapted(FILE, ours))
    command = [needed("haproxy", "haproxy"), "-db", "-f", str(path)]
    server = start_for_module(command, f"https://localhost:{port}", verify=str(certificate))
    server.control = str(control)
    return server


class Client:
    """A client that keeps its connection, as the sessions of services do."""

    def __init__(self, server):
        self._server = server
        self._session = requests.Session()

    def get(self, number):
        return self._send("GET", "/resource_providers")

    def put(self, number):
        return self._send("PUT", f"/traits/CUSTOM_{uuid.uuid4().hex.upper()}")

    def _send(self, method, path):
        url, verify = self._server.url + path, self._server.verify
        return self._session.request(method, url, headers=ADMIN, timeout=PATIENCE, verify=verify)


def answers_while(balanced, happens):
    """Call `happens()` under requests; return what reads were answered, and what writes."""
    with (
        Load(Client(balanced).get, 1) as reads,
        Load(Client(balanced).put, 1) as writes,
    ):
        loads = (reads, writes)
        wait_until(lambda: min(load.sent() for load in loads) > 10, balanced.said)
        happens()
        enough = [load.sent() + 20 for load in loads]
        wait_until(
            lambda: all(load.sent() > n for load, n in zip(loads, enough, strict=True)),
            balanced.said,
        )
    return reads.answers, writes.answers


@pytest.mark.parametrize("path", ["/metrics", "/metrics/providers"])
def test_its_clients_read_no_metrics(balanced, hosts, path):
    assert hosts[0].server.request("GET", path).status_code == 200
    # HAProxy must not take these away, as if they were of this connection alone
    hidden = ", ".join(["close", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"])
    for headers in ({}, {"connection": hidden}, ADMIN):
        assert balanced.request("GET", path, headers=headers).status_code == 403


def test_both_hosts_get_requests(balanced, hosts):
    def all_used():
        balanced.request("GET", "/resource_providers")
        return all(host.used() for host in hosts)

    wait_until(all_used, balanced.said)


def test_locations_have_the_outside_address_whatever_the_client_pretends(balanced):
    forged = ADMIN | {"x-forwarded-host": "evil.example", "forwarded": "host=evil.example"}
    forged |= {"x-forwarded-prefix": "/evil", "x-forwarded-proto": "http"}
    answer = balanced.request("PUT", "/resource_classes/CUSTOM_A", headers=forged)
    assert answer.headers["location"] == f"{balanced.url}/resource_classes/CUSTOM_A"


def test_a_host_that_is_drained_and_stopped_loses_no_request(balanced, hosts):
    def take_out():
        tell(balanced, "set server placement_hosts/one state drain")
        wait_until(lambda: sessions_of(balanced, "one") == "0", balanced.said)
        assert hosts[0].server.stop() == 0

    reads, writes = answers_while(balanced, take_out)
    hosts[0].start()
    tell(balanced, "set server placement_hosts/one state ready")
    assert (set(reads), set(writes)) == ({200}, {201})


def test_a_host_that_is_killed_loses_only_what_it_had_begun(balanced, hosts):
    reads, writes = answers_while(balanced, hosts[0].server.kill)
    hosts[0].start()
    # one client reads: at most its answer was cut off
    assert reads.total() - reads[200] == reads["ChunkedEncodingError"] <= 1
    # One client writes: whether its write in progress was done is unknown, and it isn't sent again,
    # because a second attempt would be answered 204.
    assert writes.total() - writes[201] <= 1
    assert writes[204] == 0


def test_a_host_that_hangs_gets_no_requests_until_it_answers(balanced, hosts):
    hosts[0].signal(signal.SIGSTOP)
    try:
        wait_until(lambda: state_of(balanced, "one") == "DOWN", balanced.said)
        before = hosts[1].used()
        found = {balanced.request("GET", "/resource_providers").status_code for _ in range(10)}
        assert (found, hosts[1].used()) == ({200}, before + 10)
    finally:
        hosts[0].signal(signal.SIGCONT)
    wait_until(lambda: state_of(balanced, "one") == "UP", balanced.said)


def test_a_host_with_the_file_of_a_drained_node_gets_no_requests(balanced, hosts):
    def drain():
        hosts[0].drained.touch()
        wait_until(lambda: state_of(balanced, "one") == "DOWN", balanced.said)

    reads, writes = answers_while(balanced, drain)
    hosts[0].drained.unlink()
    wait_until(lambda: state_of(balanced, "one") == "UP", balanced.said)
    assert (set(reads), set(writes)) == ({200}, {201})


def tell(balanced, command):
    """Send a command to HAProxy's socket; return the answer."""
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(balanced.control)
        control.sendall(command.encode() + b"\n")
        return read_all(control).decode()


def sessions_of(balanced, name):
    """Return how many requests HAProxy has on the host."""
    rows = csv.DictReader(tell(balanced, "show stat").removeprefix("# ").splitlines())
    (found,) = [row["scur"] for row in rows if row["svname"] == name]
    return found


def state_of(balanced, name):
    """Return the state of the host that HAProxy reported last."""
    found = re.findall(rf"placement_hosts/{name} is (UP|DOWN)", balanced.said())
    return found[-1] if found else None
