"""How usages are read when placement refuses or is lost."""

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from tests.unit.compute.report.answers import answer

LOST = ksa_exc.ConnectFailure("gone")


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
