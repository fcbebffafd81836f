from collections import Counter
from dataclasses import replace

import pytest

from compute import exceptions
from tests.unit.virt.consumers import uuid
from virt.driver import load_driver
from virt.inventory import record
from virt.ironic import IronicDriver
from virt.ironic.node import IronicNode, custom_class
from virt.virtapi import NoopVirtAPI

FREE = IronicNode(uuid(1), resource_class="baremetal.gold", traits=frozenset({"CUSTOM_RAID"}))
USED = replace(FREE, uuid=uuid(2), provision_state="active", instance_uuid=uuid(77))


class Machines:
    """A source that lists what it is told to."""

    def __init__(self, *nodes):
        self.listed = list(nodes)
        self.asked = 0

    def nodes(self):
        self.asked += 1
        if isinstance(self.listed, Exception):
            raise self.listed
        return self.listed


class Records(NoopVirtAPI):
    """A service whose records have some instances."""

    def __init__(self, *instances):
        super().__init__()
        self.instances = set(instances)

    def instances_of_host(self, host):
        return self.instances


@pytest.fixture
def make(make_conf):
    """Make a driver of the host `host1`."""

    def make_driver(*nodes, virtapi=None, **options):
        machines = Machines(*nodes)
        driver = IronicDriver(virtapi or Records(), make_conf(**options), machines)
        driver.init_host("host1")
        return driver, machines

    return make_driver


@pytest.fixture
def reported(make, tree):
    """Return the inventory that a machine is reported with."""

    def report(node, **options):
        driver, _ = make(node, **options)
        tree.new_root(node.uuid, node.uuid)
        driver.update_provider_tree(tree, node.uuid)
        return tree.data(node.uuid).inventory

    return report


# Nodes


def test_each_machine_is_a_node_named_by_its_uuid(make):
    driver, _ = make(FREE, USED)

    assert driver.get_available_nodes() == [uuid(1), uuid(2)]
    assert driver.get_nodenames_by_uuid() == {uuid(1): uuid(1), uuid(2): uuid(2)}


def test_a_machine_is_described_by_zeros_its_uuid_and_its_architecture(make):
    driver, _ = make(replace(FREE, cpu_arch="aarch64"))

    found = driver.get_available_resource(uuid(1))

    amounts = ("vcpus", "memory_mb", "local_gb")
    assert {found[name] for name in (*amounts, *(f"{name}_used" for name in amounts))} == {0}
    assert (found["uuid"], found["hypervisor_hostname"]) == (uuid(1), uuid(1))
    assert found["supported_instances"] == [["aarch64", "baremetal", "hvm"]]


def test_machines_come_and_go(make):
    driver, machines = make(FREE)
    machines.listed = [USED]

    assert driver.get_available_nodes() == [uuid(2)]
    assert [driver.is_node_deleted(node) for node in (uuid(1), uuid(2))] == [True, False]


def test_the_tracker_is_answered_without_asking_the_source_again(make, tree):
    driver, machines = make(FREE)
    driver.get_available_nodes()
    tree.new_root(uuid(1), uuid(1))
    asked = machines.asked

    driver.get_available_resource(uuid(1))
    driver.update_provider_tree(tree, uuid(1))
    driver.node_is_available(uuid(1))

    assert machines.asked == asked


def test_the_source_is_asked_before_a_machine_is_said_to_be_unknown(make):
    driver, machines = make(FREE)
    machines.listed = [FREE, USED]

    assert (driver.node_is_available(uuid(2)), driver.node_is_available(uuid(3))) == (True, False)


@pytest.mark.parametrize("ask", ["get_available_resource", "update_provider_tree"])
def test_a_machine_nobody_lists_is_not_found(make, tree, ask):
    driver, _ = make(FREE)
    arguments = [tree, uuid(9)] if ask == "update_provider_tree" else [uuid(9)]

    with pytest.raises(exceptions.ComputeHostNotFound):
        getattr(driver, ask)(*arguments)


