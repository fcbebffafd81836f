"""Tell how fast this machine is now, so that times of different machines can be compared.

Run it with `python -m benchmarks.machine_speed`. It takes about two seconds.
"""

import os
import time

STEPS = 10_000_000


def loop_seconds() -> float:
    """Return the seconds that a plain loop takes, of the processor and not of the clock."""
    begun = time.process_time()
    total = 0
    for number in range(STEPS):
        total += number * number % 7
    return time.process_time() - begun


def main() -> None:
    """Print the fastest of three loops."""
    seconds = min(loop_seconds() for _ in range(3))
    processors = len(os.sched_getaffinity(0))
    print(f"machine: {STEPS:,} steps of a loop in {seconds:.2f} s, {processors} processors")


if __name__ == "__main__":
    main()
