"""The judge of answers finds whatever is wrong in one, at every operation.

The right answers are the examples of the API's description, which a test has got from the service.
"""

import dataclasses
import json

import pytest

from placement.app import api
from placement.extensions.openapi import examples
from placement.http.environ import JSON
from placement.microversions import NEWEST
from placement.schemas.success_headers import success_headers
from tests.responses import Exchange, complaints

API = api()
RESPONSES = API.responses

#: a right value of each header that an answer may have
VALUES = {
    "OpenStack-API-Version": "placement 1.39",
    "x-openstack-request-id": "req-8d6b1e52-6a4c-4c67-9a53-2f3e7f0b1c9d",
    "Vary": "openstack-api-version",
    "Cache-Control": "no-cache",
    "Last-Modified": "Mon, 23 Nov 2026 15:29:49 GMT",
    "ETag": '"a"',
}
#: headers that only refusals have, and one that no answer has
OF_OTHERS = {
    "Allow": "GET",
    "Retry-After": "5",
    "WWW-Authenticate": "Keystone",
    "Set-Cookie": "a=b",
}
STATUSES = (200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 503)
PLACES = [
    (method, path)
    for path, methods in RESPONSES.items()
    for method in methods
    if examples.example(method, path)
]


def right(method, path):
    """Return the example of an operation as an exchange, and the headers that it must have."""
    shown = examples.example(method, path)
    text = b"" if shown["answer"] is None else json.dumps(shown["answer"]).encode()
    headers = success_headers(path, method, shown["status"], NEWEST)
    place = path.format(**shown["places"])
    made = (
        shown["request"].get("uuid") or shown["request"].get("name") if shown["request"] else None
    )
    if shown["request"] and "resource_class" in shown["request"]:
        made = shown["request"]["resource_class"]
    values = VALUES | {"Location": f"http://x{place}" + (f"/{made}" if method == "POST" else "")}
    given = {header.lower(): values[header] for header in headers}
    if text:
        given["content-type"] = JSON
    if text or shown["status"] != 204:
        given["content-length"] = str(len(text))
    asked = {"openstack-api-version": "placement 1.39", "host": "x"}
    needed = [header.lower() for header, is_always_there in headers.items() if is_always_there]
    return Exchange(method, place, asked, shown["status"], given, text), needed


def other_bodies(value):
    """Yield values that differ from this object in one key."""
    for key, inner in value.items():
        yield {name: kept for name, kept in value.items() if name != key}
        yield value | {key: {"another": "type"} if not isinstance(inner, dict) else ["another"]}
    yield value | {"surplus": 1}


def wrong_headers(exchange, needed):
    """Yield what is wrong, and the headers of the answer with that."""
    for header in needed:
        yield f"no {header}", {h: v for h, v in exchange.headers.items() if h != header}
        yield f"another {header}", exchange.headers | {header: "@@"}
    for header, value in (VALUES | OF_OTHERS | {"Location": "http://x/"}).items():
        if header.lower() not in exchange.headers:
            yield f"a foreign {header}", exchange.headers | {header.lower(): value}
    for form in ("text/plain", "text/html; charset=UTF-8", "application/json; charset=UTF-8"):
        yield form, exchange.headers | {"content-type": form}


def wrong(exchange, needed):
    """Yield what is wrong, and an exchange in which that is so."""
    for status in STATUSES:
        if status != exchange.status and {status, exchange.status} != {201, 204}:
            yield f"status {status}", dataclasses.replace(exchange, status=status)
    for what, headers in wrong_headers(exchange, needed):
        yield what, dataclasses.replace(exchange, headers=headers)
    texts = [b'{"surplus": 1}'] if not exchange.body else [b"", b"[]", exchange.body[:-1]]
    if exchange.body:
        texts += [json.dumps(body).encode() for body in other_bodies(json.loads(exchange.body))]
    for text in texts:
        headers = exchange.headers | {"content-length": str(len(text))}
        yield f"body {text[:80]}", dataclasses.replace(exchange, body=text, headers=headers)


@pytest.mark.parametrize(("method", "path"), PLACES)
def test_the_example_of_an_operation_is_right(method, path):
    exchange, _ = right(method, path)
    assert complaints(exchange) == []


@pytest.mark.parametrize(("method", "path"), PLACES)
def test_whatever_is_wrong_with_an_answer_is_found(method, path):
    exchange, needed = right(method, path)
    tried = list(wrong(exchange, needed))
    assert len(tried) > 25
    assert [what for what, bad in tried if not complaints(bad)] == []