def test_the_source_is_asked_again_only_before_a_machine_is_said_to_be_gone(make):
    driver, machines = make(FREE, USED, ironic__peer_list=["host1", "host2"])
    driver.get_available_nodes()
    asked = machines.asked

    there = [driver.is_node_deleted(node) for node in (uuid(1), uuid(2))]
    asked_for_those = machines.asked - asked
    gone = driver.is_node_deleted(uuid(9))

    assert (there, asked_for_those) == ([False, False], 0)
    assert (gone, machines.asked - asked) == (True, 1)


def test_a_source_that_can_not_say_deletes_nothing(make):
    driver, machines = make(FREE)
    machines.listed = exceptions.VirtDriverNotReady()

    assert not driver.is_node_deleted(uuid(1))


def test_a_source_that_is_wrong_keeps_the_driver_from_starting(make_conf):
    driver = IronicDriver(Records(), make_conf())

    with pytest.raises(exceptions.InvalidConfiguration, match=r"baremetal\.yaml: No such file"):
        driver.init_host("host1")


def test_the_default_source_is_the_configured_file(make_conf, tmp_path, virtapi):
    path = tmp_path / "machines.yaml"
    path.write_text(f"nodes: [{{uuid: {uuid(1)}}}]\n...\n")

    driver = load_driver(
        virtapi, "ironic.IronicDriver", make_conf(ironic__inventory_file=str(path))
    )

    assert driver.get_available_nodes() == [uuid(1)]


# Peers


def shares(make, peers, nodes):
    """peer → uuids of its nodes."""
    found = {}
    for peer in filter(None, peers):
        driver, _ = make(*nodes, ironic__peer_list=peers)
        driver.init_host(peer)
        found[peer] = driver.get_available_nodes()
    return found


NODES = [replace(FREE, uuid=uuid(number)) for number in range(60)]


def test_free_machines_are_divided_among_the_peers(make):
    found = shares(make, ["host1", "host2", "host3"], NODES)

    assert Counter(node for share in found.values() for node in share) == Counter(
        node.uuid for node in NODES
    )
    assert all(len(share) > 10 for share in found.values())


#: machine → host, as nova 34 divides them among host1, host2 and host3
OF_NOVA = {
    "00000000-0000-4000-8000-000000000000": "host1",
    "9e3779b1-0000-4000-8000-000000000001": "host3",
    "3c6ef362-0000-4000-8000-000000000002": "host3",
    "daa66d13-0000-4000-8000-000000000003": "host3",
    "78dde6c4-0000-4000-8000-000000000004": "host2",
    "17156075-0000-4000-8000-000000000005": "host2",
    "b54cda26-0000-4000-8000-000000000006": "host2",
    "538453d7-0000-4000-8000-000000000007": "host1",
    "f1bbcd88-0000-4000-8000-000000000008": "host1",
    "8ff34739-0000-4000-8000-000000000009": "host3",
    "2e2ac0ea-0000-4000-8000-00000000000a": "host2",
    "cc623a9b-0000-4000-8000-00000000000b": "host2",
}


def test_the_peers_have_the_machines_that_nova_gives_them(make):
    """A host that changes from nova's agent to this one has the same, and its peers, too."""
    found = shares(make, ["host3", "HOST1", "host2"], [replace(FREE, uuid=one) for one in OF_NOVA])
    assert {node: host.lower() for host, nodes in found.items() for node in nodes} == OF_NOVA


def test_when_a_peer_leaves_only_its_machines_change_hands(make):
    before = shares(make, ["host1", "host2", "host3"], NODES)
    after = shares(make, ["host1", "host2"], NODES)

    assert all(set(before[host]) <= set(after[host]) for host in after)


def test_a_machine_belongs_to_the_host_its_instance_lives_on(make):
    peers = {"ironic__peer_list": ["host1", "host2"]}
    here, _ = make(USED, virtapi=Records(uuid(77)), **peers)
    there, _ = make(USED, virtapi=Records(), **peers)

    assert (here.get_available_nodes(), there.get_available_nodes()) == ([uuid(2)], [])


def test_only_instances_of_this_host_are_listed(make):
    other = replace(USED, uuid=uuid(3), instance_uuid=uuid(78))
    driver, _ = make(FREE, USED, other, virtapi=Records(uuid(77)))

    assert driver.list_instance_uuids() == driver.list_instances() == [uuid(77)]


