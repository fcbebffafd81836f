"""Write JSON exactly as the reference does: blanks after separators, ASCII only."""

import json
from json.encoder import encode_basestring_ascii
from typing import Any


def dumps(value: Any) -> str:
    """Return the value as JSON."""
    return json.dumps(value)


def quoted(text: str) -> str:
    """Return the string as JSON, for bodies that are built from pieces."""
    return encode_basestring_ascii(text)
