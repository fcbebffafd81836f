"""Parts of requests that several operations have."""

import copy
import json
from typing import Any


def each_part_once(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document without what a request may have, if another operation's has the same.

    The bodies of five operations have the same `if`, those of six the same inventories, and three
    questions are searches: one code judges each of these, and its hundreds of boundaries are those
    of each operation. Parts that are required stay.
    """
    # GET and HEAD share a list, from which a part would be taken for both: each gets its own
    document = json.loads(json.dumps(document))
    seen: set[tuple[str, str]] = set()
    for operations in document["paths"].values():
        for operation in operations.values():
            if not isinstance(operation, dict):
                continue
            asked = operation.get("parameters", [])
            asked[:] = [one for one in asked if _is_new(document, one, seen)]
            for media in operation.get("requestBody", {}).get("content", {}).values():
                media["schema"] = _without(document, media["schema"], seen)
    return document


def _is_new(document: Any, parameter: Any, seen: set[tuple[str, str]]) -> bool:
    """Return whether a parameter is required, or was not seen; note it."""
    parameter = _resolved(document, parameter)
    key = parameter["name"], _rule(document, parameter)
    is_new = key not in seen or parameter.get("required", False)
    seen.add(key)
    return is_new


def _without(document: Any, schema: Any, seen: set[tuple[str, str]]) -> Any:
    """Return the schema without optional parts, at any depth, that were seen; note all others."""
    schema = copy.copy(_resolved(document, schema))
    kept = {}
    for name, part in schema.get("properties", {}).items():
        key = name, _rule(document, part)
        if key not in seen or name in schema.get("required", ()):
            kept[name] = _without(document, part, seen)
        seen.add(key)
    for many in ("additionalProperties", "items"):
        if isinstance(schema.get(many), dict):
            schema[many] = _without(document, schema[many], seen)
    if "patternProperties" in schema:
        patterns = schema["patternProperties"].items()
        schema["patternProperties"] = {
            pattern: _without(document, part, seen) for pattern, part in patterns
        }
    return schema | ({"properties": kept} if kept else {})


def _rule(document: Any, part: Any) -> str:
    """Return what a part allows, without what it says of it."""
    part = _resolved(document, part)
    return json.dumps({k: v for k, v in part.items() if k != "description"}, sort_keys=True)


def _resolved(document: Any, schema: Any) -> Any:
    while "$ref" in schema:
        schema, steps = document, schema["$ref"].removeprefix("#/").split("/")
        for step in steps:
            schema = schema[step]
    return schema
