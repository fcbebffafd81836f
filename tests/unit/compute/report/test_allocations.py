"""How allocations are read and written when placement refuses or is lost."""

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from tests.unit.compute.report.answers import CONCURRENT, answer, refused


def test_a_provider_that_keeps_moving_is_tried_four_times_and_then_given_up(make):
    client = make(*(refused(**CONCURRENT) for _ in range(4)))
    assert client.put_allocations(None, "c", {}) is False
    assert len(client.transport.adapter.sent) == 4
    assert len(client.naps) == 3


def test_a_provider_that_moved_once_is_tried_again(make):
    client = make(refused(**CONCURRENT), answer(204))
    assert client.put_allocations(None, "c", {}) is True


def test_a_consumer_that_moved_isnt_tried_again(make):
    detail = "consumer generation conflict - expected 1 but got 2"
    client = make(refused(code=CONCURRENT["code"], detail=detail))
    with pytest.raises(exceptions.AllocationUpdateFailed, match=detail):
        client.put_allocations(None, "c", {})


def test_a_conflict_of_another_kind_isnt_tried_again(make):
    client = make(refused(code="placement.undefined_code", detail="over capacity"))
    assert client.put_allocations(None, "c", {}) is False
    assert len(client.transport.adapter.sent) == 1


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (answer(200, {"allocations": {"u": {"resources": {"VCPU": 1}}}}), {"u": {}}),
        (answer(500, {}), {}),
        (ksa_exc.ConnectFailure(), None),
    ],
)
def test_the_legacy_reading_of_allocations_never_raises(make, outcome, expected):
    found = make(outcome).get_allocations_for_consumer(None, "c")
    assert (found and found.keys()) == (expected and expected.keys())
    assert (found is None) is (expected is None)


def test_allocations_that_cant_be_read_are_an_error(make):
    with pytest.raises(exceptions.ConsumerAllocationRetrievalFailed):
        make(answer(500)).get_allocs_for_consumer(None, "c")
