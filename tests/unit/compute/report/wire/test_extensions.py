"""When the client asks what is offered, and when it does without."""

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute.report.wire.extensions import ASKED_AGAIN, Extensions, Offers
from compute.report.wire.transport import Transport
from tests.clock import Clock
from tests.unit.compute.report.answers import FakeAdapter, answer


@pytest.fixture
def clock():
    return Clock(0.0)


@pytest.fixture
def make(clock):
    def make(*answers, enabled=True):
        transport = Transport(lambda: FakeAdapter(*answers))
        return Extensions(transport, Offers(clock), enabled)

    return make


def asked(extensions):
    return [url for _, url, _ in extensions.transport.adapter.sent]


OFFERED = answer(200, {"offers": ["claims", "provider_trees"]})


def test_what_is_offered_is_asked_once(make):
    extensions = make(OFFERED)
    assert extensions.has(None, "provider_trees")
    assert extensions.has(None, "claims")
    assert not extensions.has(None, "explain")
    assert asked(extensions) == ["/berth/v1"]


def test_it_is_asked_again_after_a_while(make, clock):
    extensions = make(answer(404), OFFERED)
    assert not extensions.has(None, "claims")
    clock.now = ASKED_AGAIN - 1
    assert not extensions.has(None, "claims")
    clock.now = ASKED_AGAIN
    assert extensions.has(None, "claims")


def test_nothing_is_asked_where_extensions_are_switched_off(make):
    extensions = make(enabled=False)
    assert not extensions.has(None, "claims")
    assert asked(extensions) == []


@pytest.mark.parametrize(
    "strange",
    [
        answer(200, {}),
        answer(200, {"offers": [1, None]}),
        answer(200, text="<html>hello</html>"),
        answer(202, {"offers": ["claims"]}),
        answer(302),
        answer(401, {"errors": []}),
        answer(404, text="<html>not found</html>"),
    ],
    ids=lambda strange: f"{strange.status_code} {strange.text}",
)
def test_an_answer_that_is_no_list_offers_nothing(make, strange):
    assert not make(strange).has(None, "claims")


@pytest.mark.parametrize("status", [500, 503])
def test_a_failure_of_the_server_offers_nothing_and_is_no_finding(make, status):
    extensions = make(answer(status), OFFERED)
    assert not extensions.has(None, "claims")
    assert extensions.has(None, "claims")


def test_a_placement_that_cant_be_reached_is_no_finding(make):
    extensions = make(ksa_exc.ConnectFailure(), OFFERED)
    with pytest.raises(ksa_exc.ConnectFailure):
        extensions.has(None, "claims")
    assert extensions.has(None, "claims")


@pytest.mark.parametrize("status", [403, 404])
def test_an_extension_that_is_gone_is_not_asked_for_a_while(make, clock, status):
    extensions = make(OFFERED, answer(status, {"errors": []}), OFFERED)
    assert extensions.has(None, "claims")
    assert extensions.query(None, "claims", "/claims", {}) is None
    assert not extensions.has(None, "claims")
    clock.now = ASKED_AGAIN
    assert extensions.has(None, "claims")


def test_any_other_answer_is_the_caller_s(make):
    extensions = make(answer(409, {"errors": []}))
    assert extensions.put(None, "provider_trees", "/provider_trees/u", {}).status_code == 409


def test_a_new_connection_may_lead_to_another_placement(make):
    offers = Offers()
    transport = Transport(lambda: FakeAdapter(OFFERED), on_connect=offers.forget)
    extensions = Extensions(transport, offers, enabled=True)
    assert extensions.has(None, "claims")
    transport.connect_anew()
    assert offers.has("claims") is None


def test_queries_are_judged_by_a_microversion_that_the_client_names(make):
    extensions = make(OFFERED)
    extensions.has(None, "claims")
    ((_, _, options),) = extensions.transport.adapter.sent
    assert options["headers"] == {"OpenStack-API-Version": "placement 1.36"}