def test_all_are_listed_for_those_who_ask_what_is_alive(make):
    driver, _ = make(FREE, USED, virtapi=Records())

    assert (driver.list_instance_uuids(), driver.all_instance_uuids()) == ([], [uuid(77)])


@pytest.mark.parametrize("peers", [["Host1", "HOST2"], ["host1", "host2"]])
def test_names_of_peers_have_no_case(make, peers):
    found = {}
    for host in ("HOST1", "host2"):
        driver, _ = make(*NODES, ironic__peer_list=peers)
        driver.init_host(host)
        found[host] = driver.get_available_nodes()

    assert sorted(found["HOST1"] + found["host2"]) == sorted(node.uuid for node in NODES)


def test_a_comma_too_many_is_no_peer(make):
    """It would have its part of the machines, which nobody would report."""
    found = shares(make, ["host1", "", "host2"], NODES)

    assert sorted(found["host1"] + found["host2"]) == sorted(node.uuid for node in NODES)


def test_a_host_that_is_not_among_its_peers_is_refused(make):
    with pytest.raises(
        exceptions.InvalidConfiguration,
        match="peer_list has host2, host3, but not this host, host1",
    ):
        make(FREE, ironic__peer_list=["host2", "host3"])


@pytest.mark.parametrize("peers", [["host1", "host2"], ["host2"]])
def test_with_a_shard_a_host_has_all_of_it(make, peers):
    driver, _ = make(*NODES, ironic__peer_list=peers, ironic__shard="rack-7")

    assert len(driver.get_available_nodes()) == len(NODES)


def test_a_machine_that_went_to_another_group_is_not_deleted(make):
    driver, machines = make(FREE)
    machines.listed = []
    machines.has = lambda node: node == FREE.uuid

    assert not driver.is_node_deleted(FREE.uuid)
    assert driver.is_node_deleted(USED.uuid)


# Inventory


def test_a_machine_that_is_available_is_one_of_its_class(reported):
    assert reported(FREE) == {"CUSTOM_BAREMETAL_GOLD": record(1)}


@pytest.mark.parametrize(
    "fields",
    [
        {"maintenance": True},
        {"power_state": "error"},
        {"power_state": None},
        {"provision_state": "enroll"},
        {"provision_state": "clean wait"},
        {"provision_state": "active", "instance_uuid": uuid(77)},
        {"provision_state": "available", "instance_uuid": uuid(77)},
    ],
)
def test_a_machine_that_can_not_be_had_is_reserved(reported, fields):
    assert reported(replace(FREE, **fields)) == {"CUSTOM_BAREMETAL_GOLD": record(1, reserved=1)}


@pytest.mark.parametrize("fields", [{"power_state": "power on"}, {"provision_state": None}])
def test_a_machine_that_runs_idly_or_has_no_provision_state_yet_is_not_reserved(reported, fields):
    assert reported(replace(FREE, **fields))["CUSTOM_BAREMETAL_GOLD"]["reserved"] == 0


def test_machines_in_use_need_not_be_reserved(reported):
    option = {"workarounds__skip_reserve_in_use_ironic_nodes": True}

    assert reported(USED, **option)["CUSTOM_BAREMETAL_GOLD"]["reserved"] == 0


def test_a_machine_without_class_is_an_error_that_names_it(make, tree):
    driver, _ = make(replace(FREE, resource_class=None))
    tree.new_root(uuid(1), uuid(1))

    with pytest.raises(exceptions.NoResourceClass, match=uuid(1)):
        driver.update_provider_tree(tree, uuid(1))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("baremetal.gold-1", "CUSTOM_BAREMETAL_GOLD_1"),
        ("gold", "CUSTOM_GOLD"),
        ("Big Iron", "CUSTOM_BIG_IRON"),
    ],
)
def test_classes_are_custom_classes(name, expected):
    assert custom_class(name) == expected


