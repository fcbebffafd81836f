"""What counting costs a request: the same requests with metrics and without, in turns.

    python -m benchmarks.metering [--requests N] [--rounds N] [--services N]

Requests go through the whole service without a socket. Of many rounds, the quickest one counts:
other programs of the machine only add to it. There are several services of each kind, and the
median of each kind counts: two equal services differ by some microseconds, by where their objects
happen to be in memory. Also timed are the counting alone, and the page of metrics of 32 workers.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from werkzeug.test import Client

from placement import app, config
from placement.metrics.meter import Meter
from placement.metrics.slots import Slots
from placement.monitoring.counted import Counted
from placement.monitoring.counting import Counting
from placement.monitoring.page import page

ADMIN = {"x-auth-token": "admin", "openstack-api-version": "placement 1.39"}
PATHS = ("/", "/resource_classes/VCPU", "/allocation_candidates?resources=VCPU:1")
WORKERS = 32
HOSTS = 10


def service(folder: Path, name: str, counting: Counting | None) -> app.Running:
    """Start a service with a database of its own."""
    return app.start(
        config.load(
            files=[],
            environ=False,
            overrides={
                ("placement_database", "connection"): f"sqlite:///{folder}/{name}.db",
                ("placement_database", "sync_on_startup"): True,
                ("api", "auth_strategy"): "noauth2",
            },
        ),
        counting=counting,
    )


def fill(client: Client) -> None:
    """Add the hosts that searches find."""
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 64}}}
    for number in range(HOSTS):
        made: Any = client.post(
            "/resource_providers", json={"name": f"host{number}"}, headers=ADMIN
        ).json
        path = f"/resource_providers/{made['uuid']}/inventories"
        assert client.put(path, json=body, headers=ADMIN).status_code == 200


def seconds(client: Client, path: str, requests: int) -> float:
    """Return the time of a request."""
    begun = time.perf_counter()
    for _ in range(requests):
        assert client.get(path, headers=ADMIN).status_code == 200
    return (time.perf_counter() - begun) / requests


def compare(clients: list[Client], path: str, requests: int, rounds: int) -> list[float]:
    """Return the shortest time of a request in microseconds, of each client."""
    found: list[list[float]] = [[] for _ in clients]
    for number in range(rounds):
        turns = list(zip(clients, found, strict=True))
        for client, times in turns if number % 2 else reversed(turns):
            times.append(seconds(client, path, requests))
    return [min(times) * 1e6 for times in found]


def alone(meter: Meter, times: int = 200_000) -> float:
    """Return the microseconds of counting a request with three statements."""
    begun = time.perf_counter()
    for _ in range(times):
        meter.began()
        meter.answered("GET", "/traits", "200", 0.003, 3, None, None)
    return (time.perf_counter() - begun) / times * 1e6


def main(argv: list[str] | None = None) -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description="What counting costs a request.")
    options.add_argument("--requests", type=int, default=200)
    options.add_argument("--rounds", type=int, default=21)
    options.add_argument("--services", type=int, default=5)
    given = options.parse_args(argv)
    layout = app.metrics_layout()
    slots = Slots.anonymous(layout.width)
    counting = Counting.shared(layout, slots)
    with tempfile.TemporaryDirectory() as folder:
        plain = [service(Path(folder), f"plain{n}", None) for n in range(given.services)]
        counted = [service(Path(folder), f"counted{n}", counting) for n in range(given.services)]
        # in turns: one that counts stands beside one that doesn't
        running = [one for pair in zip(plain, counted, strict=True) for one in pair]
        clients = [Client(one.application) for one in running]
        for client in clients:
            fill(client)
        for path in PATHS:
            times = compare(clients, path, given.requests, given.rounds)
            without, counting_too = times[0::2], times[1::2]
            cost = statistics.median(counting_too) - statistics.median(without)
            print(
                f"{path:45} {statistics.median(without):7.1f} us without "
                f"({min(without):.1f} to {max(without):.1f}), with {cost:+.1f} us"
            )
        for one in running:
            one.close()
    print(f"{'counting alone, with three statements':45} {alone(counting.meter):8.1f} us")
    others = [Meter(layout, slots) for _ in range(WORKERS - 1)]
    for meter in others:
        for number in range(500):
            method = ("GET", "PUT", "POST", "DELETE")[number % 4]
            route = layout.families.requests.labels[1][1][number % 25]
            meter.began()
            meter.answered(
                method, route, ("200", "204", "404", "409")[number % 3], 0.01, 1, None, None
            )
    shown: Any = page([Counted(counting.meter, slots, of_process=False)])
    pages = []
    for _ in range(given.rounds):
        begun = time.perf_counter()
        shown({"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics"}, lambda *_: None)
        pages.append(time.perf_counter() - begun)
    print(f"{f'the page of {WORKERS} workers':45} {statistics.median(pages) * 1e3:8.1f} ms")


if __name__ == "__main__":
    main()
