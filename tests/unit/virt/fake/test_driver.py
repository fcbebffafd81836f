import json
from types import SimpleNamespace
from uuid import NAMESPACE_DNS, uuid5

import pytest

from compute import exceptions
from virt import fake
from virt.inventory import record


@pytest.mark.parametrize(
    ("driver_class", "totals"),
    [
        (fake.FakeDriver, (1000, 800000, 600000)),
        (fake.SmallFakeDriver, (2, 8192, 1028)),
        (fake.MediumFakeDriver, (10, 8192, 1028)),
        (fake.PredictableNodeUUIDDriver, (2, 8192, 1028)),
        (fake.LegacyInventoryDriver, (10, 8192, 1028)),
        (fake.ResourceOnlyDriver, (10, 8192, 1028)),
        (fake.SameHostColdMigrateDriver, (10, 8192, 1028)),
        (fake.RescueBFVDriver, (10, 8192, 1028)),
        (fake.EphEncryptionDriver, (10, 8192, 1028)),
        (fake.EphEncryptionDriverLUKS, (10, 8192, 1028)),
        (fake.EphEncryptionDriverPLAIN, (10, 8192, 1028)),
        (fake.PowerUpdateFakeDriver, (2, 8192, 1028)),
        (fake.FakeDriverWithPciResources, (2, 8192, 1028)),
    ],
)
def test_each_driver_has_the_totals_of_the_specification(make, driver_class, totals):
    found = make(driver_class).get_available_resource("host1")

    assert (found["vcpus"], found["memory_mb"], found["local_gb"]) == totals


def test_the_medium_drivers_root_inventory_is_that_of_the_specification(make, tree):
    make(fake.MediumFakeDriver).update_provider_tree(tree, "host1")

    assert tree.data("host1").inventory == {
        "VCPU": record(10, 0, 4.0),
        "MEMORY_MB": record(8192, 512, 1.0),
        "DISK_GB": record(1028, 0, 1.0),
    }


def test_ratios_and_reserved_amounts_come_from_the_configuration(make_conf, virtapi, tree):
    conf = make_conf(
        cpu_allocation_ratio=2.0,
        ram_allocation_ratio=2.0,
        disk_allocation_ratio=2.0,
        reserved_host_cpus=2,
        reserved_host_memory_mb=1024,
        reserved_host_disk_mb=8192,
    )

    fake.MediumFakeDriver(virtapi, conf).update_provider_tree(tree, "host1")

    assert tree.data("host1").inventory == {
        "VCPU": record(10, 2, 2.0),
        "MEMORY_MB": record(8192, 1024, 2.0),
        "DISK_GB": record(1028, 8, 2.0),
    }


def test_traits_of_the_root_stay_as_they_are(make, tree):
    tree.add_traits("host1", "CUSTOM_GOLD")

    make(fake.FakeDriver).update_provider_tree(tree, "host1")

    assert tree.data("host1").traits == {"CUSTOM_GOLD"}


def test_fifteen_capabilities_show_as_traits_and_two_as_their_absence(make):
    traits = make(fake.FakeDriver).capabilities_as_traits()

    assert traits == dict.fromkeys(
        [
            "COMPUTE_NET_ATTACH_INTERFACE",
            "COMPUTE_DEVICE_TAGGING",
            "COMPUTE_NET_ATTACH_INTERFACE_WITH_TAG",
            "COMPUTE_VOLUME_ATTACH_WITH_TAG",
            "COMPUTE_VOLUME_EXTEND",
            "COMPUTE_VOLUME_MULTI_ATTACH",
            "COMPUTE_TRUSTED_CERTS",
            "COMPUTE_ACCELERATORS",
            "COMPUTE_REMOTE_MANAGED_PORTS",
            "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
            "COMPUTE_ADDRESS_SPACE_EMULATED",
            "COMPUTE_SECURITY_STATELESS_FIRMWARE",
            "COMPUTE_STORAGE_VIRTIO_FS",
            "COMPUTE_MEM_BACKING_FILE",
            "COMPUTE_IMAGE_TYPE_RAW",
        ],
        True,
    ) | {"COMPUTE_SAME_HOST_COLD_MIGRATE": False, "COMPUTE_IMAGE_TYPE_VHD": False}


def test_nodes_are_the_host_or_those_set(make):
    driver = make(fake.FakeDriver)
    before = driver.get_available_nodes()

    driver._set_nodes(["a", "b"])

    assert (before, driver.get_available_nodes()) == (["host1"], ["a", "b"])


def test_another_hosts_node_is_not_found(make):
    with pytest.raises(exceptions.ComputeHostNotFound):
        make(fake.FakeDriver).get_available_resource("host2")


def test_guests_are_kept_in_memory(make):
    driver = make(fake.FakeDriver)
    guest = SimpleNamespace(uuid="guest-uuid", name="guest")

    driver.spawn(None, guest)
    spawned = driver.list_instances(), driver.list_instance_uuids(), driver.get_info(guest)
    driver.destroy(None, guest)
    driver.destroy(None, guest)

    assert spawned == (["guest"], ["guest-uuid"], {"uuid": "guest-uuid", "state": "running"})
    assert driver.list_instances() == []


