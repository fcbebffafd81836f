"""Examples of requests and answers, which a scenario of the tests wrote to `examples.json`."""

import functools
import json
from pathlib import Path

from placement.schemas.json_schema import Json

FILE = Path(__file__).with_name("examples.json")


@functools.cache
def example(method: str, path: str) -> Json:
    """Return the example of an operation: `places`, `query`, `request`, `status`, `answer`.

    It is of the newest microversion. An operation without one has an empty example.
    """
    found: Json = _all().get(f"{method} {path}", {})
    return found


@functools.cache
def _all() -> Json:
    found: Json = json.loads(FILE.read_text(encoding="utf-8"))
    return found
