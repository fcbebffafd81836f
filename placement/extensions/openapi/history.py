"""One document of all microversions, joined from those of each.

What some versions don't have is marked with `x-openstack`: its first version (`min-ver`), and its
last one (`max-ver`) if newer versions don't have it. Where bodies differ, `anyOf` has their forms.
A parameter that only some versions demand has their range as `required` in its mark.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from placement.extensions.openapi.forms import SCHEMAS
from placement.microversions import NEWEST, OLDEST, Version, name
from placement.schemas.json_schema import Json

K = TypeVar("K")
MARK = "x-openstack"
_VERSION_HEADER = "OpenStack-API-Version"
_PATTERN = r"^placement 1\.[0-9]+$"


def joined(documents: Mapping[Version, Json]) -> Json:
    """Return one document of all versions.

    :param documents: each version's own document, oldest first
    """
    documents, components = _with_common_components(documents)
    newest = documents[NEWEST]
    paths: Json = {}
    for path, method in _places(documents):
        operations = {
            version: document["paths"][path][method]
            for version, document in documents.items()
            if method in document["paths"].get(path, {})
        }
        paths.setdefault(path, {})[method] = _operation(operations)
    info = newest["info"] | {
        "version": f"{name(OLDEST)} - {name(NEWEST)}",
        "summary": "All microversions of the Placement API, as Berth serves it.",
    }
    answers = {v: document["components"]["responses"] for v, document in documents.items()}
    headers = {v: document["components"]["headers"] for v, document in documents.items()}
    parts = newest["components"] | {
        "headers": _by_key(headers, _header),
        "responses": _by_key(answers, _answer),
        "schemas": components,
    }
    return newest | {"info": info, "paths": paths, "components": parts}


def _places(documents: Mapping[Version, Json]) -> list[tuple[str, str]]:
    """Return path and method of all operations, in the order of the newest version."""
    newest_first = reversed(list(documents.values()))
    found = [
        (path, method)
        for document in newest_first
        for path, methods in document["paths"].items()
        for method in methods
    ]
    return list(dict.fromkeys(found))


def _operation(operations: Mapping[Version, Json]) -> Json:
    newest = operations[max(operations)]
    found = {
        word: value
        for word, value in newest.items()
        if word not in ("parameters", "requestBody", "responses")
    }
    found |= _mark(operations, OLDEST, NEWEST)
    found["parameters"] = _parameters(operations)
    bodies = {
        version: operation["requestBody"]["content"]
        for version, operation in operations.items()
        if "requestBody" in operation
    }
    if bodies:
        required = len(bodies) == len(operations)
        content = _contents(bodies, operations)
        marks = _mark(bodies, min(operations), max(operations))
        found["requestBody"] = {"required": required, "content": content} | marks
    found["responses"] = _by_key(
        {version: operation["responses"] for version, operation in operations.items()}, _answer
    )
    return found


def _parameters(operations: Mapping[Version, Json]) -> list[Json]:
    by_key = {
        version: {(each["in"], each["name"]): each for each in operation["parameters"]}
        for version, operation in operations.items()
    }
    return list(_by_key(by_key, _parameter).values())


def _parameter(forms: Mapping[Version, Json], around: Iterable[Version]) -> Json:
    newest = forms[max(forms)]
    if newest["name"] == _VERSION_HEADER:
        schema = {"type": "string", "pattern": _PATTERN, "default": f"placement {name(NEWEST)}"}
        return newest | {"schema": schema}
    schemas = {version: form["schema"] for version, form in forms.items()}
    needing = [version for version, form in forms.items() if form["required"]]
    required = len(needing) == len(list(around))
    marks = _mark(forms, min(around), max(around))
    if needing and not required:
        marks = {MARK: marks.get(MARK, {}) | {"required": _range(needing)}}
    return newest | {"required": required, "schema": _schema(schemas)} | marks


def _answer(forms: Mapping[Version, Json], around: Iterable[Version]) -> Json:
    found = dict(forms[max(forms)])
    if "$ref" in found:
        # the component that it refers to has the forms
        return found
    contents = {v: form["content"] for v, form in forms.items() if "content" in form}
    if contents:
        found["content"] = _contents(contents, forms)
    return found | _mark(forms, min(around), max(around))


def _header(forms: Mapping[Version, Json], around: Iterable[Version]) -> Json:
    return forms[max(forms)] | _mark(forms, min(around), max(around))


def _contents(contents: Mapping[Version, Json], around: Iterable[Version]) -> Json:
    def media(forms: Mapping[Version, Json], around: Iterable[Version]) -> Json:
        newest = forms[max(forms)]
        return newest | {"schema": _schema({v: form["schema"] for v, form in forms.items()})}

    return _by_key(contents, media)


def _by_key(
    tables: Mapping[Version, Mapping[K, Json]],
    join: Callable[[Mapping[Version, Json], Iterable[Version]], Json],
) -> dict[K, Json]:
    """Join what the tables of versions have at the same key.

    :param join: gets what the versions have that have the key, and all versions
    """
    versions = list(tables)
    keys = dict.fromkeys(key for version in reversed(versions) for key in tables[version])
    return {
        key: join({v: table[key] for v, table in tables.items() if key in table}, versions)
        for key in keys
    }


def _schema(forms: Mapping[Version, Json]) -> Json:
    """Return the schema if all versions have the same, or any of their forms."""
    ranges: list[tuple[list[Version], Json]] = []
    for version, schema in forms.items():
        if ranges and ranges[-1][1] == schema:
            ranges[-1][0].append(version)
        else:
            ranges.append(([version], schema))
    if len(ranges) == 1:
        return ranges[0][1]
    marked = [schema | _mark(versions, OLDEST, NEWEST, True) for versions, schema in ranges]
    return {"anyOf": marked, MARK: {"discriminator": "microversion"}}


def _mark(
    versions: Iterable[Version], oldest: Version, newest: Version, always: bool = False
) -> Json:
    """Return the mark of what exists in these versions only; empty if it exists in all of them.

    :param oldest: the first of all versions
    :param newest: the last of all versions
    :param always: whether the first version stands in the mark even if it is the oldest one
    """
    found = _range(versions, oldest if not always else None, newest)
    return {MARK: found} if found else {}


def _range(
    versions: Iterable[Version], oldest: Version | None = None, newest: Version = NEWEST
) -> Json:
    """Return the first version unless it is `oldest`, and the last one unless it is `newest`."""
    first, last = min(versions), max(versions)
    found = {}
    if oldest is None or first > oldest:
        found["min-ver"] = name(first)
    if last < newest:
        found["max-ver"] = name(last)
    return found


def _with_common_components(
    documents: Mapping[Version, Json],
) -> tuple[dict[Version, Json], Json]:
    """Return the documents with common names of schemas, and the schemas by name.

    A schema that is the same in all versions keeps its name. Of one that differs, each form gets
    the version since which it is so into its name: `TraitsListAllResponse_1_15`.
    """
    variants: dict[str, dict[str, str]] = {}
    names: dict[Version, dict[str, str]] = {}
    for version, document in documents.items():
        schemas = document["components"]["schemas"]
        names[version] = {}
        for each, schema in schemas.items():
            text = json.dumps(_inlined(schema, schemas), sort_keys=True)
            suffixed = f"{each}_{name(version).replace('.', '_')}"
            names[version][each] = variants.setdefault(each, {}).setdefault(text, suffixed)
    single = {next(iter(of.values())): each for each, of in variants.items() if len(of) == 1}
    renamed: dict[Version, Json] = {}
    components: Json = {}
    for version, document in documents.items():
        final = {each: single.get(new, new) for each, new in names[version].items()}
        renamed[version] = _renamed(document, final)
        schemas = renamed[version]["components"]["schemas"]
        components |= {final[each]: schema for each, schema in schemas.items()}
    return renamed, dict(sorted(components.items()))


def _inlined(value: object, schemas: Json) -> object:
    """Return a JSON value with schemas in the place of references to them."""
    if isinstance(value, list):
        return [_inlined(item, schemas) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _inlined(schemas[value["$ref"].removeprefix(SCHEMAS)], schemas)
    return {word: _inlined(item, schemas) for word, item in value.items()}


def _renamed(value: object, names: Mapping[str, str]) -> Any:
    """Return a JSON value whose references to schemas have new names."""
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str) and reference.startswith(SCHEMAS):
        return value | {"$ref": SCHEMAS + names[reference.removeprefix(SCHEMAS)]}
    return {word: _renamed(item, names) for word, item in value.items()}
