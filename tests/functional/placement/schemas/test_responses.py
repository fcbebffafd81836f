"""Every response has a schema, and the hook that checks responses finds wrong ones."""

import contextlib
import dataclasses
import functools
import json
from pathlib import Path

import pytest
import yaml

from placement.app import api
from placement.errors import PlacementError, kinds_of
from placement.schemas.answer_shapes import NOT_GIVEN
from tests import responses_hook
from tests.functional.placement.service import Service
from tests.responses import Exchange, complaints
from tests.responses_hook import Judged

API = api()
RESPONSES = API.responses

#: without the files about a service that offers no extensions
GABBITS = sorted(
    file
    for file in (Path(__file__).parents[3] / "gabbi" / "gabbits").glob("*.yaml")
    if file.name != "extension-off.yaml"
)
REQUEST_ID = "req-8d6b1e52-6a4c-4c67-9a53-2f3e7f0b1c9d"
UUID = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
CLASS_URL = "http://x/placement/resource_classes/CUSTOM_A"
CACHED = {"cache_control": "no-cache", "last_modified": "Mon, 23 Nov 2026 15:29:49 GMT"}
HEADERS = {
    "x-openstack-request-id": REQUEST_ID,
    "openstack-api-version": "placement 1.39",
    "vary": "openstack-api-version",
}


def test_every_method_of_every_route_has_schemas_of_its_responses():
    routes = {
        path.replace("<", "{").replace(">", "}"): tuple(dict.fromkeys(e.method for e in endpoints))
        for path, endpoints in API.routes.items()
    }
    assert {path: tuple(methods) for path, methods in RESPONSES.items()} == routes


def test_every_endpoint_succeeds_from_its_first_version_on():
    described = {
        (path, method): min(min(table) for status, table in answers.items() if status < 300)
        for path, methods in RESPONSES.items()
        for method, answers in methods.items()
    }
    since = {
        (path.replace("<", "{").replace(">", "}"), endpoint.method): endpoint.since
        for path, endpoints in API.routes.items()
        for endpoint in reversed(endpoints)
    }
    assert described == since


@functools.cache
def document_of(file):
    return yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)


def requests_of(file):
    """Yield (method, path, status) of every request of an acceptance file."""
    document = document_of(file)
    defaults = document.get("defaults", {})
    for request in document["tests"]:
        method = next((key for key in request if key.isupper()), None)
        url = request[method] if method else request.get("url", defaults.get("url"))
        path = url.partition("?")[0].removeprefix(document.get("mount", ""))
        status = request.get("status", defaults.get("status", 200))
        yield method or request.get("method", "GET"), path, int(status)


def exchange(method, path, status):
    return Exchange(method, path, {}, status, {}, b"")


@functools.cache
def accepted():
    """Return (route, method, status) of every request of all acceptance files."""
    return {
        (exchange(*request).route, method, status)
        for file in GABBITS
        for request in requests_of(file)
        for method, _, status in [request]
    }


def test_every_status_in_an_acceptance_file_has_a_schema():
    of_endpoints = {
        (route, method, status)
        for route, method, status in accepted()
        if route and method in RESPONSES[route] and status != 401
    }
    undescribed = {
        (route, method, status)
        for route, method, status in of_endpoints
        if status not in RESPONSES[route][method]
    }
    # `/` ignores Accept, but rejects unknown versions with 406
    assert undescribed == {("/", "GET", 406)}


def test_every_status_with_a_schema_is_in_an_acceptance_file():
    described = {
        (path, method, status)
        for path, methods in RESPONSES.items()
        for method, answers in methods.items()
        for status in answers
    }
    # a missing content type is a 400 for every body; request-content.yaml has examples
    missing = {one for one in described - accepted() if one[2] != 400}
    assert missing == LOST_RACES | ENDED_SEARCHES | LEFT_READS | CROWDED_WAITS


def codes_of(schema):
    """Return the codes that the schema of an error allows."""
    error = schema.source["properties"]["errors"]["items"]["properties"]
    return error["code"]["enum"]


def asserted_codes(file):
    """Yield (route, method, code) of each request of a file that names the code of its refusal."""
    document = document_of(file)
    for request in document["tests"]:
        codes = [
            value
            for where in ("response_json_paths", "response_refusal")
            for path, value in request.get(where, {}).items()
            if path in ("$.errors[0].code", "code")
        ]
        if codes:
            method = next(key for key in request if key.isupper())
            path = request[method].partition("?")[0].removeprefix(document.get("mount", ""))
            yield exchange(method, path, 0).route, method, codes[0]


