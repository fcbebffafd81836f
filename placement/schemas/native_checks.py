"""Checks in native code that recognise most values that are valid for a JSON schema."""

import re
from collections.abc import Callable
from typing import Any

import jsonschema_rs

from placement.domain.uuids import is_uuid_like

Json = dict[str, Any]

_STRICT_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def _is_strict_uuid(value: str) -> bool:
    return _STRICT_UUID.fullmatch(value) is not None


#: the end of a text in a pattern: as in Python, where a newline may follow; and without one, which
#: Python and native code read alike
_LOOSE, _EXACT = r"\n?$", r"$(?!\n)"


def quick_check(
    source: Json, strict_uuids: bool, exact_ends: bool = False
) -> Callable[[Any], bool]:
    """Return a native check. A value that passes it is valid; one that fails may be valid, too.

    :param strict_uuids: whether uuids must have their dashes
    :param exact_ends: whether `$` in a pattern is the end; otherwise one newline may follow
    """
    validator = jsonschema_rs.Draft202012Validator(
        source if exact_ends else _with_ends(source, _LOOSE),
        formats={"uuid": _is_strict_uuid if strict_uuids else is_uuid_like},
        validate_formats=True,
    )
    return validator.is_valid


def with_exact_ends(source: Json) -> Json:
    """Return the schema with patterns that also Python matches to the end, final newline or not."""
    exact: Json = _with_ends(source, _EXACT)
    return exact


def as_written(text: str) -> str:
    """Return a message about a schema `with_exact_ends` with the patterns as they were."""
    return text.replace(repr(_EXACT)[1:-1], "$")


def _with_ends(source: Any, end: str) -> Any:
    """Return the schema with patterns that have something else for `$`."""
    if isinstance(source, list):
        return [_with_ends(item, end) for item in source]
    if not isinstance(source, dict):
        return source
    read = {name: _with_ends(item, end) for name, item in source.items()}
    if isinstance(source.get("pattern"), str):
        read["pattern"] = source["pattern"].replace("$", end)
    if "patternProperties" in source:
        read["patternProperties"] = {
            pattern.replace("$", end): item for pattern, item in read["patternProperties"].items()
        }
    return read


_checks: dict[tuple[int, int, bool], tuple[Any, Callable[[Any], bool]]] = {}


def quick_check_down_to(source: Json, depth: int, strict_uuids: bool) -> Callable[[Any], bool]:
    """Return a native check of values down to a depth, cached by schema."""
    key = id(source), depth, strict_uuids
    if key not in _checks:
        # keep a reference to the schema, so that its id isn't reused
        _checks[key] = source, quick_check(_down_to(source, depth), strict_uuids)
    return _checks[key][1]


def _down_to(source: Any, depth: int) -> Any:
    """Return the schema without constraints below a depth; 0 keeps those of the value itself."""
    if depth < 0 or not isinstance(source, dict):
        return True
    read = dict(source)
    for keyword in ("properties", "patternProperties"):
        if keyword in source:
            read[keyword] = {
                name: _down_to(wanted, depth - 1) for name, wanted in source[keyword].items()
            }
    if "items" in source:
        read["items"] = _down_to(source["items"], depth - 1)
    return read
