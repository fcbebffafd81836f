"""Claims that are sent again get the same answer (extensions.md 4)."""

import pytest
import sqlalchemy as sa

from placement.extensions.claims.choice import Strategy
from placement.storage import tables
from tests.functional.placement.extensions.claims.claiming import (
    DEVICES,
    HOSTS,
    ask,
    got,
    outcome,
    stocked,
)
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import expect, holding, numbered
from tests.functional.placement.topology import Cloud

pytestmark = pytest.mark.spread_over_databases

PLACES = 8


@pytest.fixture
def service(database_url):
    """Return a service with hosts that have room for 2 claims of 1 VCPU each."""
    return stocked(Service(database_url))


def test_a_claim_is_answered_the_same_when_nothing_is_free_any_more(service):
    first = ask(service, *(numbered("c", n) for n in range(PLACES))).json
    assert ask(service, *(numbered("c", n) for n in range(PLACES))).json == first
    assert outcome(ask(service, numbered("d", 1))) == "berth.no_candidate"


def test_consumers_that_hold_nothing_yet_are_added(service):
    ask(service, numbered("c", 1))
    ask(service, numbered("c", 3))
    assert got(ask(service, *(numbered("c", n) for n in range(1, 5)))) == [
        *(HOSTS[0], HOSTS[1]),
        *(HOSTS[0], HOSTS[1]),
    ]


def test_a_consumer_without_allocations_can_claim(service):
    expect(service.put(f"/allocations/{numbered('c', 1)}", holding({})), 204)
    answer = expect(ask(service, numbered("c", 1)), 200)
    assert answer.json["consumers"][numbered("c", 1)]["consumer_generation"] == 1


def test_a_consumer_that_holds_more_than_the_table_of_consumers_knows_claims_nothing(service):
    """Its allocations may be older than that table (rest-api.md 7.3)."""
    ask(service, numbered("c", 1))
    with service.database.transaction() as connection:
        connection.execute(sa.delete(tables.consumers))
    rows = service.tables()
    for query in ("resources=VCPU:1", "resources=VCPU:99"):
        answer = ask(service, numbered("c", 1), query=query)
        assert outcome(answer) == "placement.concurrent_update"
    assert service.tables() == rows


GROUPS = (
    "resources=VCPU:1&resources_A=SRIOV_NET_VF:1&resources_B=SRIOV_NET_VF:1&"
    "resources_C=SRIOV_NET_VF:1&required_A=CUSTOM_NET_B&group_policy=isolate"
)


@pytest.mark.parametrize("strategy", [strategy.value for strategy in Strategy])
def test_mappings_are_the_same_again(new_database, strategy):
    service = Service(new_database())
    cloud = Cloud(service).build(DEVICES)
    for number in range(5):
        consumer = numbered("c", number)
        first = expect(ask(service, consumer, query=GROUPS, strategy=strategy), 200).json
        assert ask(service, consumer, query=GROUPS, strategy=strategy).json == first
        one = first["consumers"][consumer]
        mapped = {suffix: cloud.names()[uuid] for suffix, (uuid,) in one["mappings"].items()}
        assert mapped[""] == "host"
        assert mapped["_A"] in ("pf0", "pf2")
        assert len(set(mapped.values())) == 4


@pytest.mark.parametrize("strategy", [strategy.value for strategy in Strategy])
def test_mappings_of_a_group_that_takes_of_several_providers_are_the_same_again(
    new_database, strategy
):
    service = Service(new_database())
    cloud = Cloud(service).build(DEVICES)
    query = "resources=SRIOV_NET_VF:1,VCPU:1"
    for number in range(5):
        consumer = numbered("c", number)
        first = expect(ask(service, consumer, query=query, strategy=strategy), 200).json
        assert ask(service, consumer, query=query, strategy=strategy).json == first
        mapped = first["consumers"][consumer]["mappings"][""]
        device, host = sorted((cloud.names()[uuid] for uuid in mapped), key="host".__eq__)
        assert (device[:2], host) == ("pf", "host")
