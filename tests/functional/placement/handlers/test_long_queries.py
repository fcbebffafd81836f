"""Queries in bodies are as long as in a URL at most: no budget bounds the reading of them."""

import pytest

from placement.handlers.allocation_candidates import LONGEST_IN_BODY
from tests.functional.placement.small_cloud import NEW

pytestmark = pytest.mark.spread_over_databases

OWNER = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
START = "resources=VCPU:1&member_of=in:b0000000-0000-4000-8000-000000000001"


def of_length(count):
    return START + "&" * (count - len(START))


def claim(query):
    return "/berth/v1/claims", {"query": query, "consumers": [{"uuid": NEW} | OWNER]}


def capacity(query):
    return "/berth/v1/capacity", {"requests": {"a": {"query": query}}}


@pytest.mark.parametrize("asked", [claim, capacity])
def test_a_query_in_a_body_is_as_long_as_a_url_at_most(filled, asked):
    assert filled.post(*asked(of_length(LONGEST_IN_BODY))).status_code == 200

    refused = filled.post(*asked(of_length(LONGEST_IN_BODY + 1)))

    assert refused.status_code == 400
    assert "at most 65536 characters" in refused.text
    assert len(refused.text) < 500


def test_a_set_that_a_list_names_again_is_looked_for_once(filled):
    once = "member_of=b0000000-0000-4000-8000-000000000001&required=CUSTOM_T"
    many = "&".join([once] * 600)

    for route in ("/resource_providers", "/berth/v1/provider_trees"):
        answers = [filled.get(f"{route}?{query}") for query in (once, many)]
        assert [answer.status_code for answer in answers] == [200, 200]