def test_every_code_of_an_endpoint_is_in_an_acceptance_file():
    described = {
        (path, method, code)
        for path, methods in RESPONSES.items()
        for method, answers in methods.items()
        for status, table in answers.items()
        # refusals of 503 need a limit, a client that left, or many that wait
        if status >= 400 and status != 503
        for code in codes_of(table[max(table)])
    }
    common = {"placement.undefined_code", "placement.concurrent_update"}
    told = {one for file in GABBITS for one in asserted_codes(file)}
    assert {one for one in described - told if one[2] not in common} == set()


def test_every_error_with_a_code_of_its_own_is_one_of_an_endpoint():
    described = {
        code
        for methods in RESPONSES.values()
        for answers in methods.values()
        for status, table in answers.items()
        if status >= 400
        for code in codes_of(table[max(table)])
    }
    assert described == {kind.code for kind in kinds_of(PlacementError)}


#: only if other writers win every try; see operations/test_lost_races.py
LOST_RACES = {
    ("/allocations/{consumer_uuid}", "DELETE", 409),
    ("/traits/{name}", "PUT", 409),
    ("/resource_providers/{uuid}/traits", "DELETE", 409),
}


#: only for a search that reaches a limit; see candidates/test_bounds.py
ENDED_SEARCHES = {
    ("/allocation_candidates", "GET", 503),
    ("/berth/v1/claims", "POST", 503),
}
#: only for a client that left; see handlers/test_provider_trees_streams.py
LEFT_READS = {
    ("/berth/v1/provider_trees", "GET", 503),
    ("/berth/v1/allocation_candidates/explain", "GET", 503),
    ("/berth/v1/allocation_candidates/explain", "POST", 503),
    ("/berth/v1/capacity", "GET", 503),
    ("/berth/v1/capacity", "POST", 503),
    ("/berth/v1/capacity/evacuate", "POST", 503),
    ("/berth/v1/plans/survives", "POST", 503),
    ("/berth/v1/plans/room", "POST", 503),
}
#: only while others wait; see changes/test_changes.py
CROWDED_WAITS = {("/berth/v1/changes", "GET", 503)}


def test_no_table_begins_with_a_status_that_no_longer_occurs():
    tables = [
        table
        for methods in RESPONSES.values()
        for answers in methods.values()
        for table in answers.values()
    ]
    assert [table for table in tables if table[min(table)] is NOT_GIVEN] == []


PROVIDER = {
    "uuid": UUID,
    "name": "one",
    "generation": 0,
    "links": [
        {"rel": rel, "href": f"/placement/resource_providers/{UUID}{end}"}
        for rel, end in [
            ("self", ""),
            ("inventories", "/inventories"),
            ("usages", "/usages"),
            ("aggregates", "/aggregates"),
            ("traits", "/traits"),
            ("allocations", "/allocations"),
        ]
    ],
    "parent_provider_uuid": None,
    "root_provider_uuid": UUID,
}
REFUSAL = {
    "status": 404,
    "title": "Not Found",
    "detail": "The resource could not be found.\n\n No resource provider with uuid x found  ",
    "code": "placement.undefined_code",
    "request_id": REQUEST_ID,
}
CONFLICT = REFUSAL | {
    "status": 409,
    "title": "Conflict",
    "detail": "There was a conflict when trying to complete your request.\n\n x  ",
}
BAD_REQUEST = REFUSAL | {
    "status": 400,
    "title": "Bad Request",
    "detail": "The server could not comply with the request since it is either malformed or "
    "otherwise incorrect.\n\n x  ",
}
TRAITS = f"/resource_providers/{UUID}/traits"


def answered(body, status=200, method="GET", path=f"/resource_providers/{UUID}", **headers):
    """Return an exchange whose response has this JSON body; None removes a header."""
    text = b"" if body is None else json.dumps(body).encode()
    kind = {} if body is None else {"content-type": "application/json"}
    length = {"content-length": str(len(text))} if text or status != 204 else {}
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    all_headers = {k: v for k, v in {**HEADERS, **kind, **length, **given}.items() if v is not None}
    asked = {"accept": "application/json"}
    if "openstack-api-version" in all_headers:
        asked["openstack-api-version"] = all_headers["openstack-api-version"]
    return Exchange(method, path, asked, status, all_headers, text)


