"""Checks in native code that recognise most values that are valid for a JSON schema."""

import re
from collections.abc import Callable
from typing import Any

from placement.domain.uuids import is_uuid_like

Json = dict[str, Any]

_STRICT_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def _is_strict_uuid(value: str) -> bool:
    return _STRICT_UUID.fullmatch(value) is not None


def quick_check(
    source: Json, strict_uuids: bool, exact_ends: bool = False
) -> Callable[[Any], bool]:
    """Return a native check. A value that passes it is valid; one that fails may be valid, too.

    :param strict_uuids: whether uuids must have their dashes
    :param exact_ends: whether `$` in a pattern is the end; otherwise one newline may follow
    """
    # imported here because an idle worker checks nothing
    import jsonschema_rs

    validator = jsonschema_rs.Draft202012Validator(
        source if exact_ends else _as_python_reads_it(source),
        formats={"uuid": _is_strict_uuid if strict_uuids else is_uuid_like},
        validate_formats=True,
    )
    return validator.is_valid


def _as_python_reads_it(source: object) -> Any:
    """Return the schema with patterns whose `$` matches before a final newline, as in Python."""
    if isinstance(source, list):
        return [_as_python_reads_it(item) for item in source]
    if not isinstance(source, dict):
        return source
    read = {name: _as_python_reads_it(item) for name, item in source.items()}
    if isinstance(source.get("pattern"), str):
        read["pattern"] = _loose_end(source["pattern"])
    if "patternProperties" in source:
        read["patternProperties"] = {
            _loose_end(pattern): item for pattern, item in read["patternProperties"].items()
        }
    return read


def _loose_end(pattern: str) -> str:
    return pattern.replace("$", r"\n?$")


_checks: dict[tuple[int, int, bool, bool], tuple[Any, Callable[[Any], bool]]] = {}


def quick_check_down_to(
    source: Json, depth: int, strict_uuids: bool, exact_ends: bool
) -> Callable[[Any], bool]:
    """Return a native check of values down to a depth, cached by schema."""
    key = id(source), depth, strict_uuids, exact_ends
    if key not in _checks:
        # keep a reference to the schema, so that its id isn't reused
        _checks[key] = source, quick_check(_down_to(source, depth), strict_uuids, exact_ends)
    return _checks[key][1]


def _down_to(source: object, depth: int) -> Any:
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
