"""What is wrong with a value that a JSON schema rejects, in jsonschema's words.

Only those errors are collected that jsonschema might choose to report.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import jsonschema
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator

from placement.domain.uuids import is_uuid_like
from placement.schemas.native_checks import Json, quick_check_down_to

LENIENT_FORMATS = jsonschema.FormatChecker(formats=())
LENIENT_FORMATS.checks("uuid")(is_uuid_like)
#: in query strings, uuids must have dashes
STRICT_FORMATS = jsonschema.FormatChecker(formats=("uuid",))


def _unique_items(
    validator: object, unique: bool, instance: object, schema: Json
) -> Iterator[jsonschema.ValidationError]:
    """Check `uniqueItems` as jsonschema does, but without comparing every pair of items."""
    if not unique or not isinstance(instance, list):
        return
    if len({_hashable(item) for item in instance}) < len(instance):
        yield jsonschema.ValidationError(f"{instance!r} has non-unique elements")


def _hashable(value: object) -> Hashable:
    """Return a key that is equal for values that JSON Schema treats as equal.

    1 and 1.0 are equal, 1 and true are not.
    """
    if isinstance(value, dict):
        return ("{", frozenset((key, _hashable(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("[", tuple(_hashable(item) for item in value))
    return ("?", value) if isinstance(value, bool) else value


def _items(
    validator: object, items: Json, instance: object, schema: Json
) -> Iterator[jsonschema.ValidationError]:
    """Check `items`; yield jsonschema's errors except those that can't be the reported one."""
    if isinstance(instance, list):
        places = ((place, instance[place]) for place in reversed(range(len(instance))))
        yield from _told(validator, items, places)


def _pattern_properties(
    validator: object, patterns: Json, instance: object, schema: Json
) -> Iterator[jsonschema.ValidationError]:
    """Check `patternProperties`; yield errors except those that can't be the reported one."""
    if isinstance(instance, dict):
        names = sorted(instance, reverse=True)
        for pattern, wanted in patterns.items():
            searched = _exact(pattern) if _has_exact_ends(validator) else pattern
            matching = [name for name in names if re.search(searched, name)]
            places = ((name, instance[name]) for name in matching)
            yield from _told(validator, wanted, places, schema_path=pattern)


def _exact(pattern: str) -> str:
    """Return the pattern with the end as JSON Schema has it: no newline may follow."""
    return pattern.replace("$", r"\Z")


def _exact_pattern(
    validator: object, pattern: str, instance: object, schema: Json
) -> Iterator[jsonschema.ValidationError]:
    """Check `pattern` as jsonschema does, but to the end."""
    if isinstance(instance, str) and not re.search(_exact(pattern), instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def _exact_additional(
    validator: object, allowed: object, instance: object, schema: Json
) -> Iterator[jsonschema.ValidationError]:
    """Check `additionalProperties` as jsonschema does, with patterns to the end."""
    patterns = schema.get("patternProperties")
    read = schema
    if patterns:
        read = {**schema, "patternProperties": {_exact(one): patterns[one] for one in patterns}}
    check = jsonschema.Draft202012Validator.VALIDATORS["additionalProperties"]
    for error in check(validator, allowed, instance, read):
        if patterns:
            names, of, regexes = error.message.rpartition("regexes: ")
            error.message = names + of + regexes.replace(r"\\Z", "$")
        yield error


def _has_exact_ends(validator: Validator) -> bool:
    return validator.VALIDATORS["pattern"] is _exact_pattern


def _told(
    validator: Validator, wanted: Json, places: Iterable[tuple[str | int, Any]], **position: str
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
            strict = validator.format_checker is STRICT_FORMATS
            has_none_nearer = quick_check_down_to(
                wanted, nearest - 2, strict, _has_exact_ends(validator)
            )


_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    {
        "uniqueItems": _unique_items,
        "items": _items,
        "patternProperties": _pattern_properties,
    },
)


_ExactValidator = jsonschema.validators.extend(
    _Validator, {"pattern": _exact_pattern, "additionalProperties": _exact_additional}
)


def why_not(
    source: Json, strict_uuids: bool, value: object, exact_ends: bool = False
) -> str | None:
    """Return jsonschema's message if the value is invalid, else None.

    :param source: the schema
    :param strict_uuids: whether uuids must have their dashes
    :param exact_ends: whether `$` in a pattern is the end; otherwise one newline may follow
    """
    made = _ExactValidator if exact_ends else _Validator
    validator = made(source, format_checker=STRICT_FORMATS if strict_uuids else LENIENT_FORMATS)
    try:
        error = best_match(validator.iter_errors(value))
        return None if error is None else str(error)
    except RecursionError:
        return "nested too deeply"
