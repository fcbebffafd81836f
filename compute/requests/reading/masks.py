"""Lists of processors such as `0-3,^1`: ranges, single ones and exclusions, in any order."""

from collections.abc import Sequence

from compute.requests.reading.refusal import Refused
from compute.requests.reading.values import whole_number

#: first and last processor
Range = tuple[int, int]


def chosen(name: str, text: str) -> list[Range]:
    """Return the processors that a list names, as ranges that don't touch, in order.

    Spaces and empty parts are allowed. Exclusions hold wherever they stand.

    :param name: whose value the list is

    Raises Refused if a part names no processors.
    """
    wanted, excluded = list[Range](), list[Range]()
    for part in filter(None, (part.strip() for part in text.split(","))):
        ends = [whole_number(end) for end in part.removeprefix("^").split("-", 1)]
        first, last = ends[0], ends[-1]
        if first is None or last is None or not 0 <= first <= last:
            raise Refused(f"{name}={text} is no list of processors such as 0-3,^1: {part!r}.")
        (excluded if part.startswith("^") else wanted).append((first, last))
    return _without(_merged(wanted), _merged(excluded))


def of_guest(name: str, text: str, vcpus: int) -> list[Range]:
    """Return the processors of a guest that a list names; one that begins with ^ means all others.

    Raises Refused if a part names no processors.
    """
    if text.strip().startswith("^"):
        if vcpus < 1:
            raise Refused(f"{name}={text} excludes processors of a flavor that has none.")
        text = f"0-{vcpus - 1},{text}"
    return chosen(name, text)


def count(ranges: Sequence[Range]) -> int:
    """Return how many processors the ranges have."""
    return sum(last - first + 1 for first, last in ranges)


def count_below(ranges: Sequence[Range], vcpus: int) -> int:
    """Return how many of the processors a guest with `vcpus` has."""
    return sum(max(0, min(last, vcpus - 1) - first + 1) for first, last in ranges)


def _merged(ranges: Sequence[Range]) -> list[Range]:
    result = list[Range]()
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(last, result[-1][1]))
        else:
            result.append((first, last))
    return result


def _without(ranges: Sequence[Range], excluded: Sequence[Range]) -> list[Range]:
    result = list[Range]()
    for first, last in ranges:
        for start, end in excluded:
            if end < first or start > last:
                continue
            if start > first:
                result.append((first, start - 1))
            first = end + 1
            if first > last:
                break
        if first <= last:
            result.append((first, last))
    return result
