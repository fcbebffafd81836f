"""What counting costs a request: the same requests counted and not counted, in turns.

    python -m benchmarks.metering [--requests N] [--rounds N]

Requests go through the whole service without a socket. One service answers all of them, with its
meter and without: two equal services differ by some microseconds, by where their objects happen to
be in memory. A round asks without, with and without the meter again; of each third the quicker half
counts, because other programs of the machine only add to a request. The cost is the median of the
rounds. The difference of the two thirds without the meter says how far to trust it. Also timed are
the counting alone, and the page of metrics of 32 workers.
"""

import argparse
import contextlib
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from werkzeug.test import Client, EnvironBuilder

from placement import app, config
from placement.extensions.monitoring.counted import Counted
from placement.extensions.monitoring.counting import Counting
from placement.extensions.monitoring.page import page
from placement.http.request_log import RequestLog
from placement.metrics.meter import Meter
from placement.metrics.slots import Slots

ADMIN = {"x-auth-token": "admin", "openstack-api-version": "placement 1.39"}
PATHS = ("/", "/resource_classes/VCPU", "/allocation_candidates?resources=VCPU:1")
WORKERS = 32
HOSTS = 10


def service(folder: Path, counting: Counting) -> app.Running:
    """Start a service that counts."""
    return app.start(
        config.load(
            files=[],
            environ=False,
            overrides={
                ("placement_database", "connection"): f"sqlite:///{folder}/placement.db",
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


def request_log(application: Any) -> RequestLog:
    """Return the part of a service that has its requests counted."""
    while not isinstance(application, RequestLog):
        application = application.application
    return application


def environ(path: str) -> dict[str, Any]:
    """Return the request for a path."""
    path, _, query = path.partition("?")
    return EnvironBuilder(path, query_string=query, headers=[*ADMIN.items()]).get_environ()


def microseconds(application: Any, request: dict[str, Any], requests: int) -> float:
    """Return the mean time of the quicker half of the requests."""
    times = []
    statuses = set()
    for _ in range(requests):
        begun = time.perf_counter()
        answer = application(dict(request), lambda status, *_: statuses.add(status))
        for _part in answer:
            pass
        times.append(time.perf_counter() - begun)
        if hasattr(answer, "close"):
            answer.close()
    assert statuses == {"200 OK"}, statuses
    return statistics.mean(sorted(times)[: requests // 2]) * 1e6


class MeterCost(NamedTuple):
    """Microseconds of a request: without the meter, of the meter, and of what isn't the meter."""

    without: float
    counting: float
    error: float


def compare(application: Any, path: str, requests: int, rounds: int) -> MeterCost:
    """Return what the meter costs a request for a path."""
    log = request_log(application)
    meter, request = log.meter, environ(path)
    found = []
    microseconds(application, request, requests)
    for number in range(rounds):
        turns: list[Meter | None] = [None, meter, None]
        times = []
        for log.meter in turns:
            times.append(microseconds(application, request, requests))
        before, counted, after = times
        first, last = (before, after) if number % 2 else (after, before)
        found.append(MeterCost((before + after) / 2, counted - (before + after) / 2, first - last))
    log.meter = meter
    return MeterCost(*map(statistics.median, zip(*found, strict=True)))


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
    options.add_argument("--rounds", type=int, default=60)
    given = options.parse_args(argv)
    layout = app.metrics_layout()
    slots = Slots.anonymous(layout.width)
    counting = Counting.shared(layout, slots)
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(service(Path(folder), counting)) as running,
    ):
        fill(Client(running.application))
        for path in PATHS:
            cost = compare(running.application, path, given.requests, given.rounds)
            print(
                f"{path:45} {cost.without:7.1f} us without, with {cost.counting:+.1f} us "
                f"(without, twice: {cost.error:+.1f})"
            )
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
