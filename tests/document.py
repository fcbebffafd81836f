"""Judge answers by the document that the service gives of itself."""

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema_rs

from placement.app import api
from placement.extensions.openapi.answers import HEADERS
from placement.extensions.openapi.document import document
from placement.microversions import NEWEST, Version

WRITTEN = Path(__file__).parents[1] / "doc/openapi/placement.json"


@functools.cache
def of_version(version: Version | None) -> dict[str, Any]:
    """Return the document of one microversion; None: of all, which takes seconds."""
    return document(api(extensions=True), version)


def written() -> dict[str, Any]:
    """Return the document of all versions as doc/ has it; test_document.py compares it."""
    read: dict[str, Any] = json.loads(WRITTEN.read_text())
    return read


def resolved(version: Version, value: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference points to, or the value itself."""
    while "$ref" in value:
        found: Any = of_version(version)
        for step in value["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        value = found
    return value


def complaints_by_document(exchange: Any) -> list[str]:
    """Return how the answer differs from the document; an answer of no operation doesn't."""
    version = exchange.version or NEWEST
    operation = _operation(version, exchange.route, exchange.method)
    if operation is None:
        return []
    if str(exchange.status) not in operation["responses"]:
        return ["the document doesn't have this status"]
    answer, headers = _answer(version, exchange.route, exchange.method, exchange.status)
    found = _of_headers(exchange, headers)
    if found:
        return found
    kind = exchange.headers.get("content-type")
    content = answer.get("content")
    if content is None or kind is None:
        return [] if content is kind is None else [f"the document has {content}, not {kind}"]
    media_type = kind.partition(";")[0]
    if media_type not in content:
        return [f"the document doesn't have {media_type}"]
    return _of_body(version, exchange, media_type, content[media_type])


def complaints_of_monitoring(exchange: Any) -> list[str]:
    """Return how the answer of a page of metrics, or of a probe, differs from the document."""
    operation = of_version(NEWEST)["paths"][exchange.path].get(exchange.method.lower())
    if operation is None:
        return []
    answer = operation["responses"].get(str(exchange.status))
    if answer is None:
        return [f"the document doesn't have the status {exchange.status}"]
    if exchange.method == "HEAD":
        return [f"the body {exchange.body!r}"] if exchange.body else []
    kind, content = exchange.headers.get("content-type"), answer.get("content", {})
    if kind is None:
        return [f"the document has {content}, not nothing"] if content else []
    media_type = kind.partition(";")[0]
    if media_type not in content:
        return [f"the document doesn't have {media_type}"]
    if not media_type.endswith("json"):
        return []
    judge = _judge(json.dumps(content[media_type]["schema"]))
    found = judge.iter_errors(json.loads(exchange.body))
    return [f"the document: {error.message} at {list(error.instance_path)}" for error in found]


def _operation(version: Version, route: str | None, method: str) -> dict[str, Any] | None:
    methods = of_version(version)["paths"].get(route, {})
    # methods are upper case: `get` is another one, which no path has
    return methods.get(method.lower()) if method.isupper() else None


@functools.cache
def _answer(
    version: Version, route: str, method: str, status: int
) -> tuple[dict[str, Any], dict[str, tuple[bool, Any]]]:
    """Return an answer of the document; and header → whether it is required, and its judge."""
    operation = _operation(version, route, method)
    assert operation is not None
    answer = resolved(version, operation["responses"][str(status)])
    headers = {name.lower(): resolved(version, rule) for name, rule in answer["headers"].items()}
    return answer, {
        name: (rule.get("required", False), _judge(json.dumps(rule["schema"])))
        for name, rule in headers.items()
    }


#: headers that answers have only where the document has them
_KNOWN = tuple(map(str.lower, HEADERS))


def _of_headers(exchange: Any, described: dict[str, tuple[bool, Any]]) -> list[str]:
    """Return what is wrong with the headers that the document knows."""
    found = []
    for header in _KNOWN:
        value = exchange.headers.get(header)
        if header not in described:
            found += [] if value is None else [f"the document doesn't have the header {header}"]
            continue
        required, judge = described[header]
        if value is None:
            found += [f"the header {header} is missing"] if required else []
        elif not judge.is_valid(value):
            found.append(f"the document doesn't allow {header}: {value}")
    return found


def _of_body(version: Version, exchange: Any, media_type: str, media: Any) -> list[str]:
    if media_type == "application/json":
        schema, texts = media["schema"], [exchange.body]
    elif "x-line" in media:
        schema, texts = media["x-line"], exchange.body.splitlines()
    else:
        return []
    judge = _judge(_inlined_text(version, schema["$ref"]))
    return [
        f"the document: {error.message} at {list(error.instance_path)}"
        for text in texts
        for error in judge.iter_errors(json.loads(text))
    ]


@functools.cache
def _inlined_text(version: Version, reference: str) -> str:
    """Return the schema that a reference points to, without references, as JSON."""
    return json.dumps(_inlined(version, {"$ref": reference}))


def _inlined(version: Version, value: Any) -> Any:
    if isinstance(value, list):
        return [_inlined(version, item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _inlined(version, resolved(version, value))
    return {word: _inlined(version, item) for word, item in value.items()}


@functools.cache
def _judge(schema: str) -> Any:
    """Return what judges by a schema; most versions have the same ones."""
    return jsonschema_rs.Draft202012Validator(json.loads(schema))
