"""`python -m benchmarks.served`: goals of the whole service, beside those of `benchmarks.goals`.

Four parts, of some seconds each: what a worker costs until its first answer; its first lists; a
new connection beside one that stays, with `placement-api`; claims in two steps (a search with
`limit=10`, then PUT /allocations of one of its candidates), with `placement-api` and two workers.
`--reference` is the interpreter of an environment with openstack-placement and gunicorn, `--before`
another checkout of Berth. The reference claims with the fewest clients only: it needs a second for
a search.
"""

import argparse
import contextlib
import functools
import itertools
import multiprocessing
import random
import select
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import servers
from benchmarks.claims import spent, two_steps
from benchmarks.crowds import Deed, crowd
from benchmarks.in_process import BEFORE, HERE
from benchmarks.rest_api import BERTH, REFERENCE, Stand, room, shown, start_rows
from benchmarks.rest_cloud import RestCloud
from benchmarks.rest_requests import measures
from tests.databases.fixtures import KINDS
from tests.faults.running import running

PARTS = ("start", "lists", "connections", "claims")
CLIENTS = (8, 64, 256)
WORKERS = 2
#: requests of a block, and blocks of each kind of connection; the cheapest counts
BLOCK, BLOCKS = 500, 7
#: lists of a new worker
LISTS = 30
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def hello(source: random.Random) -> Deed:
    """Ask for the versions."""
    status, _ = yield "GET", "/", None
    return status == 200


def first_lists(stand: Stand, interpreter: str, cloud: RestCloud) -> Iterator[list[Any]]:
    """Yield what the first lists of a worker cost that nobody has asked for candidates."""
    yield ["lists of a new worker", "their list, ms", "1st", "2nd", "3rd", "26th", f"{LISTS}th"]
    for measure in measures(cloud):
        if not measure.title.startswith("GET providers"):
            continue
        costs: dict[str, list[float]] = {}
        for (name, start), count in zip(stand.starts(interpreter).items(), (LISTS, 3), strict=True):
            with start() as server:
                server.get("/")
                meter = [server.spent() + stand.databases[name].spent()]
                for number in range(count):
                    measure.request(server, number)
                    meter.append(server.spent() + stand.databases[name].spent())
            costs[name] = [later - sooner for sooner, later in itertools.pairwise(meter)]
        theirs = min(costs[REFERENCE])
        ours = (costs[BERTH][number - 1] for number in (1, 2, 3, 26, LISTS))
        cells = (f"{shown(1000 * one)} ({theirs / one:.1f}×)" for one in ours)
        yield [measure.title, shown(1000 * theirs), *cells]


