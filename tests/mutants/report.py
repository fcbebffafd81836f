"""The table of a run: how many mutants of each folder were killed; and those that weren't."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from tests.mutants.workers import KILLED, SURVIVED, TIMEOUT, UNCOVERED, Verdict

OUTCOMES = (KILLED, TIMEOUT, SURVIVED, UNCOVERED)


def percentage(verdicts: Sequence[Verdict]) -> float:
    """Return how many of a hundred were noticed; an endless run is noticed, too."""
    noticed = sum(verdict.outcome in (KILLED, TIMEOUT) for verdict in verdicts)
    return 100 * noticed / len(verdicts) if verdicts else 0.0


def table(verdicts: Iterable[Verdict]) -> list[str]:
    """Return the lines of the table."""
    folders: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        folders[str(PurePosixPath(verdict.mutant.path).parent)].append(verdict)
    lines = [f"{'':32}" + "".join(f"{outcome:>13}" for outcome in OUTCOMES)]
    everything = [verdict for found in folders.values() for verdict in found]
    for folder, found in [*sorted(folders.items()), ("all", everything)]:
        counts = Counter(verdict.outcome for verdict in found)
        numbers = "".join(f"{counts[outcome]:13}" for outcome in OUTCOMES)
        lines.append(f"{folder:32}{numbers}{percentage(found):9.1f} %")
    return lines


def survivors(verdicts: Iterable[Verdict]) -> list[str]:
    """Return the lines about each mutant that no test noticed."""
    return [
        f"{verdict.outcome}: {verdict.mutant}"
        for verdict in sorted(verdicts, key=lambda each: (each.mutant.path, each.mutant.line))
        if verdict.outcome in (SURVIVED, UNCOVERED)
    ]
