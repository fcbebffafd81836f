"""How claims, moves, aggregates and scheduling reads take refusals and lost connections."""

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import config, exceptions
from compute.report import SchedulerReportClient
from compute.report.resource_request import RequestGroup, ResourceRequest
from tests.unit.compute.report.answers import FakeAdapter, answer

REQUEST = {"allocations": {"rp": {"resources": {"VCPU": 1}}}}
HELD = {
    "allocations": {"rp": {"generation": 3, "resources": {"VCPU": 1}}},
    "project_id": "p",
    "user_id": "u",
    "consumer_generation": 5,
}
NOTHING = {"allocations": {}}
LOST = ksa_exc.ConnectFailure("gone")
ANY = ResourceRequest({"": RequestGroup(resources={"VCPU": 1})})


def conflict(detail="provider generation"):
    error = {"code": "placement.concurrent_update", "detail": detail}
    return answer(409, {"errors": [error]})


CONSUMER_CONFLICT = conflict("consumer generation conflict - expected 1")


@pytest.fixture
def make():
    def make(*answers):
        conf = config.load(files=[], environ={})
        return SchedulerReportClient(FakeAdapter(*answers), conf=conf, sleep=lambda seconds: None)

    return make


def claim(client, generation=None):
    return client.claim_resources(None, "c", REQUEST, "p", "u", "1.36", generation)


def sent_body(client):
    return client.transport.adapter.sent[-1][2]["json"]


class TestClaims:
    def test_a_new_consumer_has_no_generation(self, make):
        client = make(answer(200, NOTHING), answer(204))
        assert claim(client) is True
        assert sent_body(client)["consumer_generation"] is None

    def test_a_known_consumers_generation_is_the_one_read(self, make):
        client = make(answer(200, HELD), answer(204))
        assert claim(client) is True
        assert sent_body(client)["consumer_generation"] == 5

    def test_a_generation_in_the_request_wins(self, make):
        client = make(answer(200, HELD), answer(204))
        request = {**REQUEST, "consumer_generation": 9}
        client.claim_resources(None, "c", request, "p", "u", "1.36")
        assert sent_body(client)["consumer_generation"] == 9

    def test_a_provider_that_changed_is_tried_again(self, make):
        client = make(answer(200, NOTHING), conflict(), answer(200, NOTHING), answer(204))
        assert claim(client) is True

    def test_a_provider_that_keeps_changing_is_given_up(self, make):
        client = make(*[answer(200, NOTHING), conflict()] * 4)
        assert claim(client) is False

    def test_a_consumer_that_changed_ends_it(self, make):
        with pytest.raises(exceptions.AllocationUpdateFailed):
            claim(make(answer(200, NOTHING), CONSUMER_CONFLICT))

    def test_a_server_error_is_no_claim(self, make):
        assert claim(make(answer(200, NOTHING), answer(500, text="no"))) is False

    def test_what_the_consumer_holds_must_be_known(self, make):
        with pytest.raises(exceptions.ConsumerAllocationRetrievalFailed):
            claim(make(answer(500, text="no")))

    def test_an_unreachable_placement_is_no_answer(self, make):
        assert claim(make(LOST)) is None


class TestMoves:
    def test_a_provider_that_changed_is_tried_again(self, make):
        read = [answer(200, HELD), answer(200, NOTHING)]
        client = make(*read, conflict(), *read, answer(204))
        assert client.move_allocations(None, "a", "b") is True

    def test_a_consumer_that_changed_ends_it(self, make):
        client = make(answer(200, HELD), answer(200, NOTHING), CONSUMER_CONFLICT)
        with pytest.raises(exceptions.AllocationMoveFailed):
            client.move_allocations(None, "a", "b")

    def test_any_other_refusal_is_false(self, make):
        client = make(answer(200, HELD), answer(200, NOTHING), answer(500, text="no"))
        assert client.move_allocations(None, "a", "b") is False

    def test_an_unreachable_placement_is_no_answer(self, make):
        assert make(LOST).move_allocations(None, "a", "b") is None


class TestAdjusting:
    def test_a_conflict_reads_again_and_the_fourth_fails(self, make):
        client = make(*[answer(200, HELD), conflict()] * 4)
        with pytest.raises(exceptions.AllocationUpdateFailed, match="keep changing"):
            client.add_resources_to_instance_allocation(None, "c", {"rp": {"VCPU": 1}})

    def test_another_refusal_fails_at_once(self, make):
        client = make(answer(200, HELD), answer(400, text="no such class"))
        with pytest.raises(exceptions.AllocationUpdateFailed, match="no such class"):
            client.add_resources_to_instance_allocation(None, "c", {"rp": {"VCPU": 1}})


