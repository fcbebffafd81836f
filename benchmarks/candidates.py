"""GET /allocation_candidates: against the reference, against the floor, and as growth curves.

    python -m benchmarks.candidates --reference /path/to/python --work /tmp/benchmarks

`--reference` is an interpreter with openstack-placement and gunicorn. Without it, only Berth and
the floor are measured. Every service runs one gunicorn worker on a copy of the same SQLite file.
The services take turns, so that other load on the machine affects all of them.
"""

import argparse
import contextlib
import dataclasses
import json
import shutil
import statistics
import time
from pathlib import Path

from benchmarks import servers
from benchmarks.clouds import AGGREGATE, HOST_TRAIT, NUMA_TRAIT, PHYSNETS, VF, Builder

FLAT = "resources=VCPU:1,MEMORY_MB:512,DISK_GB:10"
FILTERED = f"{FLAT}&member_of={AGGREGATE}&required={HOST_TRAIT}"
NESTED = (
    f"resources=DISK_GB:10&resources_N=VCPU:2,MEMORY_MB:1024&required_N={NUMA_TRAIT}"
    f"&resources_P={VF}:1&required_P={PHYSNETS[0]}&resources_G=VGPU:1"
    "&same_subtree=_N,_P,_G&group_policy=none"
)


def devices(groups: int, policy: str, limit: int = 1000) -> str:
    """Return a query with equal groups of one unit each."""
    asked = "&".join(f"resources{number + 1}={VF}:1" for number in range(groups))
    return f"{asked}&group_policy={policy}&limit={limit}"


@dataclasses.dataclass(frozen=True)
class BenchmarkCase:
    """One line of the table.

    :param cloud: kind and size of the cloud
    :param compared: whether the reference responds in reasonable time
    """

    title: str
    cloud: tuple[str, int]
    query: str
    compared: bool = True


def cases() -> list[BenchmarkCase]:
    """Return all cases."""
    found = []
    for size in (1_000, 10_000, 100_000):
        compared, cloud = size <= 10_000, ("flat", size)
        for title, query in (
            ("limit=1000", f"{FLAT}&limit=1000"),
            ("limit=10", f"{FLAT}&limit=10"),
            ("aggregate and trait, limit=1000", f"{FILTERED}&limit=1000"),
            ("aggregate and trait, limit=10", f"{FILTERED}&limit=10"),
        ):
            found.append(BenchmarkCase(f"flat {size:,}, {title}", cloud, query, compared))
        if compared:
            found.append(BenchmarkCase(f"flat {size:,}, no limit", cloud, FLAT))
    for limit in (1000, 10):
        title = f"nested 10,000, same_subtree, limit={limit}"
        found.append(BenchmarkCase(title, ("nested", 10_000), f"{NESTED}&limit={limit}"))
    for children, groups in ((8, 8), (21, 8), (21, 21), (32, 32), (64, 64)):
        for policy in ("none", "isolate"):
            title = f"{children} children × {groups} groups, {policy}"
            cloud = ("devices", children)
            found.append(BenchmarkCase(title, cloud, devices(groups, policy), False))
            title = f"{children} children × {children + 1} groups, {policy}: none fits"
            found.append(BenchmarkCase(title, cloud, devices(children + 1, policy), False))
    return list({case.title: case for case in found}.values())


def build(work: Path, cloud: tuple[str, int]) -> Path:
    """Return the database file of a cloud; create it once."""
    kind, size = cloud
    path = work / f"{kind}-{size}" / "placement.db"
    if not path.exists():
        builder = Builder(path)
        if kind == "flat":
            builder.flat(size)
        elif kind == "nested":
            builder.nested(size)
        else:
            builder.devices(size, 1)
    return path


@dataclasses.dataclass
class Times:
    """The times of requests to one service.

    :param wall: seconds of each request, as the client sees them
    :param processor: seconds of the worker's processor time, in total
    """

    wall: list[float] = dataclasses.field(default_factory=list)
    processor: float = 0.0

    @property
    def middle(self) -> float:
        return statistics.median(self.wall)

    @property
    def each(self) -> float:
        """Processor time per request."""
        return self.processor / len(self.wall)


def measure(running: dict[str, servers.Server], paths: dict[str, str], rounds: int) -> dict:
    """Return times by service. Services take turns of BATCH requests; a slow one gets fewer."""
    times = {name: Times() for name in running}
    for name, server in running.items():
        server.get(paths[name])
        server.get(paths[name])
    for _ in range(rounds):
        for name, server in running.items():
            known = times[name]
            before = server.spent()
            for _ in range(BATCH):
                if len(known.wall) >= LEAST and sum(known.wall) > LONG_ENOUGH:
                    break
                known.wall.append(server.time(paths[name]))
            known.processor += server.spent() - before
    return times


def p95(times: list[float]) -> float:
    """Return the 95th percentile of the times."""
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.95))]


