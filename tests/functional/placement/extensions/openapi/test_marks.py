"""The marks of the whole history say what each microversion's own document has."""

import json

import pytest

from placement.microversions import NEWEST, OLDEST, name
from tests.document import of_version

MARK = "x-openstack"
#: both sides of changes: of a body, of the headers of caches, of parameters, of errors
VERSIONS = [(1, 0), (1, 6), (1, 7), (1, 14), (1, 15), (1, 23), (1, 38), (1, 39)]
_VERSION_HEADER = "OpenStack-API-Version"


def number(text):
    """Return a version from its name."""
    return tuple(map(int, text.split(".")))


def is_of(version, value):
    """Return whether the marks of a value say that the version has it."""
    if not isinstance(value, dict) or MARK not in value:
        return True
    marks = value[MARK]
    first, last = marks.get("min-ver", name(OLDEST)), marks.get("max-ver", name(NEWEST))
    return number(first) <= version <= number(last)


def inlined(found, value):
    """Return the value without references; a mark beside a reference stays."""
    if isinstance(value, list):
        return [inlined(found, item) for item in value]
    if not isinstance(value, dict):
        return value
    rest = {word: inlined(found, item) for word, item in value.items() if word != "$ref"}
    if "$ref" in value:
        target = found
        for step in value["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        return inlined(found, target) | rest
    return rest


def pruned(version, value):
    """Return what the marks leave of a value for the version."""
    if isinstance(value, list):
        return [pruned(version, item) for item in value if is_of(version, item)]
    if not isinstance(value, dict):
        return value
    if value.get(MARK, {}).get("discriminator") == "microversion":
        (value,) = [form for form in value["anyOf"] if is_of(version, form)]
    if "in" in value and "required" in value.get(MARK, {}):
        value = value | {"required": is_of(version, {MARK: value[MARK]["required"]})}
    return {
        word: pruned(version, item)
        for word, item in value.items()
        if word != MARK and is_of(version, item)
    }


def operations(found):
    """Return the operations of a document, without references, by path and method."""
    found = json.loads(json.dumps(found))
    return {
        (path, method): inlined(found, operation)
        for path, methods in found["paths"].items()
        for method, operation in methods.items()
    }


def facts(version, found):
    """Return what clients rely on, by operation: not texts, names, examples and links."""
    return {
        place: _of_operation(version, pruned(version, operation))
        for place, operation in found.items()
        if is_of(version, operation)
    }


def _of_operation(version, operation):
    return {
        "parameters": {
            (each["in"], each["name"]): (each["schema"], each["required"])
            for each in operation["parameters"]
            if each["name"] != _VERSION_HEADER
        },
        "body": _schemas(operation.get("requestBody", {})),
        "security": operation.get("security"),
        "answers": {
            status: (sorted(answer.get("headers", ())), _schemas(answer))
            for status, answer in operation["responses"].items()
        },
    }


def _schemas(body):
    return {kind: media["schema"] for kind, media in body.get("content", {}).items()}


@pytest.fixture(scope="module")
def whole():
    """Return the operations of all versions."""
    return operations(of_version(None))


@pytest.mark.parametrize("version", VERSIONS, ids=name)
def test_what_the_marks_leave_is_the_document_of_the_version(whole, version):
    left = facts(version, whole)
    wanted = facts(version, operations(of_version(version)))
    assert left.keys() == wanted.keys()
    for place, operation in wanted.items():
        assert left[place] == operation, place