@pytest.mark.parametrize(
    "right",
    [
        answered(PROVIDER, **CACHED),
        answered({"errors": [REFUSAL]}, 404, vary=None),
        answered(
            {"errors": [CONFLICT | {"code": "placement.concurrent_update"}]}, 409, "PUT", TRAITS
        ),
        answered(
            {"errors": [BAD_REQUEST | {"code": "placement.query.missing_value"}]},
            *(400, "GET", "/allocation_candidates"),
            openstack_api_version="placement 1.36",
        ),
        answered(None, 204, "DELETE"),
        answered(None, 201, "POST", "/resource_classes", location=CLASS_URL),
        answered(
            *(PROVIDER, 200, "POST", "/resource_providers"),
            location=f"http://x/placement/resource_providers/{UUID}",
            **CACHED,
        ),
        answered(None, 200, "OPTIONS", openstack_api_version=None),
    ],
    ids=lambda right: f"{right.method} {right.status}",
)
def test_a_valid_response_is_accepted(right):
    asked = {"origin": "http://elsewhere"} if right.method == "OPTIONS" else right.asked
    assert complaints(dataclasses.replace(right, asked=asked)) == []


def without(body, key):
    return {name: value for name, value in body.items() if name != key}


WRONG = {
    "a missing key": answered(without(PROVIDER, "root_provider_uuid"), **CACHED),
    "a key of later versions": answered(PROVIDER, openstack_api_version="placement 1.13"),
    "an unknown key": answered(PROVIDER | {"more": 1}, **CACHED),
    "a wrong type": answered(PROVIDER | {"generation": "0"}, **CACHED),
    "a link too few": answered(PROVIDER | {"links": PROVIDER["links"][:-1]}, **CACHED),
    "links in another order": answered(PROVIDER | {"links": PROVIDER["links"][::-1]}, **CACHED),
    "a refusal without its code": answered({"errors": [without(REFUSAL, "code")]}, 404),
    "a code too early": answered(
        {"errors": [REFUSAL]}, 404, openstack_api_version="placement 1.22"
    ),
    "a code of another status": answered(
        {"errors": [REFUSAL | {"code": "placement.concurrent_update"}]}, 404
    ),
    "a code of another endpoint": answered(
        {"errors": [CONFLICT | {"code": "placement.inventory.inuse"}]}, 409, "PUT", TRAITS
    ),
    "a code of extensions in a standard answer": answered(
        {"errors": [CONFLICT | {"code": "berth.no_candidate"}]}, 409, "POST", "/allocations"
    ),
    "a code of a later version": answered(
        {"errors": [BAD_REQUEST | {"code": "placement.query.missing_value"}]},
        *(400, "GET", "/allocation_candidates"),
        openstack_api_version="placement 1.35",
    ),
    "a body that tells another status": answered({"errors": [REFUSAL]}, 409),
    "a status the endpoint never gives": answered({"errors": [REFUSAL]}, 415),
    "a status no longer given": answered(None, 201, "POST", "/resource_providers", location="x"),
    "a status not yet given": answered(
        None, 204, "PUT", "/resource_classes/CUSTOM_A", openstack_api_version="placement 1.6"
    ),
    "an unexpected failure": answered({"errors": [REFUSAL | {"status": 500}]}, 500),
    "a failure without a version": answered(None, 500, openstack_api_version=None),
    "an unknown path answered": answered(PROVIDER, **CACHED, path="/resource_provider"),
    "an unknown method answered": answered(None, 204, "PATCH"),
    "no allowed methods": answered({"errors": [REFUSAL | {"status": 405}]}, 405, "PATCH"),
    "a body where none is": answered(PROVIDER, 204, "DELETE"),
    "a content type of nothing": answered(None, 204, "DELETE", content_type="application/json"),
    "no length of nothing": answered(
        None, 201, "POST", "/resource_classes", location=CLASS_URL, content_length=None
    ),
    "no location of what was created": answered(None, 201, "POST", "/resource_classes"),
    "a charset": answered(PROVIDER, **CACHED, content_type="application/json; charset=UTF-8"),
    "a wrong length": answered(PROVIDER, **CACHED, content_length="3"),
    "no vary": answered(PROVIDER, **CACHED, vary=None),
    "vary of something else": answered({"errors": [REFUSAL]}, 404, vary="accept"),
    "no request id": answered(PROVIDER, **CACHED, x_openstack_request_id=None),
    "an ill-formed version": answered(PROVIDER, **CACHED, openstack_api_version="1.39"),
    "a version of another service": answered(
        PROVIDER, **CACHED, openstack_api_version="compute 2.1"
    ),
    "an ill-formed version of a refusal": answered(
        {"errors": [BAD_REQUEST]}, 400, openstack_api_version="@"
    ),
    "cache headers too early": answered(
        without(without(PROVIDER, "root_provider_uuid"), "parent_provider_uuid"),
        openstack_api_version="placement 1.13",
        cache_control="no-cache",
    ),
    "no cache headers": answered(PROVIDER),
    "a time without cache-control": answered(PROVIDER, **CACHED | {"cache_control": None}),
    "no time": answered(PROVIDER, **CACHED | {"last_modified": None}),
    "a time in another form": answered(PROVIDER, **CACHED | {"last_modified": "now"}),
    "cache headers of a write": answered(None, 204, "DELETE", **CACHED),
    "a location of something else": answered(
        None, 201, "POST", "/resource_classes", location="http://x/traits/CUSTOM_A"
    ),
    "a location on another server": dataclasses.replace(
        answered(
            *(None, 201, "POST", "/resource_classes"),
            location="http://elsewhere/placement/resource_classes/CUSTOM_A",
        ),
        asked={"openstack-api-version": "placement 1.39", "host": "x"},
    ),
    "a location of another provider": answered(
        *(PROVIDER, 200, "POST", "/resource_providers"),
        location="http://x/placement/resource_providers/9b5ca6f7-5c5f-4a3b-8f0e-0d4f7c1f8a11",
        **CACHED,
    ),
    "a location without a server": answered(
        None, 201, "POST", "/resource_classes", location="/resource_classes/CUSTOM_A"
    ),
    "no location of a provider": answered(PROVIDER, 200, "POST", "/resource_providers", **CACHED),
    "a location of what was there": answered(PROVIDER, **CACHED, location="http://x/"),
    "a header of no answer": answered(PROVIDER, **CACHED, set_cookie="a=b"),
    "a header of successes": answered({"errors": [REFUSAL]}, 404, path="/x", etag='"a"'),
    "another version than the one asked for": dataclasses.replace(
        answered(PROVIDER, **CACHED), asked={"openstack-api-version": "placement 1.38"}
    ),
    "the newest version for who asked for none": dataclasses.replace(
        answered(PROVIDER, **CACHED), asked={}
    ),
    "a refusal in HTML of another length": dataclasses.replace(
        answered(None, 404, content_type="text/html; charset=UTF-8", content_length="3", vary=None),
        asked={"accept": "text/html", "openstack-api-version": "placement 1.39"},
        body=b"<h1>404 Not Found</h1>",
    ),
    "a refusal of an extension without its code": answered(
        {"errors": [without(REFUSAL, "code")]},
        *(404, "GET", "/berth/v1/capacity"),
        openstack_api_version="placement 1.22",
    ),
    "HTML for who wants JSON": answered(
        {"errors": [REFUSAL]}, 404, content_type="text/html; charset=UTF-8"
    ),
    "an identity refused in another form": answered(
        {"errors": [REFUSAL | {"status": 401}]}, 401, openstack_api_version=None
    ),
    "a version refused without those served": answered(
        {"errors": [REFUSAL | {"status": 406}]}, 406, openstack_api_version=None
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_invalid_response_is_reported(name):
    assert complaints(WRONG[name]) != []


def test_a_body_that_is_no_json_is_reported():
    broken = dataclasses.replace(answered(PROVIDER, **CACHED), body=b"{" * 7)
    headers = {**broken.headers, "content-length": "7"}
    (complaint,) = complaints(dataclasses.replace(broken, headers=headers))
    assert "the body is not JSON" in complaint


def test_a_repeated_key_is_reported():
    body = b'{"aggregates": [], "aggregates": []}'
    version = "placement 1.1"
    path = f"/resource_providers/{UUID}/aggregates"
    twice = answered(None, path=path, openstack_api_version=version)
    headers = {
        **twice.headers,
        "content-type": "application/json",
        "content-length": str(len(body)),
    }
    (complaint,) = complaints(dataclasses.replace(twice, body=body, headers=headers))
    assert "a key repeats" in complaint


def ask(application):
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "HTTP_ACCEPT": "text/plain"}
    return b"".join(application(environ, lambda *given: None))


def says_nothing(environ, start_response):
    start_response("200 OK", [])
    return []


def test_an_invalid_response_of_an_application_is_an_exception():
    with pytest.raises(AssertionError, match="GET '/' \\(no version\\) answered 200: request id"):
        ask(Judged(says_nothing))
    responses_hook.FOUND.clear()


def test_an_invalid_response_fails_the_test_even_if_its_exception_is_swallowed():
    with (
        pytest.raises(AssertionError, match="answered 200"),
        responses_hook.nothing_found(),
        contextlib.suppress(AssertionError),
    ):
        ask(Judged(says_nothing))


def test_every_application_is_checked(database_url):
    assert isinstance(Service(database_url).app, Judged)
