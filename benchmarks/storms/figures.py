"""What the answers of a storm took: tables, and the processor time behind them."""

import collections
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.table import Table

from benchmarks.storms.recording import RecordedRequest


def percentile(times: Sequence[float], part: float) -> float:
    """Return the time that this part of the sorted times doesn't exceed."""
    return times[min(len(times) - 1, int(len(times) * part))]


def table(title: str, groups: dict[str, list[RecordedRequest]]) -> Table:
    """Return a table with a line for each group of answers."""
    shown = Table(title, "requests", "p50 ms", "p99 ms", "longest ms", "answers")
    for name, group in groups.items():
        times = sorted(asked.took for asked in group)
        statuses = collections.Counter(str(asked.status or "none") for asked in group)
        shown.add_row(
            name,
            f"{len(group):,}",
            *(f"{percentile(times, part) * 1e3:,.0f}" for part in (0.5, 0.99, 1)),
            ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items())),
        )
    return shown


def by_kind(log: Iterable[RecordedRequest]) -> dict[str, list[RecordedRequest]]:
    """Return the answers by kind of request; kinds that are most frequent come first."""
    found: dict[str, list[RecordedRequest]] = collections.defaultdict(list)
    for asked in log:
        found[asked.kind].append(asked)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def processor_time(pids: Iterable[int]) -> float:
    """Return the seconds that processes have used, with their children that live or have ended."""
    total, waiting = 0.0, list(pids)
    ticks = os.sysconf("SC_CLK_TCK")
    while waiting:
        pid = waiting.pop()
        process = Path(f"/proc/{pid}")
        try:
            # after the name, which may have spaces
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            for task in (process / "task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            # it has ended, or a thread of it
            continue
        total += sum(map(int, fields[11:15])) / ticks
    return total
