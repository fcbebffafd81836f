"""The cloud of the large-scale driver, reported to a real service (compute.md §6.4)."""

from collections import Counter
from functools import partial

import pytest

from virt.fake import FakeLargeScaleDriver


@pytest.fixture
def cloud(host):
    host.start(partial(FakeLargeScaleDriver, nodes=25, seed=3))
    return host


def test_every_node_is_reported_with_all_it_has(cloud, outsider):
    reported = Counter()
    for node_uuid in cloud.driver.get_nodenames_by_uuid():
        tree = outsider.call("GET", f"/resource_providers?in_tree={node_uuid}")
        for provider in tree["resource_providers"]:
            reported.update(outsider.totals(provider["uuid"]))
    shapes = [cloud.driver.shape(node) for node in cloud.driver.get_available_nodes()]
    assert cloud.outcome.failures == {}
    assert reported == {
        "VCPU": sum(shape.vcpus for shape in shapes),
        "MEMORY_MB": sum(shape.memory_mb for shape in shapes),
        "DISK_GB": sum(shape.local_gb for shape in shapes),
        "SRIOV_NET_VF": sum(len(card.virtual_functions) for s in shapes for card in s.cards),
    }


def test_an_idle_update_of_the_cloud_sends_nothing(cloud):
    cloud.adapter.requests.clear()
    cloud.update()
    assert cloud.adapter.requests == []


def test_a_restart_finds_the_same_cloud(cloud):
    cloud.start(partial(FakeLargeScaleDriver, nodes=25, seed=3))
    assert cloud.adapter.writes == []
