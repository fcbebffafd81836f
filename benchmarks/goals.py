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
import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks import in_process
from benchmarks.in_process import HERE
from benchmarks.rest_api import BERTH, REFERENCE, Stand, room, services_of, shown, take_turns
from benchmarks.rest_cloud import BUSY, OWNER, RestCloud, host, name_based, put_allocations
from benchmarks.rest_requests import Measure, Request, measures
from tests.databases.fixtures import KINDS

#: by title of a row, the ratios to reach: whole, and in process. One of them may be missing
GOALS: dict[str, tuple[float | None, float | None]] = {
    "GET /": (1.5, 8),
    "PUT /allocations: claim": (10, 25),
    "PUT /allocations: replace": (12, 20),
    "POST /allocations: move": (12, 20),
    "PUT …/inventories": (8, 12),
    "PUT …/traits": (7, 12),
    "PUT …/aggregates": (None, None),
    "DELETE /allocations": (6, None),
    "GET a provider": (4.5, 15),
    "GET its usages": (4.5, 15),
    "GET a consumer": (4.5, 20),
    "GET providers, filtered": (121, 121),
    "GET providers, all": (73, 73),
    "a tree of 7, 29 requests": (8, 8),
    "search, limit=10": (None, None),
}
_BLOCK = 50


