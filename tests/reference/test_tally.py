"""The summary of how much a comparison covered."""

import pytest

from placement.compare.answers import ReceivedAnswer
from tests.reference.script import Request
from tests.reference.tally import UNROUTED, Tally, endpoint_of


@pytest.mark.parametrize(
    ("method", "path", "endpoint"),
    [
        ("GET", "/", "GET /"),
        ("GET", "/resource_providers?name=x", "GET /resource_providers"),
        ("PUT", "/resource_providers/a/inventories/B", None),
        ("PATCH", "/traits", UNROUTED),
        ("GET", "/traits/", UNROUTED),
    ],
)
def test_a_request_belongs_to_the_endpoint_that_answers_it(method, path, endpoint):
    wanted = endpoint or "PUT /resource_providers/<uuid>/inventories/<resource_class>"

    assert endpoint_of(Request(method, path)) == wanted


def test_the_tally_has_the_share_of_successful_requests_and_their_microversions():
    tally = Tally()
    for version, status in [("1.2", 200), ("1.3", 204), ("1.9", 200), ("1.10", 404), (None, 201)]:
        tally.count(Request("GET", "/traits", version=version), ReceivedAnswer(status, {}, b""))

    lines = str(tally).splitlines()

    assert lines[0] == "5 requests, 80% of them granted"
    assert lines[2].split() == ["GET", "/traits", "5", "80%", "0,", "2-3,", "9"]


def test_searches_without_candidates_are_counted_separately():
    tally = Tally()
    body = b'{"allocation_requests": [], "provider_summaries": {}}'
    tally.count(
        Request("GET", "/allocation_candidates", version="1.39"), ReceivedAnswer(200, {}, body)
    )

    assert "GET /allocation_candidates (found nothing)" in str(tally)
