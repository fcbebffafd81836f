"""How allocation candidates are asked for (compute.md §3.13)."""

from keystoneauth1 import exceptions as ksa_exc

from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from tests.unit.compute.report.answers import answer

LOST = ksa_exc.ConnectFailure("gone")
ANY = ResourceRequest({"": RequestGroup(resources={"VCPU": 1})})
NONE_FOUND = {"allocation_requests": [], "provider_summaries": {}}


class TestCandidates:
    def test_a_refusal_is_three_nones(self, make):
        assert make(answer(400, text="no")).get_allocation_candidates(None, ANY) == (None,) * 3

    def test_an_unreachable_placement_is_no_answer(self, make):
        assert make(LOST).get_allocation_candidates(None, ANY) is None

    def test_the_limit_is_the_configured_one_unless_given(self, make):
        client = make(answer(200, {"allocation_requests": [], "provider_summaries": {}}))
        assert client.get_allocation_candidates(None, ANY) == ([], {}, "1.36")
        assert "limit=1000" in client.transport.adapter.sent[0][1]

    def test_any_request_that_tells_its_query_is_taken_as_it_is(self, make):
        class NovasRequest:
            def to_querystring(self):
                return "limit=5&resources=VCPU%3A1"

        client = make(answer(200, NONE_FOUND))
        assert client.get_allocation_candidates(None, NovasRequest()) == ([], {}, "1.36")
        ((_, url, _),) = client.transport.adapter.sent
        assert url == "/allocation_candidates?limit=5&resources=VCPU%3A1"
