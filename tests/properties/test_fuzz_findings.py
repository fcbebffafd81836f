"""What fuzzing found, one request each, and requests that are too large to be drawn."""

import itertools
import json
import uuid

import os_traits
import pytest

from placement.app import api
from tests.extent import examples
from tests.functional.placement import small_cloud
from tests.properties.fuzz_requests import GOOD_HEADERS
from tests.properties.fuzz_service import FuzzedService, Request

API = api()
BODIES = API.bodies

HEADERS = GOOD_HEADERS | {"openstack-api-version": "placement 1.39"}
#: of so many endpoints, an ordinary run sends each kind of nonsense to one
EVERY = examples(3, 1)
#: bytes for which anything quadratic takes minutes
LARGE = 1 << 18
PLACES = {
    "uuid": small_cloud.ROOT,
    "root_uuid": small_cloud.ROOT,
    "consumer_uuid": small_cloud.NEW,
    "resource_class": "VCPU",
    "name": "CUSTOM_A",
}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with FuzzedService(tmp_path_factory.mktemp("findings")) as fuzzed:
        yield fuzzed


@pytest.mark.parametrize("host", ["x:y", "[::1", ".", "a b", "\xe9", "<b>", "x" * 300])
def test_location_repeats_any_host(service, host):
    request = Request("PUT", "/traits/CUSTOM_NEW_TRAIT", headers=HEADERS | {"host": host})
    status, headers, _ = service.answer(request)
    assert (status[:3], headers["Location"]) == ("201", f"http://{host}/traits/CUSTOM_NEW_TRAIT")


@pytest.mark.parametrize(("length", "status"), [("100", 400), ("9" * 30, 413)])
def test_a_body_shorter_than_it_said_is_refused(service, length, status):
    headers = HEADERS | {"content-length": length}
    request = Request("POST", "/resource_providers", headers=headers, body=b'{"name": "x"}')
    assert service.send(request) == status


def test_a_question_that_no_database_would_join_is_answered(service):
    # a set that is named again would be looked for once
    pairs = itertools.islice(itertools.combinations(os_traits.get_traits(), 2), 1500)
    query = "&".join(f"required=in:{one},{other}" for one, other in pairs)
    assert service.send(Request("GET", "/resource_providers", query, HEADERS)) == 200


def aggregates(items):
    body = {"aggregates": items, "resource_provider_generation": 5}
    path = f"/resource_providers/{small_cloud.ROOT}/aggregates"
    return Request("PUT", path, "", HEADERS, json.dumps(body).encode())


def test_thousands_of_objects_in_place_of_uuids_are_refused_at_once(service):
    # comparing each with each would take minutes
    assert service.send(aggregates([{"a": number} for number in range(20_000)])) == 400


def test_thousands_of_aggregates_are_kept(service):
    uuids = [str(uuid.UUID(int=number)) for number in range(2_000)]
    assert service.send(aggregates(uuids)) == 200


#: a refusal repeats what is refused; to write this down takes longest
DEEPEST_SHOWN = 330
NESTED = {
    "lists": (b"[", b"]"),
    "objects": (b'{"a":', b"}"),
    "a name": (b'{"name": [', b"]}"),
    "an inventory of no class": (b'{"inventories": {"vcpu": [', b"]}}"),
    "mappings of no group": (b'{"mappings": {"": [', b"]}}"),
}


def nested(kind, depth):
    start, end = NESTED[kind]
    opening, closing = (b"[", b"]") if kind != "objects" else (start, end)
    return start + opening * depth + b"1" + closing * depth + end


@pytest.mark.parametrize(
    "depth",
    [
        *(pytest.param(shown, marks=pytest.mark.thorough) for shown in (100, DEEPEST_SHOWN)),
        *(500, 990, 1020, 100_000),
    ],
)
@pytest.mark.parametrize("kind", NESTED)
def test_deep_nesting_is_refused(service, kind, depth):
    refused = {service.send(request) for request in everywhere(nested(kind, depth))}
    assert refused == {400}


@pytest.mark.parametrize("number", range(len(NESTED)), ids=list(NESTED))
def test_the_deepest_nesting_that_is_shown_is_refused(service, number):
    """Each endpoint gets one kind; with --thorough, each gets every kind."""
    body = nested(list(NESTED)[number], DEEPEST_SHOWN)
    refused = {service.send(request) for request in list(everywhere(body))[number :: len(NESTED)]}
    assert refused == {400}


NONSENSE = {
    "a string": b'"' + b"a" * LARGE + b'"',
    "a name": b'{"name": "' + b"a" * LARGE + b'"}',
    "a number": b"9" * LARGE,
    "a fraction": b"0." + b"9" * LARGE,
    "an exponent": b'{"total": 1e' + b"9" * 10_000 + b"}",
    "blanks": b" " * LARGE,
    "zeros": b"\0" * LARGE,
    "no UTF-8": b"\xff" * LARGE,
    "escapes": b'"' + rb"\u0000" * (LARGE // 6) + b'"',
    "surrogates": b'{"name": "' + rb"\ud800" * (LARGE // 6) + b'"}',
    "unfinished tags": b'{"name": "' + b"<" * LARGE + b'"}',
    "unfinished breaks": b'{"name": "' + b"<br" * (LARGE // 3) + b'"}',
    "the most digits": b'{"resource_provider_generation": ' + b"9" * 4300 + b"}",
    "more digits": b'{"resource_provider_generation": ' + b"9" * 4301 + b"}",
}


@pytest.mark.parametrize("number", range(len(NONSENSE)), ids=list(NONSENSE))
def test_large_nonsense_is_refused(service, number):
    requests = list(everywhere(list(NONSENSE.values())[number]))[number % EVERY :: EVERY]
    assert {service.send(request) for request in requests} == {400}


@pytest.mark.parametrize("accept", ["text/plain", "text/html", "application/json"])
def test_large_nonsense_is_refused_in_every_form(service, accept):
    headers = HEADERS | {"accept": accept, "openstack-api-version": "placement 1.39"}
    body = NONSENSE["unfinished tags"]

    assert service.send(Request("POST", "/resource_providers", "", headers, body)) == 400


def everywhere(body):
    """Give a request with this body to each endpoint that reads one."""
    for path, method in BODIES:
        # this one reads no body any more
        version = "1.6" if path == "/resource_classes/{name}" else "1.39"
        headers = HEADERS | {"openstack-api-version": f"placement {version}"}
        yield Request(method, path.format(**PLACES), "", headers, body)
