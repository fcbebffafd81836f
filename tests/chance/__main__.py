"""Find tests that fail by chance: `tox -e chance`.

All tests run several times, in another order each time, with the machine held at a quarter of its
speed. With `--alone 300`, a random sample of 300 tests runs as well, each in a process of its own.
"""

import argparse
import concurrent.futures
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.chance.slow import held

ROOT = Path(__file__).parents[2]
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def main(arguments: list[str]) -> int:
    """Run the tests; return 1 if any failed."""
    asked = _parser().parse_args(arguments)
    print(f"seed {asked.seed}, at {asked.share} of the machine's speed", flush=True)
    with held(asked.share) as hold:
        runs = [
            _passes(["-n", "auto", *_order(asked.seed + number), *asked.tests], hold)
            for number in range(asked.runs)
        ]
        if asked.alone:
            runs.append(_alone(asked.seed, asked.alone, asked.tests, hold))
    return 0 if all(runs) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tox -e chance --", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="how often all tests run (5)")
    parser.add_argument("--alone", type=int, default=0, help="how many tests run alone (0)")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the order")
    parser.add_argument("--share", type=float, default=0.25, help="of the machine's speed (0.25)")
    parser.add_argument("tests", nargs="*", help="which tests, instead of all")
    return parser


def _order(seed: int) -> list[str]:
    """Return the options for an order of modules, and of the tests in each."""
    return ["-p", "randomly", f"--randomly-seed={seed}", "--randomly-dont-reset-seed"]


def _passes(options: Sequence[str], hold: Callable[[], None]) -> bool:
    """Run pytest, tell how it ended, and what it said if a test failed."""
    begun = time.monotonic()
    ended = subprocess.run(
        [*PYTEST, *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=hold,
        check=False,
    )
    if ended.returncode:
        print(ended.stdout)
    closing = ended.stdout.rstrip().rpartition("\n")[2]
    print(f"{' '.join(options)}: {closing} ({time.monotonic() - begun:.0f} s)", flush=True)
    return ended.returncode == 0


def _alone(seed: int, number: int, tests: Sequence[str], hold: Callable[[], None]) -> bool:
    """Run a random sample of the tests, each in a process of its own."""
    listed = subprocess.run(
        [*PYTEST, "-p", "no:randomly", "--collect-only", *tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    nodes = [line for line in listed.stdout.splitlines() if "::" in line]
    sample = random.Random(seed).sample(nodes, min(number, len(nodes)))
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)) + 1) as pool:
        passed = list(pool.map(lambda node: _passes(["-p", "no:randomly", node], hold), sample))
    print(f"alone: {sum(passed)} of {len(passed)} passed", flush=True)
    return all(passed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
