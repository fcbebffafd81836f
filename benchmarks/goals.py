"""`python -m benchmarks.goals`: how many times less requests cost than the reference's, twice.

*Whole*: gunicorn's sync worker, a new connection for each request, rows drawn at random. *In
process*: the application is called in a loop, always for the same few rows. Both count the
processor time of the service and of its database server. Services take turns for each row, so that
all run under the same load; the cheapest of some rounds counts. `--reference` is the interpreter of
an environment with openstack-placement and gunicorn.
"""

import argparse
import collections
import contextlib
import dataclasses
import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks import in_process
from benchmarks.in_process import HERE
from benchmarks.rest_api import BERTH, REFERENCE, Stand, room, services_of, shown, take_turns
from benchmarks.rest_cloud import OWNER, RestCloud, host, name_based, put_allocations
from benchmarks.rest_requests import SEARCH, Measure, Request, measures, reshape
from tests.databases.fixtures import KINDS

#: the parts of PostgreSQL's ratios that others should reach
PARTS = {"postgresql": 1.0, "mariadb": 0.6, "sqlite": 0.8}
WAYS = ("whole", "in process")
_BLOCK = 50


class AtRandom:
    """Requests for rows that are drawn at random, the same ones for each service."""

    def __init__(self, cloud: RestCloud) -> None:
        self._cloud, self._hosts = cloud, cloud.hosts
        #: by service and row, what it was raised by
        self._raised: collections.Counter[tuple[str, str]] = collections.Counter()

    def doomed(self, server: Any, number: int) -> None:
        """Claim for a consumer that is deleted."""
        consumer = name_based(f"random-doomed-{number}")
        put_allocations(server, consumer, self._host(number, 0, 2), {"VCPU": 1}, None)

    def delete(self, server: Any, number: int) -> None:
        """Delete the allocations of such a consumer."""
        server.request("DELETE", f"/allocations/{name_based(f'random-doomed-{number}')}")

    def changed_search(self, server: Any, number: int) -> None:
        """Search after a claim on another host."""
        consumer = name_based(f"random-elsewhere-{number}")
        put_allocations(server, consumer, self._host(number, 0, 2), {"DISK_GB": 1}, None)
        server.get(SEARCH)

    def _number(self, number: int, first: int, part: int) -> int:
        """Return the number of a host, of one of some equal parts of all hosts."""
        low, high = (self._hosts * place // part for place in (first, first + 1))
        return random.Random(number).randrange(max(low, 10), high)

    def _host(self, number: int, first: int, part: int) -> str:
        return host(self._number(number, first, part))

    def reads(self, path: str) -> Request:
        """Return the request that reads a path of a host or of a consumer."""

        def ask(server: Any, number: int) -> None:
            drawn = self._number(number, 0, 1)
            server.get(path.format(host=host(drawn), consumer=name_based(f"busy-{drawn}")))

        return ask

    def claim(self, server: Any, number: int) -> None:
        """Claim for a new consumer."""
        resources = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
        where = self._host(number, 0, 2)
        put_allocations(server, name_based(f"random-{number}"), where, resources, None)

    def replace(self, server: Any, number: int) -> None:
        """Write another amount for a consumer that has allocations."""
        drawn = self._number(number, 0, 4)
        consumer = name_based(f"busy-{drawn}")
        known = 1 + self._raised[server.name, consumer]
        resources = {"VCPU": 1 + known % 2, "MEMORY_MB": 4096, "DISK_GB": 40}
        body = {
            **OWNER,
            "project_id": self._cloud.project(drawn),
            "allocations": {host(drawn): {"resources": resources}},
            "consumer_generation": known,
        }
        server.request("PUT", f"/allocations/{consumer}", body)
        self._raised[server.name, consumer] += 1

    def move(self, server: Any, number: int) -> None:
        """Hand all that a consumer has to a new one."""
        # each once: a step that has no divisor in common goes round all
        low, count = self._hosts // 4, self._hosts // 4
        drawn = low + number * 7919 % count
        resources = {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 40}
        held = {"allocations": {host(drawn): {"resources": resources}}}
        body = {
            name_based(f"busy-{drawn}"): {
                **OWNER,
                "project_id": self._cloud.project(drawn),
                "allocations": {},
                "consumer_generation": 1,
            },
            name_based(f"random-heir-{number}"): {
                **OWNER,
                "project_id": self._cloud.project(drawn),
                **held,
                "consumer_generation": None,
            },
        }
        server.request("POST", "/allocations", body)

    def put_inventories(self, server: Any, number: int) -> None:
        """Replace a host's inventories."""
        stock = {
            "VCPU": {"total": 64 + number % 2, "allocation_ratio": 4.0},
            "MEMORY_MB": {"total": 262144, "reserved": 512},
            "DISK_GB": {"total": 4096},
        }
        self._put(server, self._host(number, 2, 4), "inventories", stock)

    def put_traits(self, server: Any, number: int) -> None:
        """Replace one of two traits."""
        where = self._host(number, 3, 4)
        name = ("SSE", "SSE2")[self._raised[server.name, where] % 2]
        self._put(server, where, "traits", ["HW_CPU_X86_AVX2", f"HW_CPU_X86_{name}"])

    def put_aggregates(self, server: Any, number: int) -> None:
        """Replace the aggregate of a host."""
        where = self._host(number, 3, 4)
        member = name_based(f"aggregate-{self._raised[server.name, where] % 2}")
        self._put(server, where, "aggregates", [member])

    def _put(self, server: Any, provider: str, kind: str, value: Any) -> None:
        # hosts begin at generation 3
        known = 3 + self._raised[server.name, provider]
        body = {"resource_provider_generation": known, kind: value}
        server.request("PUT", f"/resource_providers/{provider}/{kind}", body)
        self._raised[server.name, provider] += 1


def started(
    stand: Stand,
    interpreter: str,
    cloud: RestCloud,
    stack: contextlib.ExitStack,
    ways: Sequence[str] = WAYS,
) -> dict[str, dict[str, Any]]:
    """Start the services on their databases; return them by way and name."""
    programs = {BERTH: (sys.executable, HERE), REFERENCE: (interpreter, None)}
    found: dict[str, dict[str, Any]] = {way: {} for way in WAYS}
    for name, start in stand.starts(interpreter).items():
        whole = found["whole"][name] = stack.enter_context(start())
        whole.get("/")
        cloud.store(stand.connections[name])
        cloud.plant(whole)
        cloud.claim(whole, 0)
        if "in process" in ways:
            called = in_process.started(name, *programs[name], stand)
            found["in process"][name] = stack.enter_context(called)
        for way in ways:
            if name == BERTH:
                # loads the snapshot; the reference would search for minutes in a large cloud
                found[way][name].get("/allocation_candidates?resources=VCPU:1&limit=1")
            found[way][name].spent()
    return found


def measured(
    services: dict[str, Any], stand: Stand, measure: Measure, rounds: int
) -> Iterator[str]:
    """Let the services take turns; yield ours, theirs and the ratio."""
    turns = services_of(measure, services, stand)
    take_turns(turns, rounds)
    ours = turns[BERTH].cost
    yield f"{shown(1000 * ours.worker)} + {shown(1000 * ours.database)}"
    if REFERENCE in turns:
        theirs = turns[REFERENCE].cost.total
        yield shown(1000 * theirs)
        yield f"{theirs / ours.total:.1f}×"
    else:
        yield from ("", "")


def goal(measure: Measure, way: str, part: float) -> str:
    """Return the cell of what is to be reached."""
    if way == "in process" and measure.goal.most is not None:
        return f"{measure.goal.most:g} ms"
    ratio = measure.goal.whole if way == "whole" else measure.goal.inside
    return "" if ratio is None else f"{ratio * part:.3g}×"


def rows(cloud: RestCloud) -> Iterator[dict[str, Measure]]:
    """Yield what is measured, by way."""
    for drawn, inside in zip(measures(cloud, AtRandom(cloud)), measures(cloud), strict=True):
        # a reshape needs to know answers
        if inside.ours is None and inside.request is not reshape:
            whole = dataclasses.replace(drawn, repeats=min(drawn.repeats, _BLOCK))
            yield dict(zip(WAYS, (whole, inside), strict=True))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a row for each request, with tabs between its cells."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.goals", description=__doc__)
    parser.add_argument("--reference", required=True, help="Python with openstack-placement")
    parser.add_argument("--database", choices=KINDS, default="postgresql")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=WAYS)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of titles of rows")
    given = parser.parse_args(arguments)
    if given.hosts < 4_000:
        parser.error("fewer than 4,000 hosts: writes would meet")
    cloud = RestCloud(given.hosts, instances=given.hosts)
    with contextlib.ExitStack() as stack:
        stand = Stand(given.database, stack.enter_context(room()), stack, (BERTH, REFERENCE))
        services = started(stand, given.reference, cloud, stack, given.ways)
        heads = [cell for way in given.ways for cell in (way, "theirs", "ratio", "goal")]
        print("request, ms: service + database", *heads, sep="\t", flush=True)
        for found in rows(cloud):
            title = found["whole"].title
            if not any(part in title for part in given.only):
                continue
            cells: list[str] = []
            for way in given.ways:
                cells += measured(services[way], stand, found[way], given.rounds)
                cells.append(goal(found[way], way, PARTS[given.database]))
            print(title, *cells, sep="\t", flush=True)


if __name__ == "__main__":
    main()
