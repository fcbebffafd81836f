"""A compiled JSON schema, and the words schemas are built from."""

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
#: query strings take no uuid without its dashes
_STRICT = jsonschema.FormatChecker(formats=("uuid",))


def _unique_items(
    validator: Any, unique: bool, instance: Any, schema: Json
) -> Iterator[jsonschema.ValidationError]:
    """What jsonschema says of lists with repetitions, without comparing each item with each."""
    if not unique or not isinstance(instance, list):
        return
    if len({_hashable(item) for item in instance}) < len(instance):
        yield jsonschema.ValidationError(f"{instance!r} has non-unique elements")


def _hashable(value: Any) -> Hashable:
    """Equal for what JSON Schema holds to be equal: 1 and 1.0, but not 1 and true."""
    if isinstance(value, dict):
        return ("{", frozenset((key, _hashable(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("[", tuple(_hashable(item) for item in value))
    return ("?", value) if isinstance(value, bool) else value


def _items(
    validator: Any, items: Json, instance: Any, schema: Json
) -> Iterator[jsonschema.ValidationError]:
    """What jsonschema says of a list's items, as far as it can be the error that is told."""
    if isinstance(instance, list):
        places = ((place, instance[place]) for place in reversed(range(len(instance))))
        yield from _told(validator, items, places)


def _pattern_properties(
    validator: Any, patterns: Json, instance: Any, schema: Json
) -> Iterator[jsonschema.ValidationError]:
    """What jsonschema says of an object's values, as far as it can be the error that is told."""
    if isinstance(instance, dict):
        names = sorted(instance, reverse=True)
        for pattern, wanted in patterns.items():
            places = ((name, instance[name]) for name in names if re.search(pattern, name))
            yield from _told(validator, wanted, places, schema_path=pattern)


def _told(
    validator: Any, wanted: Json, places: Iterable[tuple[str | int, Any]], **position: str
) -> Iterator[jsonschema.ValidationError]:
    """The errors of values in descending order of their places.

    Of all errors the one that is nearest to the top is told, and of those the one at the last
    place (`jsonschema.exceptions.relevance`). So after an error only nearer ones matter, and when
    a value itself is wrong, none.
    """
    has_none_nearer: Callable[[Any], bool] | None = None
    nearest = 0
    for place, value in places:
        if has_none_nearer is not None and has_none_nearer(value):
            continue
        errors = list(validator.descend(value, wanted, path=place, **position))
        # found out before they are handed up, where their paths grow
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
    """A check in native code of what is certainly valid; only its yes counts."""
    validator = jsonschema_rs.Draft202012Validator(
        _as_python_reads_it(source),
        formats={"uuid": lambda value: checker.conforms(value, "uuid")},
        validate_formats=True,
    )
    return validator.is_valid


def _as_python_reads_it(source: Any) -> Any:
    """The schema with patterns whose `$` overlooks a newline at the end, as Python's does."""
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
    """A quick check of values without what is deeper in them; made once for each schema."""
    key = id(source), depth, id(checker)
    if key not in _checks:
        # the schema is kept, so that no other one gets its id
        _checks[key] = source, _quick_check(_down_to(source, depth), checker)
    return _checks[key][1]


def _down_to(source: Any, depth: int) -> Any:
    """The schema without demands on what is deeper in a value; 0 leaves the value itself."""
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
    """A JSON schema that says what is wrong with a value.

    :param source: the schema itself
    :param strict_uuids: whether uuids must have their dashes
    """

    def __init__(self, source: Json, strict_uuids: bool = False) -> None:
        self.source = source
        checker = _STRICT if strict_uuids else _LENIENT
        self._validator = _Validator(source, format_checker=checker)
        self._fits_surely = _quick_check(source, checker)

    def why_not(self, value: Any) -> str | None:
        """The reason why the value doesn't fit, in jsonschema's words; None if it does."""
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
#: a key that names a provider or consumer
UUID_KEY = "^[0-9a-fA-F-]{36}$"
RESOURCE_CLASS_KEY = "^[A-Z0-9_]+$"


def closed_object(properties: Json, required: list[str] | None = None) -> Json:
    """An object with these properties and no others."""
    schema: Json = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema | {"additionalProperties": False}