class TestAggregates:
    MEMBERS = {"aggregates": ["a"], "resource_provider_generation": 1}

    def test_without_a_host_there_is_nothing_to_add(self, make):
        with pytest.raises(ValueError, match="host_name or rp_uuid"):
            make().aggregate_add_host(None, "a")

    def test_the_fourth_conflict_escapes(self, make):
        client = make(*[answer(200, self.MEMBERS), conflict()] * 4)
        with pytest.raises(exceptions.ResourceProviderUpdateConflict):
            client.aggregate_add_host(None, "b", rp_uuid="rp")

    @pytest.mark.parametrize("answers", [[LOST], [answer(200, MEMBERS), LOST]])
    def test_an_unreachable_placement_is_a_failure(self, make, answers):
        with pytest.raises(exceptions.PlacementAPIConnectFailure):
            make(*answers).aggregate_add_host(None, "b", rp_uuid="rp")

    def test_the_generation_just_read_is_sent(self, make):
        changed = {"aggregates": ["a", "b"], "resource_provider_generation": 2}
        client = make(answer(200, self.MEMBERS), answer(200, changed))
        client.aggregate_add_host(None, "b", rp_uuid="rp")
        assert sent_body(client) == {"aggregates": ["a", "b"], "resource_provider_generation": 1}


class TestCandidates:
    def test_a_refusal_is_three_nones(self, make):
        assert make(answer(400, text="no")).get_allocation_candidates(None, ANY) == (None,) * 3

    def test_an_unreachable_placement_is_no_answer(self, make):
        assert make(LOST).get_allocation_candidates(None, ANY) is None

    def test_the_query_names_everything_in_order(self):
        request = ResourceRequest(
            {
                "": RequestGroup(resources={"VCPU": 1, "DISK_GB": 2}),
                "_NIC": RequestGroup(
                    resources={"SRIOV_NET_VF": 1},
                    required_traits=frozenset({"CUSTOM_B", "CUSTOM_A"}),
                    forbidden_traits=frozenset({"CUSTOM_C"}),
                    member_of=(frozenset({"y", "x"}),),
                    forbidden_aggregates=frozenset({"z"}),
                    in_tree="tree",
                ),
            },
            limit=3,
            group_policy="none",
            root_required=frozenset({"COMPUTE_NODE"}),
            root_forbidden=frozenset({"COMPUTE_STATUS_DISABLED"}),
            same_subtree=(frozenset({"_NIC", "_CPU"}),),
        )
        assert request.to_querystring(1000).replace("%2C", ",").replace("%3A", ":") == (
            "group_policy=none&in_tree_NIC=tree&limit=3&member_of_NIC=%21in:z"
            "&member_of_NIC=in:x,y&required_NIC=CUSTOM_A,CUSTOM_B,%21CUSTOM_C"
            "&resources=DISK_GB:2,VCPU:1&resources_NIC=SRIOV_NET_VF:1"
            "&root_required=COMPUTE_NODE,%21COMPUTE_STATUS_DISABLED&same_subtree=_CPU,_NIC"
        )

    def test_the_limit_is_the_configured_one_unless_given(self, make):
        client = make(answer(200, {"allocation_requests": [], "provider_summaries": {}}))
        assert client.get_allocation_candidates(None, ANY) == ([], {}, "1.36")
        assert "limit=1000" in client.transport.adapter.sent[0][1]


class TestUsages:
    def test_a_lost_connection_is_tried_again(self, make):
        client = make(LOST, LOST, LOST, answer(200, {"usages": {"VCPU": 1}}))
        assert client.get_usages_counts_for_limits(None, "p") == {"VCPU": 1}

    def test_the_fourth_escapes(self, make):
        with pytest.raises(ksa_exc.ConnectFailure):
            make(*[LOST] * 4).get_usages_counts_for_limits(None, "p")

    def test_a_refusal_is_a_failure(self, make):
        with pytest.raises(exceptions.UsagesRetrievalFailed, match="'p' and user 'u'"):
            make(answer(200, {"usages": {}}), answer(500, text="no")).get_usages_counts_for_quota(
                None, "p", "u"
            )
