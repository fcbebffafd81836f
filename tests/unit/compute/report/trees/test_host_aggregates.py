"""How a host is added to an aggregate when placement refuses or is lost."""

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from tests.unit.compute.report.answers import answer, conflict, sent_body

LOST = ksa_exc.ConnectFailure("gone")


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
