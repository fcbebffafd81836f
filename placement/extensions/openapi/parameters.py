"""The parameters of an endpoint: of its path, its query and its headers."""

import re
from collections.abc import Iterator, Mapping

from placement.extensions.openapi.examples import example
from placement.http.dispatch import is_below_prefix
from placement.microversions import NEWEST, OLDEST, Version, name
from placement.schemas.filters import MEANINGS, MEANINGS_AT, REPEATED
from placement.schemas.json_schema import STRING, Json, SchemaTable, pick
from placement.schemas.requests import PLACES
from placement.schemas.success_headers import TAGGED

_PLACE = re.compile("{([a-z_]+)}")
#: a pattern of names that end in an optional suffix
_SUFFIXED = re.compile(r"\^(?P<name>[a-z_]+)\((?P<suffix>.+)\)\?\$")
_MEANING_OF_PLACE = {
    "consumer_uuid": "Uuid of the consumer.",
    "name": "Name of the trait or resource class.",
    "resource_class": "Name of the resource class.",
    "root_uuid": "Uuid of the root of the tree.",
    "uuid": "Uuid of the resource provider.",
}


def of_path(path: str, method: str) -> list[Json]:
    """Return the parameters in the path."""
    judged = PLACES.get((path, method), {})
    return [
        {
            "name": place,
            "in": "path",
            "required": True,
            "description": _MEANING_OF_PLACE[place],
            "schema": judged.get(place, STRING) | {"minLength": 1},
        }
        | _example(example(method, path).get("places", {}).get(place))
        for place in _PLACE.findall(path)
    ]


def _example(value: str | None) -> Json:
    return {} if value is None else {"example": value}


def of_query(
    queries: Mapping[str, SchemaTable], path: str, method: str, version: Version
) -> list[Json]:
    """Return the parameters of the query; those of groups with suffixes are one object.

    :param queries: the schemas of queries by path
    """
    table = queries.get(path)
    if method != "GET" or table is None or min(table) > version:
        return []
    schema = pick(table, version)
    needed = schema.source.get("required", ())
    found = [
        _parameter(key, rule, version, key in needed, path)
        for key, rule in schema.source["properties"].items()
    ]
    patterns = schema.source.get("patternProperties", {})
    return [*found, *_of_groups(patterns, version)] if patterns else found


def _meaning(key: str, path: str) -> str:
    """Return what a parameter means. Raises LookupError that says where that has to be written."""
    meaning = MEANINGS_AT.get((path, key), MEANINGS.get(key))
    if meaning is None:
        raise LookupError(
            f"Say what the parameter {key!r} of {path or 'groups'} means: add it to MEANINGS in "
            "placement/schemas/filters.py."
        )
    return meaning


def _parameter(
    key: str, rule: Json, version: Version, is_needed: bool = False, path: str = ""
) -> Json:
    repeats = key in REPEATED and version >= REPEATED[key]
    plain = {word: value for word, value in rule.items() if word != "type"}
    kinds = rule.get("type")
    if isinstance(kinds, list):
        # a query has texts only; the text of an integer is valid as an integer
        kinds = "integer" if "integer" in kinds else kinds[0]
    one = ({"type": kinds} if kinds else {}) | _fitting(kinds, plain)
    found: Json = {"name": key, "in": "query", "required": is_needed}
    found["description"] = _meaning(key, path)
    if not repeats:
        return found | {"schema": one}
    return found | {"explode": True, "schema": {"type": "array", "items": one}}


def _fitting(kind: str | None, rules: Json) -> Json:
    """Return the rules for values of a kind: those of texts say nothing of numbers."""
    of_texts = ("pattern", "minLength", "maxLength", "format")
    return {word: rule for word, rule in rules.items() if kind != "integer" or word not in of_texts}


def _of_groups(patterns: Json, version: Version) -> Iterator[Json]:
    """Yield the parameters of the group without a suffix, and one object for all other groups."""
    keys: Json = {}
    for pattern, rule in patterns.items():
        found = _SUFFIXED.fullmatch(pattern)
        if found is None:
            raise ValueError(f"{pattern!r} isn't the pattern of a group's parameter")
        base = found["name"]
        one = _parameter(base, rule, version)
        yield one
        keys[f"^{base}({found['suffix']})$"] = one["schema"]
    yield {
        "name": "groups",
        "in": "query",
        "required": False,
        "description": "The same parameters with suffixes, for groups of their own: "
        "`resources_NET=...&required_NET=...`.",
        "style": "form",
        "explode": True,
        "schema": {"type": "object", "patternProperties": keys, "additionalProperties": False},
    }


def of_header(path: str, method: str, version: Version) -> list[Json]:
    """Return the headers that a request may have."""
    found = [_version_header(version, path)]
    if method == "GET" and path in TAGGED:
        found.append(
            {
                "name": "If-None-Match",
                "in": "header",
                "required": False,
                "description": "The ETag of an answer that the client has. If it is still true, "
                "the answer is 304, without a body.",
                # what is no tag is ignored
                "schema": STRING,
            }
        )
    return found


def _version_header(version: Version, path: str) -> Json:
    """Return the header that asks for the version.

    Its default is the document's own version, which generated clients then send.
    """
    without = NEWEST if is_below_prefix(path) else OLDEST
    wanted = f"placement {name(version)}"
    escaped = wanted.replace(".", r"\.")
    return {
        "name": "OpenStack-API-Version",
        "in": "header",
        "required": False,
        "description": f"The microversion. Without it, {name(without)} counts.",
        # a pattern, because generators of clients want headers to be plain texts
        "schema": {"type": "string", "pattern": f"^{escaped}$", "default": wanted},
    }
