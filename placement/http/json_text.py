"""Writing JSON just as the reference does: blanks after separators, ASCII only."""

import json
from json.encoder import encode_basestring_ascii
from typing import Any


def dumps(value: Any) -> str:
    """The value as JSON."""
    return json.dumps(value)


def quoted(text: str) -> str:
    """A string as JSON, for bodies that are put together from pieces."""
    return encode_basestring_ascii(text)
