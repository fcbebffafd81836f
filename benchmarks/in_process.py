"""`python -m benchmarks.in_process`: what requests cost without a server around the service.

Prints milliseconds of processor time per request, of the process and of its database server, and
ratios. Each service is its WSGI application, called in a loop. They take turns for each row, so
that all run under the same load; the cheapest of some rounds counts. `--reference` is the
interpreter of an environment with openstack-placement, `--before` another checkout of Berth.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import processor_time
from benchmarks.rest_api import BERTH, REFERENCE, Stand, room, services_of, shown, take_turns
from benchmarks.rest_cloud import RestCloud
from benchmarks.rest_requests import Measure, measures, reshape
from benchmarks.servers import HEADERS, Failed, for_reference, settings
from tests.databases.fixtures import KINDS

BEFORE = "before"
HERE = Path(__file__).parents[1]


class Called:
    """A service in a process that calls it; for requests it stands where a `servers.Server` does.

    :param process: runs `called.py`
    """

    def __init__(self, name: str, process: subprocess.Popen[str]) -> None:
        self.name = name
        self._process = process
        self._spent = 0.0
        self._kept: list[tuple[str, str, str, dict[str, str], str]] = []

    def get(self, path: str, **headers: str) -> bytes:
        """Keep a GET for `spent`."""
        return self.request("GET", path, **headers)

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> bytes:
        """Keep a request for `spent`; see `servers.Server.request`."""
        sent = HEADERS | {name.replace("_", "-"): value for name, value in headers.items()}
        environ = {f"HTTP_{name.upper().replace('-', '_')}": sent[name] for name in sent}
        if body is not None:
            environ["CONTENT_TYPE"] = "application/json"
        path, _, query = path.partition("?")
        text = "" if body is None else json.dumps(body)
        self._kept.append((method, path, query, environ, text))
        return b""

    def spent(self) -> float:
        """Make all requests that were kept; return the seconds that those until now have cost.

        Raises Failed if one isn't answered as it should be.
        """
        self._say(json.dumps(self._kept))
        self._kept = []
        before = processor_time.of_process(self._process.pid)
        status, body = json.loads(self._say("go"))
        self._spent += processor_time.of_process(self._process.pid) - before
        if status >= "4":
            raise Failed(f"{self.name}: {status} {body[:500]}")
        return self._spent

    def _say(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(line, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.name} has ended; see its log")
        return answer


@contextlib.contextmanager
def started(name: str, interpreter: str, source: Path | None, stand: Stand) -> Iterator[Called]:
    """Start a service on its database.

    :param source: the checkout that has it; None: the interpreter's environment has it
    """
    connection = stand.connections[name]
    if name == REFERENCE:
        connection = for_reference(connection)
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("OS_", "PYTHONPATH"))}
    if source is not None:
        environ["PYTHONPATH"] = str(source)
    with (
        (stand.folder / f"{name}.log").open("w") as log,
        subprocess.Popen(
            [interpreter, str(HERE / "benchmarks" / "called.py")],
            cwd=stand.folder,
            env=environ | settings(connection),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        yield Called(name, process)


def measured(measure: Measure, services: Sequence[Called], stand: Stand, rounds: int) -> list[str]:
    """Let the services take turns; return the cells of the row."""
    turns = services_of(measure, {one.name: one for one in services}, stand)
    take_turns(turns, rounds)
    ours = turns[BERTH].cost
    cells = [measure.title, *(shown(1000 * part) for part in (ours.worker, ours.database))]
    cells.append(shown(1000 * ours.total))
    for one in services[1:]:
        total = turns[one.name].cost.total if one.name in turns else None
        cells += ["", ""] if total is None else [shown(1000 * total), f"{total / ours.total:.2f}×"]
    return cells


def main() -> None:
    """Run the measurements and print a row for each, with tabs between its cells."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.in_process", description=__doc__)
    parser.add_argument("--reference", help="Python with openstack-placement")
    parser.add_argument("--before", type=Path, help="another checkout of Berth")
    parser.add_argument("--database", choices=KINDS, default="postgresql")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of titles of rows")
    given = parser.parse_args()
    programs: dict[str, tuple[str, Path | None]] = {BERTH: (sys.executable, HERE)}
    if given.reference:
        programs[REFERENCE] = (given.reference, None)
    if given.before:
        programs[BEFORE] = (sys.executable, given.before.resolve())
    cloud = RestCloud(given.hosts)
    with contextlib.ExitStack() as stack:
        stand = Stand(given.database, stack.enter_context(room()), stack, tuple(programs))
        services = []
        for name, (interpreter, source) in programs.items():
            one = stack.enter_context(started(name, interpreter, source, stand))
            server: Any = one
            server.get("/")
            one.spent()
            cloud.store(stand.connections[name])
            cloud.plant(server)
            cloud.claim(server, 0)
            server.get("/allocation_candidates?resources=VCPU:1&limit=1")
            one.spent()
            services.append(one)
        others = [part for name in programs if name != BERTH for part in (name, "ratio")]
        print("request", "process", "database", "Berth", *others, sep="\t")
        for measure in measures(cloud):
            # a reshape needs to know answers
            if measure.request is not reshape and any(part in measure.title for part in given.only):
                print(*measured(measure, services, stand, given.rounds), sep="\t", flush=True)


if __name__ == "__main__":
    main()
