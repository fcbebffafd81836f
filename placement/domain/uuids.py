"""The spellings of a uuid that bodies may have, and the normalised one (rest-api.md 1.4)."""

import re
import uuid

_HEX = re.compile(r"[0-9a-f]{32}\Z")


def _bare(value: str) -> str:
    return value.replace("urn:", "").replace("uuid:", "").strip("{}").replace("-", "").lower()


def is_uuid_like(value: object) -> bool:
    """Return whether the value is a uuid, with or without braces, `urn:`, dashes or capitals."""
    return isinstance(value, str) and _HEX.match(_bare(value)) is not None


def normalised(value: str) -> str:
    """Return a uuid-like string in lower case with dashes."""
    return str(uuid.UUID(_bare(value)))


def new() -> str:
    """Return a random uuid."""
    return str(uuid.uuid4())
