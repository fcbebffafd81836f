"""Responses of a service, and the differences between two responses to the same request."""

import dataclasses
import json
import re
from collections.abc import Collection, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
REQUEST_ID = re.compile(rf"req-{UUID.pattern}")
#: headers of the HTTP server, not of the service
SERVERS_OWN = {"server", "date", "connection", "transfer-encoding"}
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
#: lists in bodies whose order isn't defined, by key
UNORDERED_LISTS = {
    *("resource_providers", "traits", "aggregates"),
    *("allocation_requests", "allocations", "mappings"),
}
#: keys in a documented order; the other keys are names and uuids
FIELD = re.compile("[a-z_]+")
ANYTHING = "<any>"


@dataclasses.dataclass(frozen=True)
class Answer:
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
    """Reads the responses of one service in the terms of a script.

    Values that the service generated are replaced by their names in the script, or removed.

    :param names: generated values with their names in scripts; changes while scripts run
    :param sent: uuids that requests contained; changes while scripts run
    """

    def __init__(self, names: Mapping[str, str], sent: Collection[str]) -> None:
        self._names = names
        self._sent = sent

    def headers(self, answer: Answer) -> dict[str, str]:
        """Return the headers that must be equal, by name."""
        found = {k: self.text(v) for k, v in answer.headers.items() if k not in SERVERS_OWN}
        if "last-modified" in found:
            found["last-modified"] = ANYTHING
        return found

    def body(self, answer: Answer) -> Any:
        """Return the body as a JSON value, or as text."""
        try:
            text = self.text(answer.body.decode())
        except UnicodeDecodeError:
            return answer.body
        try:
            return _arranged(json.loads(text))
        except ValueError:
            return _message(text)

    def text(self, text: str) -> str:
        """Return the text without generated values."""
        text = REQUEST_ID.sub("<request id>", text)
        return UUID.sub(lambda found: self._known(found[0]), text)

    def _known(self, uuid: str) -> str:
        if name := self._names.get(uuid):
            return name
        return uuid if uuid in self._sent else "<new uuid>"


def _arranged(value: Any, key: str = "") -> Any:
    """Return a body's value with a defined order for everything whose order isn't defined."""
    if isinstance(value, dict):
        # mappings of candidates have suffixes as keys
        return {
            name: _arranged(item, key if key == "mappings" else name)
            for name, item in value.items()
        }
    if isinstance(value, list):
        items = [_arranged(item) for item in value]
        return sorted(items, key=_sortable) if key in UNORDERED_LISTS else items
    return _message(value) if isinstance(value, str) and key == "detail" else value


def _message(text: str) -> str:
    """Return an error's message with its lists of names sorted."""
    for names in UNORDERED:
        text = names.sub(_sorted_names, text)
    return ANY_TEXT.sub(ANYTHING, text)


def _sortable(value: Any) -> str:
    # the order of an object's keys isn't defined either
    return json.dumps(value, sort_keys=True)


def _sorted_names(found: re.Match[str]) -> str:
    begin, end = (at - found.start() for at in found.span("names"))
    names = ", ".join(sorted(found["names"].split(", ")))
    return found[0][:begin] + names + found[0][end:]


def differences(
    reference: Answer, ours: Answer, reference_reader: Reader, our_reader: Reader
) -> list[str]:
    """Return the differences of our response from the reference's, a line each: theirs first."""
    lines = []
    if reference.status != ours.status:
        lines.append(f"status: {reference.status} / {ours.status}")
    theirs, mine = reference_reader.body(reference), our_reader.body(ours)
    lines += value_differences("body", theirs, mine)
    # different bodies have different lengths
    same_length = not lines and ANYTHING not in json.dumps(theirs, default=str)
    return lines + header_differences(
        reference, ours, reference_reader, our_reader, lengths=same_length
    )


def header_differences(
    reference: Answer,
    ours: Answer,
    reference_reader: Reader,
    our_reader: Reader,
    lengths: bool = False,
) -> list[str]:
    """Return the differences of headers that must be equal, a line each: the reference's first.

    :param lengths: whether Content-Length must be equal, too
    """
    their_headers, my_headers = reference_reader.headers(reference), our_reader.headers(ours)
    if not lengths:
        their_headers.pop("content-length", None)
        my_headers.pop("content-length", None)
    return [
        f"header {name}: {their_headers.get(name)} / {my_headers.get(name)}"
        for name in sorted({*their_headers, *my_headers})
        if their_headers.get(name) != my_headers.get(name)
    ]


def value_differences(place: str, theirs: Any, mine: Any) -> list[str]:
    """Return the differences of two JSON values; 1, 1.0 and true are three different values."""
    if type(theirs) is not type(mine):
        return [f"{place}: {theirs!r} / {mine!r}"]
    if isinstance(theirs, dict):
        lines = []
        for key in [*theirs, *(key for key in mine if key not in theirs)]:
            if key not in mine or key not in theirs:
                lines.append(f"{place}.{key}: {theirs.get(key, '-')!r} / {mine.get(key, '-')!r}")
            else:
                lines += value_differences(f"{place}.{key}", theirs[key], mine[key])
        order, my_order = ([k for k in value if FIELD.fullmatch(k)] for value in (theirs, mine))
        if not lines and order != my_order:
            lines.append(f"{place}, order of keys: {order} / {my_order}")
        return lines
    if isinstance(theirs, list) and len(theirs) == len(mine):
        return [
            line
            for index, pair in enumerate(zip(theirs, mine, strict=True))
            for line in value_differences(f"{place}[{index}]", *pair)
        ]
    # repr, because NaN isn't equal to itself
    return [] if repr(theirs) == repr(mine) else [f"{place}: {theirs!r} / {mine!r}"]
