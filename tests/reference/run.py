"""Compare Berth with the reference, by hand and for any time.

    python -m tests.reference.run --seed 1 --seeds 50 --requests 400
    python -m tests.reference.run --replay script.jsonl

A difference is shrunk to a short script, which is printed as curl commands and stored for
`--replay`. :mod:`tests.reference.environment` describes where the reference comes from.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.reference import exploring
from tests.reference.environment import reference_python
from tests.reference.script import Request
from tests.reference.starting import Bench, bench
from tests.reference.tally import Tally


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; return the exit status: 0 without a difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default: 1)")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds (default: 1)")
    parser.add_argument("--requests", type=int, default=400, help="per seed (default: 400)")
    parser.add_argument("--replay", type=Path, help="send the requests of this file instead")
    parser.add_argument("--save", type=Path, default=Path("difference.jsonl"))
    parser.add_argument("--no-shrink", action="store_true", help="report what was found as it is")
    parser.add_argument(
        "--go-on", action="store_true", help="show each kind of difference once, and go on"
    )
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory() as folder,
        bench(reference_python(), Path(folder)) as services,
    ):
        if options.replay:
            lines = options.replay.read_text().splitlines()
            finding = exploring.run(services, [Request.from_line(line) for line in lines])
            print(finding or f"no difference in {len(lines)} requests")
            return int(finding is not None)
        return explore(services, options)


def explore(services: Bench, options: argparse.Namespace) -> int:
    """Explore all seeds."""
    kinds: set[tuple[str, ...]] = set()
    tally = Tally()
    for seed in range(options.seed, options.seed + options.seeds):
        found = exploring.explore(services, seed, options.requests, options.go_on, tally)
        for finding in list(found):
            if finding.kind in kinds:
                continue
            kinds.add(finding.kind)
            print(f"\nseed {seed}, request {len(finding.script)}: {finding.kind}")
            if not options.no_shrink:
                finding = exploring.minimal(services, finding)
            print(finding, flush=True)
            options.save.write_text("\n".join(r.as_line() for r in finding.script) + "\n")
            if not options.go_on:
                print(f"again: {sys.executable} -m tests.reference.run --replay {options.save}")
                return 1
        print(f"seed {seed}: {options.requests} requests", file=sys.stderr, flush=True)
    print(tally)
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
