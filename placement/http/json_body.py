"""Parse JSON with orjson, and with the standard library what orjson rejects or would round."""

import json
import re
from typing import Any

import orjson

from placement.errors import MalformedJSON

#: integers this long may exceed 64 bits, and orjson would convert such integers to floats
_LONG_NUMBER = re.compile(rb"\d{19}")


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
