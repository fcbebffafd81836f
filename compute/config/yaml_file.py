"""Reading YAML files that people and programs write: whatever is wrong is one ValueError.

A file may be cut off, binary, huge, or made so that a few lines stand for billions of values. The
YAML library raises many kinds of exceptions for these, or uses up all memory first.
"""

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

#: bytes of a file, values in a document with its aliases written out, and lists within lists
MOST_BYTES = 16 * 1024**2
MOST_VALUES = 1_000_000
DEEPEST = 100
_TOO_DEEP = f"has more than {DEEPEST} lists or mappings within each other"

# The loader in C, where there is one: the other one takes seconds for a list of thousands.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_STRING, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"


class _Loader(_SafeLoader):
    """Refuses keys that aren't strings, and keys that occur twice: YAML would forget the first."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[object, object]:
        seen = set()
        for key, _value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag not in (_STRING, _MERGE):
                raise yaml.constructor.ConstructorError(
                    problem="a key is not a string", problem_mark=key.start_mark
                )
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key.value!r} occurs twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def read_text(path: Path) -> str:
    """Return a file's text. Raises OSError, and ValueError if the file isn't text."""
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("is not a regular file")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"has more than {MOST_BYTES // 1024**2} MiB")
    return content.decode()


def parse_yaml(text: str) -> Any:
    """Return the document a text holds. Raises ValueError, with line and column where it can."""
    try:
        _check_size(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (it is a safe one)
    except yaml.YAMLError as error:
        if "maximum nesting depth" in str(error):
            # newer libraries have a limit of their own, and look ahead
            raise Unbounded(_TOO_DEEP) from error
        message = " ".join(str(error).replace('in "<unicode string>", ', "in ").split())
        raise ValueError(f"is not YAML: {message}") from error
    except Unbounded:
        raise
    except Exception as error:
        # The library raises what Python does for an impossible date, a number of 5,000 digits, …
        raise ValueError(f"has a value that makes no sense: {error}") from error


class Unbounded(ValueError):
    """The document is larger than any that makes sense."""


@dataclass
class _Part:
    """A list or mapping that is being read, and what it has so far."""

    anchor: str | None
    values: int = 1
    depth: int = 1


def _check_size(text: str) -> None:
    """Raise Unbounded before the document is built, if it would be too large."""
    whole = _Part(None)
    open_parts = [whole]
    anchored: dict[str, _Part] = {}
    for event in yaml.parse(text, Loader=_SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            open_parts.append(_Part(event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            _close(open_parts, anchored)
        elif isinstance(event, yaml.ScalarEvent):
            open_parts[-1].values += 1
            if event.anchor:
                anchored[event.anchor] = _Part(event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            if any(part.anchor == event.anchor for part in open_parts):
                raise Unbounded(f"has a value that is part of itself: {event.anchor}")
            _add(open_parts[-1], anchored.get(event.anchor or "", _Part(None)))
        if open_parts[-1].values > MOST_VALUES:
            raise Unbounded(f"stands for more than {MOST_VALUES} values")
        if len(open_parts) - 1 + open_parts[-1].depth > DEEPEST:
            raise Unbounded(_TOO_DEEP)


def _close(open_parts: list[_Part], anchored: dict[str, _Part]) -> None:
    part = open_parts.pop()
    if part.anchor:
        anchored[part.anchor] = part
    _add(open_parts[-1], part)


def _add(outer: _Part, inner: _Part) -> None:
    outer.values += inner.values
    outer.depth = max(outer.depth, inner.depth + 1)
