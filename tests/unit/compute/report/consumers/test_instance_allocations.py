"""How claims, moves and adjustments take refusals and lost connections."""

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from tests.unit.compute.report.answers import answer, conflict, sent_body

REQUEST = {"allocations": {"rp": {"resources": {"VCPU": 1}}}}
HELD = {
    "allocations": {"rp": {"generation": 3, "resources": {"VCPU": 1}}},
    "project_id": "p",
    "user_id": "u",
    "consumer_generation": 5,
}
NOTHING = {"allocations": {}}
LOST = ksa_exc.ConnectFailure("gone")
CONSUMER_CONFLICT = conflict("consumer generation conflict - expected 1")


def claim(client, generation=None):
    return client.claim_resources(None, "c", REQUEST, "p", "u", "1.36", generation)


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
