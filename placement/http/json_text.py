"""Read JSON of requests, and write that of answers.

Requests are read by orjson; what orjson rejects or would round, by the standard library. Answers
are written exactly as the reference writes them: blanks after separators, ASCII only. Only long
answers of extensions have another form: `packed`.
"""

import json
import re
from json.encoder import encode_basestring_ascii
from typing import Any

import orjson

from placement.errors import MalformedJSON

#: integers this long may exceed 64 bits, and orjson would convert such integers to floats
_LONG_NUMBER = re.compile(rb"\d{19}")


def dumps(value: object) -> str:
    """Return the value as JSON."""
    return json.dumps(value)


def quoted(text: str) -> str:
    """Return the string as JSON, for bodies that are built from pieces."""
    return encode_basestring_ascii(text)


def packed(value: object) -> bytes:
    """Return the value as JSON in UTF-8, without blanks: several times as fast as `dumps`."""
    return orjson.dumps(value)


def why_no_nul(place: str) -> str:
    """Return what is wrong with a text that has the character NUL."""
    return f"{place} has the character NUL, which no text may have"


def place_of_nul(body: bytes, value: object) -> str | None:
    """Say where the parsed body has a string with NUL, like `$.consumers[0]`; None: nowhere.

    PostgreSQL can't store the character. The other databases store it, and compare names that have
    it differently from each other.
    """
    # JSON has no other way to write NUL, so nearly all bodies need no closer look
    if b"\\u0000" not in body:
        return None
    waiting: list[tuple[str, object]] = [("$", value)]
    while waiting:
        place, part = waiting.pop()
        if isinstance(part, str) and "\0" in part:
            return place
        if isinstance(part, dict):
            if any("\0" in name for name in part):
                return place
            waiting += [(f"{place}.{name}", item) for name, item in part.items()]
        elif isinstance(part, list):
            waiting += [(f"{place}[{number}]", item) for number, item in enumerate(part)]
    return None


def loads(body: bytes) -> Any:
    """Parse a request's body. Raises MalformedJSON with the standard library's message."""
    if not _LONG_NUMBER.search(body):
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            pass
    try:
        value = json.loads(body.decode())
        # fails on half of a surrogate pair, which no database can store
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as malformed:
        raise MalformedJSON(why=malformed) from malformed
    return value
