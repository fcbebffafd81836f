"""What the driver reports of devices that make others (compute.md §6.5)."""

from dataclasses import replace

import pytest

from compute.config import devices
from compute.exceptions import InvalidConfiguration
from tests.unit.virt.libvirt.hosts import children
from tests.unit.virt.node.hosts import GPUS, TYPE, mediated
from virt.inventory import record


def set_types(driver, **groups):
    """Set options of the groups of types of mediated devices."""
    devices.register_types(driver.conf)
    for name, options in groups.items():
        for option, value in options.items():
            driver.conf.set_override(option, value, f"mdev_{name}")


class TestVGPU:
    def test_each_gpu_has_what_exists_and_what_can_be_made(self, make_driver, tree, host):
        host.change(
            creatable={GPUS[0]: {TYPE: 2}, GPUS[1]: {TYPE: 0}, GPUS[2]: {TYPE: 0}},
            mediated_devices=mediated({1: GPUS[0], 2: GPUS[1]}),
        )
        make_driver(devices__enabled_mdev_types=[TYPE]).update_provider_tree(tree, "host1")
        assert children(tree) == {GPUS[0]: {"VGPU": record(3)}, GPUS[1]: {"VGPU": record(1)}}

    def test_a_mediated_device_that_is_only_defined_is_among_those_that_can_be_made(
        self, make_driver, tree, host
    ):
        (defined,) = mediated({1: GPUS[0]})
        host.change(
            creatable={GPUS[0]: {TYPE: 2}}, mediated_devices=[replace(defined, is_active=False)]
        )
        make_driver(devices__enabled_mdev_types=[TYPE]).update_provider_tree(tree, "host1")
        assert children(tree) == {GPUS[0]: {"VGPU": record(2)}}

    def test_without_an_enabled_type_there_is_none(self, make_driver, tree, host):
        host.change(creatable={GPUS[0]: {TYPE: 2}})
        make_driver().update_provider_tree(tree, "host1")
        make_driver(devices__enabled_mdev_types=["other"]).update_provider_tree(tree, "host1")
        assert children(tree) == {}

    @pytest.mark.parametrize("device", [GPUS[0], "mtty_0"])
    def test_a_device_that_has_nothing_left_to_give_loses_its_provider(
        self, make_driver, tree, host, device
    ):
        host.change(creatable={device: {TYPE: 2}})
        driver = make_driver(devices__enabled_mdev_types=[TYPE])
        driver.update_provider_tree(tree, "host1")
        before = set(children(tree))
        host.change(creatable={device: {TYPE: 0}})
        driver.update_provider_tree(tree, "host1")
        assert (before, children(tree)) == ({device}, {})

    def test_a_gpu_makes_the_type_it_has_else_the_first_enabled(self, make_driver, tree, host):
        host.change(
            creatable={GPUS[0]: {"a": 4, "b": 8}, GPUS[1]: {"a": 4, "b": 8}},
            mediated_devices=mediated({1: GPUS[1]}, "b"),
        )
        make_driver(
            devices__enabled_mdev_types=["a", "b"], berth__mdev_classes={"b": "CUSTOM_B"}
        ).update_provider_tree(tree, "host1")
        assert children(tree) == {GPUS[0]: {"VGPU": record(4)}, GPUS[1]: {"CUSTOM_B": record(9)}}

    def test_what_the_groups_of_types_say_counts(self, make_driver, tree, host):
        both = {"big": 16, "small": 8}
        host.change(creatable={GPUS[0]: both, GPUS[1]: both, GPUS[2]: {"big": 4}})
        driver = make_driver(devices__enabled_mdev_types=["big", "small"])
        set_types(
            driver,
            big={"device_addresses": ["0000:84:00.0"], "max_instances": 4},
            small={"device_addresses": ["0000:85:00.0"], "mdev_class": "CUSTOM_SMALL_GPU"},
        )
        driver.update_provider_tree(tree, "host1")
        assert children(tree) == {
            GPUS[0]: {"VGPU": record(4)},
            GPUS[1]: {"CUSTOM_SMALL_GPU": record(8)},
        }

    def test_the_first_type_without_addresses_is_that_of_other_devices(
        self, make_driver, tree, host
    ):
        """As in nova; a device that can't make it isn't offered."""
        both = {"big": 16, "small": 8}
        host.change(creatable={GPUS[0]: both, GPUS[1]: both, GPUS[2]: {"big": 4}})
        driver = make_driver(devices__enabled_mdev_types=["big", "small", "tiny"])
        set_types(driver, big={"device_addresses": ["0000:84:00.0"]})
        driver.update_provider_tree(tree, "host1")
        assert children(tree) == {GPUS[0]: {"VGPU": record(16)}, GPUS[1]: {"VGPU": record(8)}}

    def test_a_card_that_makes_few_offers_few_functions_and_stays_with_them(
        self, make_driver, tree, host
    ):
        functions = [f"pci_0000_84_00_{n}" for n in (4, 5, 6, 7)]
        host.change(creatable={one: {TYPE: 1} for one in functions})
        driver = make_driver(devices__enabled_mdev_types=[TYPE])
        set_types(driver, **{TYPE: {"max_instances": 2}})
        driver.update_provider_tree(tree, "host1")
        one_each = {"VGPU": record(1)}
        assert children(tree) == {functions[0]: one_each, functions[1]: one_each}
        # A guest got the second one; then somebody made one on the last.
        host.change(mediated_devices=mediated({1: functions[1]}))
        host.change(creatable={one: {TYPE: 1} for one in functions if one != functions[1]})
        driver.update_provider_tree(tree, "host1")
        assert children(tree) == {functions[0]: one_each, functions[1]: one_each}
        host.change(mediated_devices=mediated({1: functions[1], 2: functions[3]}))
        host.change(creatable={one: {TYPE: 0} for one in functions})
        driver.update_provider_tree(tree, "host1")
        assert children(tree) == {functions[1]: one_each, functions[3]: one_each}

    def test_what_exists_stays_though_fewer_are_allowed(self, make_driver, tree, host):
        host.change(
            creatable={GPUS[0]: {TYPE: 14}, GPUS[1]: {TYPE: 1}},
            mediated_devices=mediated({1: GPUS[0], 2: GPUS[0]}),
        )
        driver = make_driver(devices__enabled_mdev_types=[TYPE])
        set_types(driver, **{TYPE: {"max_instances": 1}})
        driver.update_provider_tree(tree, "host1")
        assert children(tree) == {GPUS[0]: {"VGPU": record(2)}}

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"big": {"device_addresses": ["84:00.0"]}}, r"\[mdev_big\]device_addresses: 84:00"),
            (
                {
                    "big": {"device_addresses": ["0000:84:00.0"]},
                    "small": {"device_addresses": ["0000:85:00.0", "0000:84:00.0"]},
                },
                r"\[mdev_big\] and \[mdev_small\] both name the device pci_0000_84_00_0",
            ),
            ({"small": {"mdev_class": "CUSTOM_OTHER"}}, r"CUSTOM_OTHER, but .*mdev_classes says"),
        ],
    )
    def test_groups_of_types_that_make_no_sense_are_refused(self, make_driver, options, says):
        driver = make_driver(
            devices__enabled_mdev_types=["big", "small"],
            berth__mdev_classes={"small": "CUSTOM_SMALL"},
        )
        set_types(driver, **options)
        with pytest.raises(InvalidConfiguration, match=says):
            driver.init_host("host1")

    def test_a_gpu_that_vanished_is_removed(self, make_driver, tree, host):
        host.change(creatable={GPUS[0]: {TYPE: 2}, GPUS[1]: {TYPE: 2}})
        driver = make_driver(devices__enabled_mdev_types=[TYPE])
        driver.update_provider_tree(tree, "host1")
        host.change(creatable={GPUS[0]: {TYPE: 2}})
        driver.update_provider_tree(tree, "host1")
        assert set(children(tree)) == {GPUS[0]}

    def test_providers_of_others_below_the_root_stay(self, make_driver, tree, host):
        host.change(creatable={GPUS[0]: {TYPE: 2}})
        others = ["host1_0000:84:00.0", "host1:Open vSwitch agent", "host1_pci_of_mine"]
        for name in others:
            tree.new_child(name, "host1")
        others.append(tree.data(tree.new_child("host1_pci_0000_99_00_0", others[0])).name)
        for name in others:
            tree.update_inventory(name, {"CUSTOM_THING": record(1)})
        make_driver(devices__enabled_mdev_types=[TYPE]).update_provider_tree(tree, "host1")
        assert {tree.data(name).inventory["CUSTOM_THING"]["total"] for name in others} == {1}

    @pytest.mark.parametrize(
        ("classes", "complaint"),
        [({"other": "VGPU"}, "enabled_mdev_types"), ({TYPE: "custom_a"}, "custom_a")],
    )
    def test_classes_that_make_no_sense_are_refused(self, make_driver, classes, complaint):
        with pytest.raises(InvalidConfiguration, match=rf"mdev_classes.*{complaint}"):
            make_driver(devices__enabled_mdev_types=[TYPE], berth__mdev_classes=classes)