def test_the_nested_child_is_made_once(make, tree):
    driver = make(fake.MediumFakeDriverWithNestedCustomResources)
    driver.update_provider_tree(tree, "host1")
    child = tree.data("host1-child")

    driver.update_provider_tree(tree, "host1")

    assert tree.data("host1-child") == child
    assert child.inventory == {
        "CUSTOM_MAGIC": {
            "total": 10,
            "reserved": 0,
            "min_unit": 1,
            "max_unit": 10,
            "step_size": 1,
            "allocation_ratio": 1.0,
        }
    }


def test_a_predictable_node_uuid_follows_from_the_name(make):
    driver = make(fake.PredictableNodeUUIDDriver)
    expected = str(uuid5(NAMESPACE_DNS, "host1"))

    assert driver.get_available_resource("host1")["uuid"] == expected
    assert driver.get_nodenames_by_uuid() == {expected: "host1"}


def test_a_multi_node_driver_has_a_uuid_for_each_node(make):
    driver = make(fake.FakeMultiNodeDriver, nodes=["a", "b"])

    assert driver.get_available_nodes() == ["a", "b"]
    assert {
        driver.get_available_resource(node)["uuid"]: node for node in ("a", "b")
    } == driver.get_nodenames_by_uuid()


@pytest.mark.parametrize("deleted", [True, False])
def test_a_node_of_a_multi_node_driver_can_vanish_for_good_or_not(make, deleted):
    driver = make(fake.FakeMultiNodeDriver, nodes=["a", "b"])

    driver.drop_node("b", deleted=deleted)

    assert (driver.get_available_nodes(), driver.is_node_deleted("b")) == (["a"], deleted)
    assert driver.is_node_deleted("a") is False


def test_a_legacy_driver_reports_an_inventory_without_ratios_and_reserved_amounts(make, tree):
    driver = make(fake.LegacyInventoryDriver)

    with pytest.raises(NotImplementedError):
        driver.update_provider_tree(tree, "host1")

    assert driver.get_inventory("host1")["VCPU"] == {
        "total": 10,
        "min_unit": 1,
        "max_unit": 10,
        "step_size": 1,
    }


@pytest.mark.parametrize("method", ["get_inventory", "get_traits"])
def test_a_resource_only_driver_reports_no_inventory_at_all(make, method):
    with pytest.raises(NotImplementedError):
        getattr(make(fake.ResourceOnlyDriver), method)("host1")


@pytest.mark.parametrize(
    ("driver_class", "more"),
    [
        (fake.SameHostColdMigrateDriver, {"COMPUTE_SAME_HOST_COLD_MIGRATE"}),
        (fake.RescueBFVDriver, {"COMPUTE_RESCUE_BFV"}),
        (fake.EphEncryptionDriver, {"COMPUTE_EPHEMERAL_ENCRYPTION"}),
        (
            fake.EphEncryptionDriverLUKS,
            {"COMPUTE_EPHEMERAL_ENCRYPTION", "COMPUTE_EPHEMERAL_ENCRYPTION_LUKS"},
        ),
        (
            fake.EphEncryptionDriverPLAIN,
            {"COMPUTE_EPHEMERAL_ENCRYPTION", "COMPUTE_EPHEMERAL_ENCRYPTION_PLAIN"},
        ),
    ],
)
def test_some_drivers_can_do_more_than_the_others(make, driver_class, more):
    medium, able = (make(one).capabilities_as_traits() for one in (fake.FakeDriver, driver_class))

    assert {trait for trait, can in able.items() if can and not medium.get(trait)} == more


def test_a_power_update_is_believed(make):
    driver = make(fake.PowerUpdateFakeDriver)
    guest = SimpleNamespace(uuid="guest-uuid", name="guest")
    driver.spawn(None, guest)

    driver.power_update_event(guest, "POWER_OFF")
    off = driver.get_info(guest)["state"]
    driver.power_update_event(guest, "POWER_ON")

    assert (off, driver.get_info(guest)["state"]) == ("shutdown", "running")


def test_three_cards_have_a_function_each_and_the_first_is_in_a_network_of_its_own(make):
    found = make(fake.FakeDriverWithPciResources).get_available_resource("host1")

    devices = json.loads(found["pci_passthrough_devices"])
    assert [
        (one["address"], one["dev_type"], one["parent_addr"], one["physical_network"])
        for one in devices
    ] == [
        ("0000:01:00.0", "type-PF", None, "physnet1"),
        ("0000:01:00.1", "type-VF", "0000:01:00.0", "physnet1"),
        ("0000:02:00.0", "type-PF", None, "physnet2"),
        ("0000:02:00.1", "type-VF", "0000:02:00.0", "physnet2"),
        ("0000:03:00.0", "type-PF", None, "physnet2"),
        ("0000:03:00.1", "type-VF", "0000:03:00.0", "physnet2"),
    ]
