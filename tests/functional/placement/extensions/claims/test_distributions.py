"""Claims for several consumers, where one may block another (extensions.md 4)."""

import re

import pytest

from placement.extensions.claims.choice import Strategy
from tests.functional.placement.extensions.claims.claiming import (
    DEVICES,
    ask,
    outcome,
    stocked,
    used,
)
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import expect, numbered
from tests.functional.placement.topology import Cloud

pytestmark = [pytest.mark.spread_over_databases, pytest.mark.usefixtures("unhurried")]

PICKY = (
    "resources=VCPU:1&resources1=SRIOV_NET_VF:1&required1=CUSTOM_NET_B&"
    "resources2=SRIOV_NET_VF:1&group_policy=none"
)


@pytest.fixture
def service(database_url):
    """Return a service with hosts that have room for 2 claims of 1 VCPU each."""
    return stocked(Service(database_url))


@pytest.fixture
def picky(new_database):
    """Return a service with a tree that has room for 8 claims, if none wastes the one device."""
    service = Service(new_database())
    Cloud(service).build(DEVICES[:3])
    return service


@pytest.mark.parametrize("strategy", [strategy.value for strategy in Strategy])
def test_consumers_get_what_fits_together(picky, strategy):
    consumers = [numbered("c", number) for number in range(8)]
    found = expect(ask(picky, *consumers, query=PICKY, strategy=strategy), 200).json["consumers"]
    assert ask(picky, *consumers, query=PICKY, strategy=strategy).json == {"consumers": found}
    assert sorted(used(picky).values()) == [8, 8, 8]


def test_chance_finds_what_no_order_of_candidates_does(new_database):
    service = Service(new_database())
    # the cell with more memory has to give the second group to both consumers
    cells = [(6, 6), (3, 6)]
    Cloud(service).build(
        [
            {"name": "host", "inventories": {"VCPU": {"total": 8}}},
            *(
                {
                    "name": f"cell{n}",
                    "parent": "host",
                    "inventories": {"MEMORY_MB": {"total": memory}, "DISK_GB": {"total": disk}},
                }
                for n, (memory, disk) in enumerate(cells)
            ),
        ]
    )
    query = (
        "resources=VCPU:1&resources1=MEMORY_MB:1,DISK_GB:3&resources2=MEMORY_MB:3,DISK_GB:3&"
        "group_policy=none"
    )
    found = expect(ask(service, numbered("c", 1), numbered("c", 2), query=query), 200).json
    assert len(found["consumers"]) == 2


def test_a_refusal_says_that_another_distribution_may_fit(picky):
    consumers = [numbered("c", number) for number in range(9)]
    answer = ask(picky, *consumers, query=PICKY)
    assert outcome(answer) == "berth.no_candidate"
    detail = answer.json["errors"][0]["detail"]
    assert re.search(
        r"There is room for \d of 9 .* in \d+ ways; another distribution may fit", detail
    )
    assert not used(picky)


def test_hosts_of_one_provider_are_distributed_in_one_way(service):
    answer = ask(service, *(numbered("c", number) for number in range(9)))
    assert outcome(answer) == "berth.no_candidate"
    assert "There is room for 8 of 9 consumers" in answer.text
    assert "distribution" not in answer.text


# What is asked
