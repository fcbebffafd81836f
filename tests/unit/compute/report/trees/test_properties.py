"""How properties are written when placement refuses or is lost."""

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from tests.unit.compute.report.answers import answer


def test_traits_that_cant_be_listed_are_an_error(make):
    with pytest.raises(exceptions.TraitRetrievalFailed):
        make(answer(500)).properties.ensure_traits(None, ["T"])


def test_no_traits_are_there_without_a_question(make):
    assert make().properties.ensure_traits(None, []) is True


def test_a_placement_lost_while_traits_are_made_sets_none(make):
    client = make(ksa_exc.ConnectFailure())
    client.cache.tree.new_root("n", "u", 0)
    assert client.set_traits_for_provider(None, "u", ["T"]) is None
    assert len(client.transport.adapter.sent) == 1
