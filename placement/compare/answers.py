"""Answers of a service, and what in them has a meaning.

Two answers mean the same if they differ only in what no client may rely on: the order of some
lists, the order of names in an error's message, the id of the request.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
REQUEST_ID = re.compile(rf"req-{UUID.pattern}")
#: the end of a message: in JSON or plain text, or in an HTML page
END = r"(?=  $|\n\n\n )"
QUOTE = "(?:'|&#x27;)"
#: lists of names in error messages whose order isn't defined
UNORDERED = tuple(
    re.compile(pattern)
    for pattern in (
        rf"No such trait (?P<names>[^.<]+?){END}",
        rf"No such trait\(s\): (?P<names>.+?)\.{END}",
        rf"Inventory for {QUOTE}(?P<names>[^'&]+){QUOTE} on resource provider",
        rf"on resource provider {QUOTE}(?P<names>[^'&]+){QUOTE} invalid",
        r"Conflicting resource provider (?P<names>.+) already exists",
        r"bad group\(s\) - \[(?P<names>[^]]+)\]\.",
        r"in `same_subtree`: \[(?P<names>[^]]+)\] not found",
        r"\] not found in \[(?P<names>[^]]+)\]\.",
    )
)
#: messages of a database or a parser (rest-api.md 3.3)
ANY_TEXT = re.compile(r"(?<=Update conflict: ).*?(?=  $|\n\n\n)", re.DOTALL)
ANYTHING = "<any>"
#: lists in bodies whose order isn't defined, by key
UNORDERED_LISTS = {
    *("resource_providers", "traits", "aggregates"),
    *("allocation_requests", "allocations", "mappings"),
}


@dataclasses.dataclass(frozen=True)
class ReceivedAnswer:
    """A response as received; header names in lower case, repeated headers joined."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def modified(self) -> int | None:
        """Last-Modified in seconds since the epoch."""
        text = self.headers.get("last-modified")
        return None if text is None else int(parsedate_to_datetime(text).timestamp())


class Reader:
    """Reads the answers of one service by their meaning.

    :param rename: given a uuid that an answer has, returns what is compared instead of it
    :param mount: path below which the service is mounted. Links are compared without it
    """

    def __init__(self, rename: Callable[[str], str] | None = None, mount: str = "") -> None:
        self._rename = rename
        self._mount = mount

    def body(self, answer: ReceivedAnswer) -> Any:
        """Return the body as a JSON value with a defined order, or as text, or as bytes."""
        try:
            text = self.text(answer.body.decode())
        except UnicodeDecodeError:
            return answer.body
        try:
            return self._arranged(json.loads(text))
        except (ValueError, RecursionError):
            return _message(text)

    def text(self, text: str) -> str:
        """Return the text without generated values."""
        text = REQUEST_ID.sub("<request id>", text)
        if self._rename is None:
            return text
        rename = self._rename
        return UUID.sub(lambda found: rename(found[0]), text)

    def _arranged(self, value: object, key: str = "") -> object:
        """Return a body's value with a defined order for everything whose order isn't defined."""
        if isinstance(value, dict):
            # mappings of candidates have suffixes as keys
            return {
                name: self._arranged(item, key if key == "mappings" else name)
                for name, item in value.items()
            }
        if isinstance(value, list):
            items = [self._arranged(item) for item in value]
            return sorted(items, key=_sortable) if key in UNORDERED_LISTS else items
        if isinstance(value, str) and key == "href":
            return value.removeprefix(self._mount)
        return _message(value) if isinstance(value, str) and key == "detail" else value


def _message(text: str) -> str:
    """Return an error's message with its lists of names sorted."""
    for names in UNORDERED:
        text = names.sub(_sorted_names, text)
    return ANY_TEXT.sub(ANYTHING, text)


def _sortable(value: object) -> str:
    # the order of an object's keys isn't defined either
    return json.dumps(value, sort_keys=True)


def _sorted_names(found: re.Match[str]) -> str:
    begin, end = (at - found.start() for at in found.span("names"))
    names = ", ".join(sorted(found["names"].split(", ")))
    return found[0][:begin] + names + found[0][end:]
