"""A host whose start reshapes it: what there was before, and both ways to reshape."""

import pytest

from tests.functional.compute.compute_host import ComputeHost

ROOT_INVENTORY = {"VCPU": 10, "MEMORY_MB": 8192, "DISK_GB": 1028}
RESHAPER = "/reshaper"
WHOLE_TREE = "/berth/v1/provider_trees/{}"
#: a test in both ways to reshape: the request, and what counts it
BOTH_WAYS = pytest.mark.parametrize(
    ("request_url", "count"),
    [
        pytest.param(RESHAPER, ComputeHost.reshapes, marks=pytest.mark.one_by_one),
        pytest.param(WHOLE_TREE, ComputeHost.whole_writes),
    ],
    ids=["one by one", "whole"],
)


def tree_of(outsider, host):
    """name → uuid of all providers in the host's tree."""
    found = outsider.call("GET", f"/resource_providers?in_tree={host.uuid}")
    return {provider["name"]: provider["uuid"] for provider in found["resource_providers"]}


def held_of(outsider, provider):
    """consumer → resources held of a provider."""
    found = outsider.call("GET", f"/resource_providers/{provider}/allocations")["allocations"]
    return {consumer: held["resources"] for consumer, held in found.items()}


def unchanged(outsider, host):
    """Whether placement has what `flat_host` set up."""
    return (
        outsider.totals(host.uuid) == ROOT_INVENTORY
        and list(outsider.allocations(host.first)) == [host.uuid]
        and list(outsider.allocations(host.second)) == [host.uuid]
    )
