"""What passes for a uuid in bodies, and its one spelling (rest-api.md 1.4)."""

import re
import uuid

_HEX = re.compile(r"[0-9a-f]{32}\Z")


def _bare(value: str) -> str:
    return value.replace("urn:", "").replace("uuid:", "").strip("{}").replace("-", "").lower()


def is_uuid_like(value: object) -> bool:
    """Whether the value is a uuid in any usual spelling: braces, `urn:`, case and dashes aside."""
    return isinstance(value, str) and _HEX.match(_bare(value)) is not None


def normalised(value: str) -> str:
    """The dashed lower-case spelling of a uuid-like string."""
    return str(uuid.UUID(_bare(value)))


def new() -> str:
    """A random uuid."""
    return str(uuid.uuid4())