class AtRandom:
    """Requests for rows that are drawn at random, the same ones for each service."""

    def __init__(self, cloud: RestCloud) -> None:
        self._hosts = cloud.hosts
        #: by service and row, what it was raised by
        self._raised: collections.Counter[tuple[str, str]] = collections.Counter()

    def requests(self) -> dict[str, Request]:
        """Return requests by the titles of their rows."""
        return {
            "PUT /allocations: claim": self._claim,
            "PUT /allocations: replace": self._replace,
            "POST /allocations: move": self._move,
            "PUT …/inventories": self._inventories,
            "PUT …/traits": self._traits,
            "PUT …/aggregates": self._aggregates,
            "DELETE /allocations": self._delete,
            "GET a provider": self._reads("/resource_providers/{host}"),
            "GET its usages": self._reads("/resource_providers/{host}/usages"),
            "GET a consumer": self._reads("/allocations/{consumer}"),
        }

    def doom(self, server: Any, number: int) -> None:
        """Claim for a consumer that is deleted."""
        consumer = name_based(f"random-doomed-{number}")
        put_allocations(server, consumer, self._host(number, 0, 2), {"VCPU": 1}, None)

    def _number(self, number: int, first: int, part: int) -> int:
        """Return the number of a host, of one of some equal parts of all hosts."""
        low, high = (self._hosts * place // part for place in (first, first + 1))
        return random.Random(number).randrange(max(low, 10), high)

    def _host(self, number: int, first: int, part: int) -> str:
        return host(self._number(number, first, part))

    def _reads(self, path: str) -> Request:
        def ask(server: Any, number: int) -> None:
            drawn = self._number(number, 0, 1)
            server.get(path.format(host=host(drawn), consumer=name_based(f"busy-{drawn}")))

        return ask

    def _claim(self, server: Any, number: int) -> None:
        resources = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
        where = self._host(number, 0, 2)
        put_allocations(server, name_based(f"random-{number}"), where, resources, None)

    def _replace(self, server: Any, number: int) -> None:
        drawn = self._number(number, 0, 4)
        consumer = name_based(f"busy-{drawn}")
        known = 1 + self._raised[server.name, consumer]
        resources = {"VCPU": 1 + known % 2, "MEMORY_MB": 4096, "DISK_GB": 40}
        body = {
            **OWNER,
            "project_id": BUSY,
            "allocations": {host(drawn): {"resources": resources}},
            "consumer_generation": known,
        }
        server.request("PUT", f"/allocations/{consumer}", body)
        self._raised[server.name, consumer] += 1

    def _move(self, server: Any, number: int) -> None:
        # each once: a step that has no divisor in common goes round all
        low, count = self._hosts // 4, self._hosts // 4
        drawn = low + number * 7919 % count
        resources = {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 40}
        held = {"allocations": {host(drawn): {"resources": resources}}}
        body = {
            name_based(f"busy-{drawn}"): {
                **OWNER,
                "project_id": BUSY,
                "allocations": {},
                "consumer_generation": 1,
            },
            name_based(f"random-heir-{number}"): {
                **OWNER,
                "project_id": BUSY,
                **held,
                "consumer_generation": None,
            },
        }
        server.request("POST", "/allocations", body)

    def _inventories(self, server: Any, number: int) -> None:
        stock = {
            "VCPU": {"total": 64 + number % 2, "allocation_ratio": 4.0},
            "MEMORY_MB": {"total": 262144, "reserved": 512},
            "DISK_GB": {"total": 4096},
        }
        self._put(server, self._host(number, 2, 4), "inventories", stock)

    def _traits(self, server: Any, number: int) -> None:
        where = self._host(number, 3, 4)
        name = ("SSE", "SSE2")[self._raised[server.name, where] % 2]
        self._put(server, where, "traits", ["HW_CPU_X86_AVX2", f"HW_CPU_X86_{name}"])

    def _aggregates(self, server: Any, number: int) -> None:
        where = self._host(number, 3, 4)
        member = name_based(f"aggregate-{self._raised[server.name, where] % 2}")
        self._put(server, where, "aggregates", [member])

    def _put(self, server: Any, provider: str, kind: str, value: Any) -> None:
        # hosts begin at generation 3
        known = 3 + self._raised[server.name, provider]
        body = {"resource_provider_generation": known, kind: value}
        server.request("PUT", f"/resource_providers/{provider}/{kind}", body)
        self._raised[server.name, provider] += 1

    def _delete(self, server: Any, number: int) -> None:
        server.request("DELETE", f"/allocations/{name_based(f'random-doomed-{number}')}")


def started(
    stand: Stand, interpreter: str, cloud: RestCloud, stack: contextlib.ExitStack
) -> list[dict[str, Any]]:
    """Start the services on their databases; return the whole ones, and those in process."""
    programs = {BERTH: (sys.executable, HERE), REFERENCE: (interpreter, None)}
    whole, inside = {}, {}
    for name, start in stand.starts(interpreter).items():
        whole[name] = stack.enter_context(start())
        whole[name].get("/")
        cloud.store(stand.connections[name])
        cloud.plant(whole[name])
        cloud.claim(whole[name], 0)
        inside[name] = stack.enter_context(in_process.started(name, *programs[name], stand))
        for server in (whole[name], inside[name]):
            server.get("/allocation_candidates?resources=VCPU:1&limit=1")
            server.spent()
    return [whole, inside]


def measured(
    services: dict[str, Any], stand: Stand, measure: Measure, rounds: int, alone: bool
) -> Iterator[str]:
    """Let the services take turns; yield ours, theirs and the ratio.

    :param alone: whether the reference isn't asked
    """
    asked = {BERTH: services[BERTH]} if alone else services
    turns = services_of(measure, asked, stand)
    take_turns(turns, rounds)
    ours = turns[BERTH].cost
    yield f"{shown(1000 * ours.worker)} + {shown(1000 * ours.database)}"
    if REFERENCE in turns:
        theirs = turns[REFERENCE].cost.total
        yield shown(1000 * theirs)
        yield f"{theirs / ours.total:.1f}×"
    else:
        yield from ("", "")


def rows(cloud: RestCloud) -> Iterator[tuple[str, Measure, Measure]]:
    """Yield titles with what is measured whole, and in process."""
    at_random = AtRandom(cloud)
    drawn = at_random.requests()
    known = measures(cloud)
    for title in GOALS:
        inside = next(one for one in known if one.title.startswith(title))
        request = drawn.get(title, inside.request)
        few = inside.repeats < _BLOCK
        repeats, slow = (inside.repeats, inside.slow) if few else (_BLOCK, None)
        first = at_random.doom if title == "DELETE /allocations" else inside.first
        yield title, Measure(title, inside.goal, request, repeats, slow, first=first), inside


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a row for each request, with tabs between its cells."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.goals", description=__doc__)
    parser.add_argument("--reference", required=True, help="Python with openstack-placement")
    parser.add_argument("--database", choices=KINDS, default="postgresql")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of titles of rows")
    given = parser.parse_args(arguments)
    if given.hosts < 4_000:
        parser.error("fewer than 4,000 hosts: writes would meet")
    cloud = RestCloud(given.hosts, instances=given.hosts)
    with contextlib.ExitStack() as stack:
        stand = Stand(given.database, stack.enter_context(room()), stack, (BERTH, REFERENCE))
        services = started(stand, given.reference, cloud, stack)
        heads = [
            cell for way in ("whole", "in process") for cell in (way, "theirs", "ratio", "goal")
        ]
        print("request, ms: service + database", *heads, sep="\t", flush=True)
        for title, *ways in rows(cloud):
            if not any(part in title for part in given.only):
                continue
            cells: list[str] = []
            for service, measure, goal in zip(services, ways, GOALS[title], strict=True):
                # its goal is in milliseconds, and the reference needs a second
                alone = title.startswith("search")
                cells += measured(service, stand, measure, given.rounds, alone)
                cells.append("" if goal is None else f"{goal:g}")
            print(title, *cells, sep="\t", flush=True)


if __name__ == "__main__":
    main()
