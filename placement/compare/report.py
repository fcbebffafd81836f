"""The result of a comparison, for people and as JSON."""

import collections
import dataclasses
import json
from collections.abc import Iterator, Mapping

from placement.compare import exit_codes
from placement.compare.request import METHOD, NO_VERSION, Request
from placement.compare.run import Outcome, RunTally
from placement.compare.verdict import Difference, VerdictKind

#: characters of a value, and places of a request, that are shown
_LONGEST_VALUE, _MOST_PLACES = 100, 10


@dataclasses.dataclass(frozen=True)
class Compared:
    """A finished comparison: what was compared, and what came of it.

    :param skipped: number of requests that weren't sent, by reason
    """

    this: str
    other: str
    requests: int
    tally: RunTally
    skipped: Mapping[str, int]

    @property
    def granted(self) -> int:
        """The number of requests that the other service granted."""
        return sum(count for status, count in self.tally.statuses.items() if 200 <= status < 300)

    @property
    def incomplete(self) -> list[str]:
        """What keeps the comparison from being a proof, a sentence each."""
        tally = self.tally
        found = []
        if tally.ended:
            found.append(f"The run ended early: {tally.ended}")
        if tally.left:
            found.append(f"{tally.left} requests were not compared.")
        if tally.count(VerdictKind.ERROR):
            found.append(f"{tally.count(VerdictKind.ERROR)} requests had no answer to compare.")
        if tally.count(VerdictKind.UNDECIDED):
            found.append(f"{tally.count(VerdictKind.UNDECIDED)} requests could not be judged.")
        if not self.granted:
            found.append("The other service granted none of the requests.")
        return found


def exit_code(compared: Compared, interrupted: bool = False) -> int:
    """Return the exit code of the command."""
    if interrupted:
        return exit_codes.INTERRUPTED
    if compared.tally.count(VerdictKind.DIFFERENT):
        return exit_codes.DIFFERENT
    return exit_codes.INCOMPLETE if compared.incomplete else exit_codes.SAME


def text(compared: Compared, most: int) -> str:
    """Return the report for people.

    :param most: maximum number of requests that are shown of each kind
    """
    return "\n".join(_lines(compared, most))


def _lines(compared: Compared, most: int) -> Iterator[str]:
    tally = compared.tally
    for kind, title in (
        (VerdictKind.DIFFERENT, "DIFFERENT"),
        (VerdictKind.ERROR, "ERROR"),
        (VerdictKind.UNDECIDED, "UNDECIDED"),
        (VerdictKind.CHANGED, "CHANGED MEANWHILE"),
    ):
        outcomes = tally.of(kind)
        for outcome in outcomes[:most]:
            yield f"{title}  {_named(outcome.request)}"
            yield from (f"    {line}" for line in _described(outcome))
        if len(outcomes) > most:
            yield f"… and {len(outcomes) - most} more; --show {len(outcomes)} shows all"
    if tally.others:
        yield ""
    yield f"this service:   {compared.this}"
    yield f"other service:  {compared.other}"
    for reason, count in sorted(compared.skipped.items()):
        yield f"{count:>8}  skipped: {reason}"
    yield f"{compared.requests:>8}  requests"
    yield f"{tally.same:>8}  same"
    yield f"{tally.count(VerdictKind.KNOWN):>8}  same but for known deviations"
    for (section, words), count in _deviations(tally).items():
        yield f"{count:>18}  {section}: {words}"
    agreed = sum("agree now" in outcome.note for outcome in tally.of(VerdictKind.CHANGED))
    yield f"{tally.count(VerdictKind.CHANGED):>8}  changed meanwhile ({agreed} of them agree now)"
    yield f"{tally.count(VerdictKind.DIFFERENT):>8}  different"
    yield f"{tally.count(VerdictKind.ERROR):>8}  errors"
    yield f"{tally.count(VerdictKind.UNDECIDED):>8}  undecided"
    statuses = ", ".join(f"{status}: {n}" for status, n in sorted(tally.statuses.items()))
    yield f"Statuses of the other service: {statuses or 'none'}"
    yield from compared.incomplete
    yield _sentence(compared)


def _sentence(compared: Compared) -> str:
    code = exit_code(compared)
    if code == exit_codes.DIFFERENT:
        return "The services answer differently."
    if code == exit_codes.INCOMPLETE:
        return "No difference was found, but not everything was compared."
    return "No difference was found."


def _named(request: Request) -> str:
    version = "no microversion" if request.version is None else f"microversion {request.version}"
    names = "".join(f", {name}: {value}" for name, value in request.headers)
    return f"{METHOD} {request.path}  ({version}{names})"


def _described(outcome: Outcome) -> Iterator[str]:
    if outcome.verdict.why:
        yield outcome.verdict.why
    if outcome.note:
        yield outcome.note
    differences = outcome.verdict.differences
    for one in differences[:_MOST_PLACES]:
        yield f"{short(one.place)}: other {shown(one.other)}, this {shown(one.this)}"
    if len(differences) > _MOST_PLACES:
        yield f"… and {len(differences) - _MOST_PLACES} more places"


def shown(value: object) -> str:
    """Return a value in one line, shortened."""
    return short(value if isinstance(value, str) else json.dumps(value, default=repr))


def short(line: str) -> str:
    """Return a text in one line that any terminal can show, shortened."""
    line = "".join(one if one.isprintable() else " " for one in line)
    line = " ".join(line.split())
    return line if len(line) <= _LONGEST_VALUE else f"{line[: _LONGEST_VALUE - 1]}…"


def _deviations(tally: RunTally) -> collections.Counter[tuple[str, str]]:
    """Return how many requests were the same but for each known deviation."""
    return collections.Counter(
        (outcome.verdict.deviation.section, outcome.verdict.deviation.reason)
        for outcome in tally.of(VerdictKind.KNOWN)
        if outcome.verdict.deviation is not None
    )


def as_json(compared: Compared, most: int, code: int) -> str:
    """Return the report as one JSON object; `most` as for `text`."""
    tally = compared.tally
    body = {
        "this": compared.this,
        "other": compared.other,
        "exit_code": code,
        "requests": compared.requests,
        "counts": {kind.value: tally.count(kind) for kind in VerdictKind} | {"left": tally.left},
        "statuses": {str(status): n for status, n in sorted(tally.statuses.items())},
        "skipped": dict(sorted(compared.skipped.items())),
        "ended": tally.ended or None,
        "incomplete": compared.incomplete,
        "known_deviations": [
            {"section": section, "reason": reason, "count": count}
            for (section, reason), count in _deviations(tally).items()
        ],
        "outcomes": [_record(outcome) for kind in VerdictKind for outcome in tally.of(kind)[:most]],
    }
    return json.dumps(body, indent=2)


def _record(outcome: Outcome) -> dict[str, object]:
    request, verdict = outcome.request, outcome.verdict
    return {
        "kind": verdict.kind.value,
        "request": {
            "method": METHOD,
            "path": request.path,
            "microversion": request.version or NO_VERSION,
            "headers": dict(request.headers),
        },
        "why": verdict.why or (verdict.deviation.reason if verdict.deviation else None),
        "note": outcome.note or None,
        "differences": [_place(one) for one in verdict.differences[:_MOST_PLACES]],
        "places": len(verdict.differences),
    }


def _place(difference: Difference) -> dict[str, str]:
    return {
        "place": short(difference.place),
        "other": shown(difference.other),
        "this": shown(difference.this),
    }
