from collections import Counter

import pytest

from compute import exceptions
from compute.provider_tree import ProviderTree
from tests.unit.virt.consumers import uuid
from virt.driver import load_driver
from virt.fake import FakeLargeScaleDriver
from virt.fake.large_scale import shape_of


@pytest.fixture
def make(virtapi, conf):
    def make_driver(**options):
        driver = FakeLargeScaleDriver(virtapi, conf, **options)
        driver.init_host("cloud")
        return driver

    return make_driver


def reported(driver):
    """Return the tree of all its nodes."""
    tree = ProviderTree()
    for node_uuid, nodename in driver.get_nodenames_by_uuid().items():
        tree.new_root(nodename, node_uuid)
        driver.update_provider_tree(tree, nodename)
    return tree


def picture(tree):
    found = (tree.data(one) for one in tree.get_provider_uuids())
    return {one.name: (one.inventory, one.traits) for one in found}


def totals(tree):
    """Return class → total of all providers."""
    found: Counter[str] = Counter()
    for provider in tree.get_provider_uuids():
        found.update({name: one["total"] for name, one in tree.data(provider).inventory.items()})
    return found


def test_by_default_there_are_as_many_nodes_as_configured(virtapi, make_conf):
    driver = load_driver(virtapi, "fake.FakeLargeScaleDriver", make_conf(berth__fake_nodes=3000))
    driver.init_host("cloud")

    nodes = driver.get_available_nodes()

    assert (len(nodes), nodes[0], nodes[-1]) == (3000, "cloud-00000", "cloud-02999")


def test_the_same_seed_gives_the_same_cloud_and_another_another(make):
    first, again, other = (make(nodes=50, seed=seed) for seed in (7, 7, 8))

    assert picture(reported(first)) == picture(reported(again))
    assert picture(reported(first)) != picture(reported(other))


def test_a_node_is_the_same_in_a_larger_cloud(make):
    small, large = make(nodes=5), make(nodes=50)

    assert small.shape("cloud-00003") == large.shape("cloud-00003")


def test_a_node_is_the_same_on_every_machine():
    shape = shape_of(0, 0)

    found = (shape.vcpus, shape.memory_mb, shape.local_gb, shape.cells, len(shape.cards))
    assert found == (64, 131072, 1000, 2, 2)


def test_all_that_nodes_have_is_reported_somewhere(make):
    driver = make(nodes=200)
    shapes = [driver.shape(node) for node in driver.get_available_nodes()]

    assert totals(reported(driver)) == {
        "VCPU": sum(shape.vcpus for shape in shapes),
        "MEMORY_MB": sum(shape.memory_mb for shape in shapes),
        "DISK_GB": sum(shape.local_gb for shape in shapes),
        "SRIOV_NET_VF": sum(len(card.virtual_functions) for s in shapes for card in s.cards),
    }


def test_nodes_are_of_all_kinds(make):
    driver = make(nodes=200)
    shapes = [driver.shape(node) for node in driver.get_available_nodes()]

    assert {shape.cells for shape in shapes} == {0, 2, 4}
    assert {len(shape.cards) for shape in shapes} == {0, 1, 2}
    assert len({shape.vcpus for shape in shapes}) == 4
    assert len({frozenset(shape.traits) for shape in shapes}) > 20


def test_the_records_of_a_node_agree_with_its_shape(make):
    driver = make(nodes=3)
    shape = driver.shape("cloud-00002")

    found = driver.get_available_resource("cloud-00002")

    assert (found["vcpus"], found["memory_mb"], found["local_gb"]) == (
        shape.vcpus,
        shape.memory_mb,
        shape.local_gb,
    )


def test_another_clouds_node_is_not_found(make):
    driver = make(nodes=3)

    with pytest.raises(exceptions.ComputeHostNotFound):
        driver.get_available_resource("cloud-00003")
    assert (driver.node_is_available("cloud-00002"), driver.node_is_available(uuid(1))) == (
        True,
        False,
    )
