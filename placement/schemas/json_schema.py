"""A compiled JSON schema, and building blocks for schemas.

`jsonschema` decides what is wrong with a value and words the message, as in the reference. Berth
reports the same message faster: valid values are recognised by native code (`jsonschema_rs`), and
for invalid values only those errors are collected that jsonschema might choose to report.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import jsonschema
import jsonschema_rs
from jsonschema.exceptions import best_match

from placement.domain.uuids import is_uuid_like

Json = dict[str, Any]

_LENIENT = jsonschema.FormatChecker(formats=())
_LENIENT.checks("uuid")(is_uuid_like)
#: in query strings, uuids must have dashes
_STRICT = jsonschema.FormatChecker(formats=("uuid",))


def _unique_items(
    validator: Any, unique: bool, instance: Any, schema: Json
) -> Iterator[jsonschema.ValidationError]:
    """Check `uniqueItems` as jsonschema does, but without comparing every pair of items."""
    if not unique or not isinstance(instance, list):
        return
    if len({_hashable(item) for item in instance}) < len(instance):
        yield jsonschema.ValidationError(f"{instance!r} has non-unique elements")


def _hashable(value: Any) -> Hashable:
    """Return a key that is equal for values that JSON Schema treats as equal.

    1 and 1.0 are equal, 1 and true are not.
    """
    if isinstance(value, dict):
        return ("{", frozenset((key, _hashable(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("[", tuple(_hashable(item) for item in value))
    return ("?", value) if isinstance(value, bool) else value


def _items(
    validator: Any, items: Json, instance: Any, schema: Json
) -> Iterator[jsonschema.ValidationError]:
    """Check `items`; yield jsonschema's errors except those that can't be the reported one."""
    if isinstance(instance, list):
        places = ((place, instance[place]) for place in reversed(range(len(instance))))
        yield from _told(validator, items, places)


def _pattern_properties(
    validator: Any, patterns: Json, instance: Any, schema: Json
) -> Iterator[jsonschema.ValidationError]:
    """Check `patternProperties`; yield errors except those that can't be the reported one."""
    if isinstance(instance, dict):
        names = sorted(instance, reverse=True)
        for pattern, wanted in patterns.items():
            places = ((name, instance[name]) for name in names if re.search(pattern, name))
            yield from _told(validator, wanted, places, schema_path=pattern)


def _told(
    validator: Any, wanted: Json, places: Iterable[tuple[str | int, Any]], **position: str
) -> Iterator[jsonschema.ValidationError]:
    """Yield the errors of the values, except those that can't be the reported one.

    jsonschema reports the error nearest to the root of the document, and of several at the same
    depth the one at the last place (`jsonschema.exceptions.relevance`). So after an error, only
    errors at a smaller depth matter, and none after an error in a value itself.

    :param places: (index or key, value), in descending order of the index or key
    """
    has_none_nearer: Callable[[Any], bool] | None = None
    nearest = 0
    for place, value in places:
        if has_none_nearer is not None and has_none_nearer(value):
            continue
        errors = list(validator.descend(value, wanted, path=place, **position))
        # computed before the errors are yielded, because the caller extends their paths
        nearest = min((len(error.path) for error in errors), default=nearest)
        yield from errors
        if nearest == 1:
            return
        if errors:
            has_none_nearer = _quick_check_down_to(wanted, nearest - 2, validator.format_checker)


_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    {
        "uniqueItems": _unique_items,
        "items": _items,
        "patternProperties": _pattern_properties,
    },
)


def _quick_check(source: Json, checker: jsonschema.FormatChecker) -> Callable[[Any], bool]:
    """Return a native check. A value that passes it is valid; one that fails may be valid, too."""
    validator = jsonschema_rs.Draft202012Validator(
        _as_python_reads_it(source),
        formats={"uuid": lambda value: checker.conforms(value, "uuid")},
        validate_formats=True,
    )
    return validator.is_valid


def _as_python_reads_it(source: Any) -> Any:
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


_checks: dict[tuple[int, int, int], tuple[Any, Callable[[Any], bool]]] = {}


def _quick_check_down_to(
    source: Json, depth: int, checker: jsonschema.FormatChecker
) -> Callable[[Any], bool]:
    """Return a native check of values down to a depth, cached by schema."""
    key = id(source), depth, id(checker)
    if key not in _checks:
        # keep a reference to the schema, so that its id isn't reused
        _checks[key] = source, _quick_check(_down_to(source, depth), checker)
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


class Schema:
    """A JSON schema that returns a message for an invalid value.

    :param source: the schema itself
    :param strict_uuids: whether uuids must have their dashes
    """

    def __init__(self, source: Json, strict_uuids: bool = False) -> None:
        self.source = source
        checker = _STRICT if strict_uuids else _LENIENT
        self._validator = _Validator(source, format_checker=checker)
        self._fits_surely = _quick_check(source, checker)

    def why_not(self, value: Any) -> str | None:
        """Return jsonschema's message if the value is invalid, else None."""
        if self._fits_surely(value):
            return None
        try:
            error = best_match(self._validator.iter_errors(value))
            return None if error is None else str(error)
        except RecursionError:
            return "nested too deeply"


UUID: Json = {"type": "string", "format": "uuid"}
INTEGER: Json = {"type": "integer"}
STRING: Json = {"type": "string"}
#: pattern for keys that are uuids of providers or consumers
UUID_KEY = "^[0-9a-fA-F-]{36}$"
RESOURCE_CLASS_KEY = "^[A-Z0-9_]+$"


def closed_object(properties: Json, required: list[str] | None = None) -> Json:
    """Return the schema of an object with these properties and no others.

    :param required: names of the properties that must be present
    """
    schema: Json = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema | {"additionalProperties": False}