def test_a_machine_that_changes_its_class_has_only_the_new_one(make, tree):
    driver, machines = make(FREE)
    tree.new_root(uuid(1), uuid(1))
    driver.update_provider_tree(tree, uuid(1))
    machines.listed = [replace(FREE, resource_class="baremetal.silver")]
    driver.get_available_nodes()

    driver.update_provider_tree(tree, uuid(1))

    assert tree.data(uuid(1)).inventory == {"CUSTOM_BAREMETAL_SILVER": record(1)}


# Traits


@pytest.fixture
def with_traits(make, tree):
    """Report machine 1 with these traits, and return those its provider has then."""
    driver, machines = make(FREE)
    tree.new_root(uuid(1), uuid(1))

    def report(*traits):
        machines.listed = [replace(FREE, traits=frozenset(traits))]
        driver.get_available_nodes()
        driver.update_provider_tree(tree, uuid(1))
        return tree.data(uuid(1)).traits

    return report


def test_a_machines_traits_come_and_go_and_an_operators_stay(with_traits, tree):
    tree.add_traits(uuid(1), "CUSTOM_OPERATORS")

    assert with_traits("CUSTOM_RAID", "HW_CPU_X86_VMX") == {
        "CUSTOM_OPERATORS",
        "CUSTOM_RAID",
        "HW_CPU_X86_VMX",
    }
    assert with_traits("HW_CPU_X86_VMX") == {"CUSTOM_OPERATORS", "HW_CPU_X86_VMX"}


def test_a_trait_that_is_gone_is_removed_again_if_that_did_not_get_through(with_traits, tree):
    with_traits("CUSTOM_RAID")
    with_traits()
    tree.add_traits(uuid(1), "CUSTOM_RAID")  # the tree is read anew, and still has it

    assert with_traits() == set()


def test_an_operator_may_set_a_trait_that_the_machine_once_had(with_traits, tree):
    with_traits("CUSTOM_RAID")
    with_traits()
    with_traits()
    tree.add_traits(uuid(1), "CUSTOM_RAID")

    assert with_traits() == {"CUSTOM_RAID"}


def test_a_trait_that_went_while_the_service_was_down_is_removed(make, tree):
    first, _ = make(FREE)
    tree.new_root(uuid(1), uuid(1))
    tree.add_traits(uuid(1), "CUSTOM_OPERATORS")
    first.update_provider_tree(tree, uuid(1))
    second, _ = make(replace(FREE, traits=frozenset()))

    second.update_provider_tree(tree, uuid(1))

    assert tree.data(uuid(1)).traits == {"CUSTOM_OPERATORS"}


def test_nothing_is_remembered_of_a_machine_that_is_gone(make, tree, tmp_path):
    driver, machines = make(FREE)
    tree.new_root(uuid(1), uuid(1))
    driver.update_provider_tree(tree, uuid(1))
    remembered = [path.name for path in (tmp_path / "ironic_traits").iterdir()]
    machines.listed = []

    driver.get_available_nodes()
    driver.is_node_deleted(uuid(1))

    assert (remembered, list((tmp_path / "ironic_traits").iterdir())) == ([uuid(1)], [])


def test_a_memory_that_can_not_be_kept_is_logged_and_the_update_goes_on(
    make, tree, tmp_path, caplog
):
    (tmp_path / "ironic_traits").write_text("no directory")
    driver, _ = make(FREE)
    tree.new_root(uuid(1), uuid(1))

    driver.update_provider_tree(tree, uuid(1))

    assert tree.data(uuid(1)).traits == {"CUSTOM_RAID"}
    assert f"Can't remember the traits of machine {uuid(1)}" in caplog.text


def test_a_memory_that_can_not_be_read_is_logged_and_the_update_goes_on(
    make, tree, tmp_path, caplog
):
    (tmp_path / "ironic_traits").mkdir()
    (tmp_path / "ironic_traits" / uuid(1)).write_bytes(b"\xff\xfe")
    driver, _ = make(FREE)
    tree.new_root(uuid(1), uuid(1))

    driver.update_provider_tree(tree, uuid(1))

    assert tree.data(uuid(1)).traits == {"CUSTOM_RAID"}
    assert f"ironic_traits/{uuid(1)}" in caplog.text
