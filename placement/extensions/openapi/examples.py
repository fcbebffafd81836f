"""Examples of requests and answers, which a test has sent and got (`examples.json`)."""

import functools
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("examples.json")


@functools.cache
def example(method: str, path: str) -> dict[str, Any]:
    """Return the example of an operation: `places`, `query`, `request`, `status`, `answer`.

    It is of the newest microversion. An operation without one has an empty example.
    """
    found: dict[str, Any] = _all().get(f"{method} {path}", {})
    return found


@functools.cache
def _all() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found
