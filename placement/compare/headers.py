"""The headers of answers that clients may rely on, by their meaning."""

import re
from email.utils import parsedate_to_datetime

from placement.compare.answers import Answer

MATTERING = (
    *("openstack-api-version", "vary", "cache-control", "last-modified"),
    *("content-type", "location", "allow"),
)
#: stands for a last-modified that is the time of the answer itself
NOW = "the time of the answer"
#: seconds between a last-modified and the date of its answer, if it is the time of the answer
_AT_ONCE = 2
#: added by proxies that compress
_OF_PROXIES = "accept-encoding"


def meaning_of(answer: Answer, mount: str = "") -> dict[str, str]:
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
    if "last-modified" in found:
        found["last-modified"] = _modified(answer)
    return found


def _modified(answer: Answer) -> str:
    """Return the time of last-modified; NOW if it is the date that the server says it is."""
    text = answer.headers["last-modified"]
    try:
        modified = parsedate_to_datetime(text)
        date = parsedate_to_datetime(answer.headers.get("date", ""))
    except ValueError:
        return text
    return NOW if abs((date - modified).total_seconds()) <= _AT_ONCE else text