def connections(source: Path) -> Iterator[list[str]]:
    """Yield what GET / costs a worker by a connection of its own, and by one that stays."""
    yield ["GET /", "stays, ms", "new, ms", "ratio", "goal"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with running("sqlite://", workers=1, port=port, root=source) as service:
        yield ["placement-api", *_compared(port, lambda: spent(service.workers())), "1.3"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        bare = multiprocessing.Process(target=_answer_all, args=(listener,), daemon=True)
        bare.start()
        pids = [bare.pid or 0]
        port = listener.getsockname()[1]
        yield ["floor: system calls alone", *_compared(port, lambda: spent(pids)), ""]
        bare.terminate()
        bare.join()


def _compared(port: int, meter: Callable[[], float]) -> Iterator[str]:
    costs: dict[bool, list[float]] = {True: [], False: []}
    for number in range(BLOCKS + 1):
        for keeps, found in costs.items():
            before = meter()
            crowd(port, hello, 1, number, most=BLOCK, keeps=keeps)
            # the first is a warm-up
            found += [(meter() - before) / BLOCK] if number else []
    stays, new = map(min, costs.values())
    yield from (f"{1000 * stays:.3f}", f"{1000 * new:.3f}", f"{new / stays:.2f}×")


def _answer_all(listener: socket.socket) -> None:
    """Answer whatever comes, with the fewest system calls."""
    poll, open_ = select.epoll(), {}
    poll.register(listener, select.EPOLLIN)
    while True:
        for number, _ in poll.poll():
            if number == listener.fileno():
                sock, _ = listener.accept()
                open_[sock.fileno()] = sock
                poll.register(sock, select.EPOLLIN)
            elif open_[number].recv(65_536):
                open_[number].sendall(ANSWER)
            else:
                open_.pop(number).close()


Running = Callable[[], contextlib.AbstractContextManager[tuple[str | int, Callable[[], float]]]]


@contextlib.contextmanager
def _own(url: str, root: Path) -> Iterator[tuple[str | int, Callable[[], float]]]:
    options: dict[str, Any] = {"BERTH__BESIDE_REFERENCE": "never"}
    with running(url, workers=WORKERS, threads=8, root=root, **options) as service:
        yield service.path, lambda: spent(service.workers())


@contextlib.contextmanager
def _reference(
    interpreter: str, url: str, folder: Path
) -> Iterator[tuple[str | int, Callable[[], float]]]:
    with servers.reference(interpreter, url, folder, WORKERS) as server:
        yield server.port, server.spent


def claims(stand: Stand, services: dict[str, Running], seconds: float) -> Iterator[list[str]]:
    """Yield claims a second, and what they cost."""
    yield [
        "two-step claims",
        *("claims/s", "× before", "p50, ms", "p99, ms", "p99/p50", "service, ms", "database, ms"),
        "answers",
    ]
    claim = functools.partial(two_steps, "10")
    for clients in CLIENTS:
        rates: dict[str, float] = {}
        # `before` comes first
        for name, start in reversed(services.items()):
            is_slow = name == REFERENCE
            if is_slow and clients != CLIENTS[0]:
                continue
            with start() as (path, meter):
                # snapshots are loaded, and statements prepared
                crowd(path, claim, 2 if is_slow else 8, clients, most=1 if is_slow else 5)
                worker, server = meter(), stand.databases[name].spent()
                length = 3 * seconds if is_slow else seconds
                seen = crowd(path, claim, clients, clients + 1, length)
                worker, server = meter() - worker, stand.databases[name].spent() - server
            count = len(seen.times) or float("nan")
            rates[name] = count / length
            p50, p99 = seen.quantile(0.5), seen.quantile(0.99)
            times = rates[name] / rates[BEFORE] if name == BERTH and BEFORE in rates else None
            yield [
                f"{name}, {clients} clients",
                f"{rates[name]:.1f}",
                "" if times is None else f"{times:.1f}×",
                *(f"{1000 * one:.1f}" for one in (p50, p99)),
                f"{p99 / p50:.1f}",
                *(shown(1000 * one / count) for one in (worker, server)),
                ", ".join(f"{status}: {often}" for status, often in sorted(seen.statuses.items())),
            ]


def main() -> None:
    """Measure, and print a table for each part, with tabs between its cells."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.served", description=__doc__)
    parser.add_argument("--reference", required=True, help="Python with openstack-placement")
    parser.add_argument("--before", type=Path, help="another checkout of Berth")
    parser.add_argument("--database", choices=KINDS, default="postgresql")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each crowd of clients")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    given = parser.parse_args()
    cloud = RestCloud(given.hosts, instances=given.hosts)
    with contextlib.ExitStack() as stack:
        sources = {BERTH: HERE} | ({BEFORE: given.before.resolve()} if given.before else {})
        names = (BERTH, REFERENCE, *list(sources)[1:])
        stand = Stand(given.database, stack.enter_context(room()), stack, names)
        urls = stand.connections
        services: dict[str, Running] = {
            name: functools.partial(_own, urls[name], source) for name, source in sources.items()
        }
        services[REFERENCE] = functools.partial(
            _reference, given.reference, urls[REFERENCE], stand.folder
        )
        if set(given.parts) - {"connections"}:
            for name, service in services.items():
                with service() as (path, _):
                    crowd(path, hello, 1, 0, most=1)
                cloud.store(urls[name])
        parts: dict[str, Callable[[], Iterator[list[Any]]]] = {
            "start": lambda: start_rows(stand.starts(given.reference), 3),
            "lists": lambda: first_lists(stand, given.reference, cloud),
            "connections": lambda: connections(HERE),
            "claims": lambda: claims(stand, services, given.seconds),
        }
        for name in given.parts:
            for cells in parts[name]():
                print(*cells, sep="\t", flush=True)
            print()


if __name__ == "__main__":
    main()
