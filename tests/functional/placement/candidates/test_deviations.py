"""Candidates where options or limits show an error of the reference.

Errors that show without them are in candidate-examples.yaml (allocation-candidates.md 2.12).
"""

import pytest

from tests.functional.placement.service import Service
from tests.functional.placement.topology import Cloud

pytestmark = pytest.mark.spread_over_databases

CAP = "placement__max_allocation_candidates"
WIDE = "workarounds__optimize_for_wide_provider_trees"

#: a tree whose candidates use two providers each, and a host that has all resources itself
TREE_AND_HOST = [
    {"name": "tree", "inventories": {"VCPU": {"total": 8}}},
    *(
        {"name": f"child {n}", "parent": "tree", "inventories": {"VGPU": {"total": 8}}}
        for n in range(6)
    ),
    {"name": "host", "inventories": {"VCPU": {"total": 8}, "VGPU": {"total": 8}}},
]


def found(service, query, version):
    """Return the providers of each candidate, and those with a summary."""
    response = service.get(f"/allocation_candidates?{query}", version=version)
    assert response.status_code == 200
    body = response.json
    return (
        sorted(sorted(one["allocations"]) for one in body["allocation_requests"]),
        sorted(body["provider_summaries"]),
    )


@pytest.mark.parametrize("cap", [1, 3, 6])
@pytest.mark.parametrize("topology", [TREE_AND_HOST, [TREE_AND_HOST[-1], *TREE_AND_HOST[:-1]]])
def test_candidates_that_the_microversion_hides_do_not_count_for_the_maximum(
    database_url, topology, cap
):
    service = Service(database_url, **{CAP: cap})
    host = Cloud(service).build(topology).uuids["host"]

    assert found(service, "resources=VCPU:1,VGPU:1", "1.28")[0] == [[host]]


@pytest.mark.parametrize("optimized", [False, True])
def test_sums_include_usage_whether_optimized_for_wide_trees_or_not(database_url, optimized):
    service = Service(database_url, **{WIDE: optimized})
    cloud = Cloud(service).build(
        [
            {"name": "full", "inventories": {"VCPU": {"total": 4}}},
            {"name": "free", "inventories": {"VCPU": {"total": 4}}},
        ],
        [{"allocations": {"full": {"VCPU": 2}}}],
    )
    query = "resources1=VCPU:2&resources2=VCPU:1&group_policy=none"

    assert found(service, query, "1.39")[0] == [[cloud.uuids["free"]]]


def test_before_nested_candidates_summaries_have_the_providers_of_the_response(database_url):
    service = Service(database_url)
    Cloud(service).build(
        [
            {"name": "root", "inventories": {"VCPU": {"total": 8}}},
            {"name": "child", "parent": "root", "inventories": {"VCPU": {"total": 8}}},
        ]
    )
    ((used,),), summaries = found(service, "resources=VCPU:1&limit=1", "1.28")

    assert summaries == [used]
