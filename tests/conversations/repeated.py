"""Parts of bodies that several operations have."""

import copy
import json
from typing import Any


def each_part_once(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document without what a body may have, if another operation's body has the same.

    The bodies of five operations have the same `if`, and one code judges it: its hundreds of
    boundaries are those of each of them. Parts that are required stay.
    """
    document = copy.deepcopy(document)
    seen: set[tuple[str, str]] = set()
    for operations in document["paths"].values():
        for operation in operations.values():
            body = operation.get("requestBody") if isinstance(operation, dict) else None
            for media in (body or {}).get("content", {}).values():
                media["schema"] = _without(document, media["schema"], seen)
    return document


def _without(document: Any, schema: Any, seen: set[tuple[str, str]]) -> Any:
    """Return the schema of a body without optional parts that were seen; note all others."""
    schema = copy.deepcopy(_resolved(document, schema))
    kept = {}
    for name, part in schema.get("properties", {}).items():
        key = name, json.dumps(_resolved(document, part), sort_keys=True)
        if key not in seen or name in schema.get("required", ()):
            kept[name] = part
        seen.add(key)
    return schema | ({"properties": kept} if kept else {})


def _resolved(document: Any, schema: Any) -> Any:
    while "$ref" in schema:
        schema, steps = document, schema["$ref"].removeprefix("#/").split("/")
        for step in steps:
            schema = schema[step]
    return schema
