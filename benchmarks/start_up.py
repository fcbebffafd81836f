"""Processor time until a program has started: ours, and the reference's in the same run.

    python -m benchmarks.start_up --reference /path/to/python

`--reference` is an interpreter with openstack-placement. Without it, only our times are shown. Each
pair runs in turn, so a busy machine slows both; the ratio is that of the medians.
"""

import argparse
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

#: the service as a WSGI server makes it, on a database with the current schema
SERVICE = "from placement.wsgi import init_application; init_application()"
#: (title, the program's arguments, whether the reference has the program)
PROGRAMS = (
    ("placement-api --version", ["placement-api", "--version"], False),
    ("placement-api --help", ["placement-api", "--help"], False),
    ("placement-manage --version", ["placement-manage", "--version"], True),
    ("placement-manage --help", ["placement-manage", "--help"], True),
    ("placement-status --help", ["placement-status", "--help"], True),
    ("berth-compute --version", ["berth-compute", "--version"], False),
    ("nova-manage --help", ["nova-manage", "--help"], False),
)


def cost(command: Sequence[str], environ: Mapping[str, str]) -> float:
    """Run a command to its end; return its processor time, user and system, in milliseconds."""
    before = os.times()
    # not in the folder of our sources, which would hide the reference's package
    ran = subprocess.run(
        command, env=environ, cwd=tempfile.gettempdir(), capture_output=True, text=True
    )
    after = os.times()
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)}: {ran.stderr}")
    used = after.children_user + after.children_system
    return 1000 * (used - before.children_user - before.children_system)


def environment(database: Path) -> dict[str, str]:
    """Return variables that configure a service on a SQLite file, and nothing else."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    return kept | {
        "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{database}",
        "OS_API__AUTH_STRATEGY": "noauth2",
    }


def compared(
    ours: Sequence[str],
    theirs: Sequence[str] | None,
    environs: tuple[Mapping[str, str], Mapping[str, str]],
    rounds: int,
) -> tuple[float, float | None]:
    """Return the medians of both commands, run in turn after a first run that isn't counted."""
    times: list[float] = []
    others: list[float] = []
    for _ in range(rounds + 1):
        times.append(cost(ours, environs[0]))
        if theirs is not None:
            others.append(cost(theirs, environs[1]))
    other = statistics.median(others[1:]) if others else None
    return statistics.median(times[1:]), other


def main() -> None:
    """Measure every program and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", type=Path, help="interpreter that has openstack-placement")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each (default: 7)")
    given = parser.parse_args()
    scripts = Path(sysconfig.get_path("scripts"))
    other = given.reference
    with tempfile.TemporaryDirectory() as folder:
        environs = (environment(Path(folder, "ours.db")), environment(Path(folder, "other.db")))
        cost([str(scripts / "placement-manage"), "db", "sync"], environs[0])
        if other:
            cost([str(other.with_name("placement-manage")), "db", "sync"], environs[1])
        pairs: list[tuple[str, list[str], list[str] | None]] = [
            ("the service", [sys.executable, "-c", SERVICE], other and [str(other), "-c", SERVICE])
        ]
        for title, (program, *arguments), both in PROGRAMS:
            theirs = [str(other.with_name(program)), *arguments] if other and both else None
            pairs.append((title, [str(scripts / program), *arguments], theirs))
        print(f"{'start of':<28} {'ms CPU':>7} {'reference':>10} {'ratio':>6}")
        for title, ours, theirs in pairs:
            mine, reference = compared(ours, theirs, environs, given.rounds)
            shown = f"{reference:>10.0f} {mine / reference:>6.2f}" if reference else ""
            print(f"{title:<28} {mine:>7.0f} {shown}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
