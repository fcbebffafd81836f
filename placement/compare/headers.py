"""The headers of answers that clients may rely on, by their meaning."""

import re
from email.utils import parsedate_to_datetime

from placement.compare.answers import ReceivedAnswer
from placement.compare.values import ABSENT

MATTERING = (
    *("openstack-api-version", "vary", "cache-control", "last-modified"),
    *("content-type", "location", "allow"),
)
#: seconds between a last-modified and the date of its answer, if it is the time of the answer
_AT_ONCE = 2
#: added by proxies that compress
_OF_PROXIES = "accept-encoding"


def meaning_of(answer: ReceivedAnswer, mount: str = "") -> dict[str, str]:
    """Return the headers that must be equal, in a form in which equal ones mean the same.

    :param mount: the path below which the service is mounted
    """
    found = {name: answer.headers[name] for name in MATTERING if name in answer.headers}
    for name in ("vary", "allow", "cache-control"):
        if name in found:
            parts = {part.strip().lower() for part in found[name].split(",")}
            found[name] = ", ".join(sorted(parts - {_OF_PROXIES, ""}))
    if found.get("vary") == "":
        del found["vary"]
    if "content-type" in found:
        found["content-type"] = re.sub(r"\s*;\s*", "; ", found["content-type"].strip().lower())
    if "location" in found:
        path = re.sub(r"^https?://[^/]*", "", found["location"])
        found["location"] = path.removeprefix(mount)
    return found


def header_differences(
    theirs: ReceivedAnswer, mine: ReceivedAnswer, their_mount: str = "", my_mount: str = ""
) -> list[tuple[str, str, str]]:
    """Return which headers differ: name, their value, my value; ABSENT if there is none.

    :param their_mount: the path below which their service is mounted
    """
    others, ours = meaning_of(theirs, their_mount), meaning_of(mine, my_mount)
    if _is_of_the_answer(theirs) and _is_of_the_answer(mine):
        others["last-modified"] = ours["last-modified"]
    return [
        (f"header {name}", others.get(name, ABSENT), ours.get(name, ABSENT))
        for name in MATTERING
        if others.get(name) != ours.get(name)
    ]


def _is_of_the_answer(answer: ReceivedAnswer) -> bool:
    """Return whether last-modified is the date that the server says it is."""
    try:
        modified = parsedate_to_datetime(answer.headers.get("last-modified", ""))
        date = parsedate_to_datetime(answer.headers.get("date", ""))
        return abs((date - modified).total_seconds()) <= _AT_ONCE
    except (ValueError, TypeError, OverflowError):
        # no dates, or one of them without a time zone
        return False