def run(
    work: Path, interpreter: str | None, chosen: list[BenchmarkCase], rounds: int
) -> list[list[str]]:
    """Return the table's lines."""
    lines = []
    for cloud in dict.fromkeys(case.cloud for case in chosen):
        path = build(work, cloud)
        ours = [case for case in chosen if case.cloud == cloud]
        with contextlib.ExitStack() as stack:
            berth = stack.enter_context(servers.berth(f"sqlite:///{path}", path.parent))
            floor = stack.enter_context(servers.floor(path.parent))
            other = None
            if interpreter and any(case.compared for case in ours):
                copy = shutil.copy(path, path.with_name("reference.db"))
                other = stack.enter_context(
                    servers.reference(interpreter, f"sqlite:///{copy}", path.parent)
                )
            for number, case in enumerate(ours):
                target = f"/allocation_candidates?{case.query}"
                (path.parent / f"body-{number}").write_bytes(berth.get(target))
                running = {"berth": berth, "floor": floor}
                paths = {"berth": target, "floor": f"/body-{number}", "reference": target}
                if other and case.compared:
                    running["reference"] = other
                lines.append(line(case, measure(running, paths, rounds)))
                print(*lines[-1], sep="\t", flush=True)
    return lines


def line(case: BenchmarkCase, times: dict[str, Times]) -> list[str]:
    """Return a line: title; our times, the floor's, the reference's; ratios of processor times."""
    ours, floor, other = times["berth"], times["floor"], times.get("reference")
    shown = [case.title, ms(ours.middle), ms(p95(ours.wall)), ms(ours.each)]
    shown += [ms(floor.middle), ms(floor.each), f"{ours.middle / floor.middle:.1f}"]
    if other:
        shown += [ms(other.middle), ms(p95(other.wall)), ms(other.each)]
        shown += [f"{other.middle / ours.middle:.0f}", f"{other.each / ours.each:.0f}"]
    else:
        shown += ["–"] * 5
    return shown


def ms(seconds: float) -> str:
    """Return the time in milliseconds."""
    return f"{seconds * 1000:.2f}"


def freshness(work: Path, sizes: list[int], least: int) -> list[list[str]]:
    """Return the costs of searches after a write and of the first load, and memory, by hosts."""
    lines = []
    target = f"/allocation_candidates?{FLAT}&limit=10"
    for size in sizes:
        path = build(work, ("flat", size))
        with servers.berth(f"sqlite:///{path}", path.parent) as berth:
            berth.get("/")
            begin = time.perf_counter()
            found = json.loads(berth.get(target))
            first = time.perf_counter() - begin
            berth.get(f"/allocation_candidates?{FLAT}&limit=1000")
            provider = next(iter(found["provider_summaries"]))
            still = [berth.time(target) for _ in range(least)]
            after = [_after_a_claim(berth, provider, target, number) for number in range(least)]
            lines.append(
                [
                    f"{size:,}",
                    f"{first:.1f}",
                    f"{berth.memory() / 1e6:.0f}",
                    ms(statistics.median(still)),
                    ms(statistics.median(after)),
                    ms(p95(after)),
                ]
            )
        print(*lines[-1], sep="\t", flush=True)
    return lines


def _after_a_claim(berth: servers.Server, provider: str, target: str, number: int) -> float:
    consumer = f"00000000-0000-4000-8000-{number:012}"
    body = {
        "allocations": {provider: {"resources": {"VCPU": 1, "MEMORY_MB": 1, "DISK_GB": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    berth.request("PUT", f"/allocations/{consumer}", body)
    taken = berth.time(target)
    berth.request("DELETE", f"/allocations/{consumer}")
    return taken


TITLES = [
    *("case", "p50", "p95", "CPU", "floor p50", "floor CPU", "× floor"),
    *("ref. p50", "ref. p95", "ref. CPU", "× faster", "× less CPU"),
]
#: consecutive requests to one service: a worker under load has warm caches
BATCH = 20
#: seconds, and number of requests, after which a slow service gets no more
LONG_ENOUGH, LEAST = 4.0, 3
FRESH = ["hosts", "first load s", "worker MB", "p50 ms", "p50 after a claim", "p95 after a claim"]


def table(titles: list[str], lines: list[list[str]]) -> str:
    """Return a reStructuredText list-table."""
    rows = [titles, *lines]
    text = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        text += [f"   {'* -' if n == 0 else '  -'} {cell}" for n, cell in enumerate(row)]
    return "\n".join(text)


def main() -> None:
    """Run the selected measurements and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", help="interpreter that has openstack-placement")
    parser.add_argument("--work", type=Path, default=Path("/tmp/berth-benchmarks"))
    parser.add_argument("--only", default="", help="only cases whose title contains this")
    parser.add_argument("--rounds", type=int, default=5, help=f"turns of {BATCH} requests")
    parser.add_argument("--fresh", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    given = parser.parse_args()
    chosen = [case for case in cases() if given.only in case.title]
    lines = run(given.work, given.reference, chosen, given.rounds)
    fresh = freshness(given.work, given.fresh, given.rounds * BATCH)
    print(table(TITLES, lines))
    print()
    print(table(FRESH, fresh))


if __name__ == "__main__":
    main()
