"""PCI devices as providers (compute.md §6.11)."""

import copy

import pytest

from compute import exceptions
from compute.pci.device_healing import HealingRules
from compute.pci.placement_translator import (
    MANAGED,
    check_specs,
    device_providers,
    refuse_if_reported,
    refuse_one_time_use,
    report,
)
from compute.provider_tree import ProviderTree
from compute.provider_tree.names import child_name

NODE, ROOT = "host1", "11111111-0000-4000-8000-000000000001"


def device(address, dev_type="type-PCI", parent=None, **tags):
    return {
        "address": address,
        "vendor_id": "10de",
        "product_id": "1db6",
        "dev_type": dev_type,
        "parent_addr": parent,
        **tags,
    }


def functions(count, parent="0000:01:00.0", **tags):
    return [device(f"0000:01:10.{n}", "type-VF", parent, **tags) for n in range(count)]


def body(**by_provider):
    return {"allocations": by_provider, "project_id": "p", "consumer_generation": 1}


@pytest.fixture
def tree():
    tree = ProviderTree()
    tree.new_root(NODE, ROOT)
    tree.new_child("operators", ROOT)
    return tree


def one(*devices):
    (provider,) = device_providers(NODE, devices)
    return provider


class TestProviders:
    def test_a_device_has_one_named_by_its_address_in_capitals(self):
        assert one(device("0000:8a:00.0")).name == "host1_0000:8A:00.0"

    def test_the_name_of_one_of_a_node_with_a_long_name_fits(self):
        (provider,) = device_providers("n" * 198, [device("0000:8a:00.0")])
        assert provider.name == child_name("n" * 198, "0000:8A:00.0")
        assert len(provider.name) == 200

    def test_virtual_functions_share_that_of_their_card(self):
        provider = one(*functions(3))
        assert (provider.name, len(provider.addresses)) == ("host1_0000:01:00.0", 3)

    @pytest.mark.parametrize(
        ("tag", "resource_class"),
        [
            (None, "CUSTOM_PCI_10DE_1DB6"),
            ("PGPU", "PGPU"),
            ("pgpu", "PGPU"),
            ("fast-gpu", "CUSTOM_FAST_GPU"),
            ("CUSTOM_GPU", "CUSTOM_GPU"),
            ("CUSTOM_G-P__U", "CUSTOM_G_P__U"),
            ("g__p--u", "CUSTOM_G_P_U"),
        ],
    )
    def test_the_class_is_the_tag_normalised_else_that_of_the_product(self, tag, resource_class):
        assert one(device("0000:84:00.0", resource_class=tag)).resource_class == resource_class

    def test_traits_are_those_of_the_tags_and_the_mark(self):
        provider = one(
            device(
                "0000:84:00.0",
                traits="HW_GPU_API_VULKAN,big,CUSTOM_MINE",
                one_time_use="y",
                live_migratable="no",
            )
        )
        assert provider.traits == {
            MANAGED,
            "HW_GPU_API_VULKAN",
            "CUSTOM_BIG",
            "CUSTOM_MINE",
            "HW_PCI_ONE_TIME_USE",
        }

    def test_devices_of_a_physical_network_have_none(self):
        assert device_providers(NODE, functions(2, physical_network="net1")) == []

    def test_functions_of_one_card_with_two_classes_are_refused(self):
        devices = functions(2)
        devices[1]["resource_class"] = "OTHER"
        with pytest.raises(
            exceptions.PlacementPciMixedResourceClassException, match=r"0000:01:10\.1"
        ):
            device_providers(NODE, devices)

    def test_functions_of_one_card_with_other_traits_are_refused(self):
        devices = functions(2)
        devices[1]["traits"] = "OTHER"
        with pytest.raises(exceptions.PlacementPciMixedTraitsException, match="CUSTOM_OTHER"):
            device_providers(NODE, devices)

    def test_a_card_together_with_its_functions_is_refused(self):
        devices = [device("0000:01:00.0", "type-PF"), *functions(1)]
        with pytest.raises(
            exceptions.PlacementPciDependentDeviceException, match=r"0000:01:00\.0.*0000:01:10\.0"
        ):
            device_providers(NODE, devices)


class TestSpecs:
    @pytest.mark.parametrize("text", ['{"devname": "ens1"}', '[{"devname": "ens1"}]', "{"])
    def test_devices_named_by_their_interface_are_refused(self, text):
        with pytest.raises(exceptions.PlacementPciException, match="device_spec"):
            check_specs([text])

    def test_cards_of_a_physical_network_may_be(self):
        assert check_specs(['{"devname": "a", "physical_network": "b"}', "{}"]) is None


class TestReport:
    def test_devices_come_as_children_with_their_number(self, tree):
        assert report(tree, NODE, [*functions(3), device("0000:84:00.0")], {}, {}) is False
        card = tree.data("host1_0000:01:00.0")
        assert card.inventory["CUSTOM_PCI_10DE_1DB6"]["total"] == 3
        assert (card.parent_uuid, card.traits) == (ROOT, {MANAGED})
        assert tree.exists("host1_0000:84:00.0")

    def test_again_changes_nothing(self, tree):
        report(tree, NODE, functions(3), {}, {})
        before = [tree.data(uuid) for uuid in tree.get_provider_uuids()]
        assert report(tree, NODE, functions(3), {}, {}) is False
        assert [tree.data(uuid) for uuid in tree.get_provider_uuids()] == before

    def test_holders_get_allocations_of_what_they_hold(self, tree):
        allocations = {"a": body(**{ROOT: {"resources": {"VCPU": 1}}}), "b": body()}
        holders = {"a": {"0000:01:10.0", "0000:01:10.2"}, "unheard of": {"0000:01:10.1"}}
        assert report(tree, NODE, functions(3), holders, allocations) is True
        card = tree.data("host1_0000:01:00.0").uuid
        assert allocations["a"]["allocations"] == {
            ROOT: {"resources": {"VCPU": 1}},
            card: {"resources": {"CUSTOM_PCI_10DE_1DB6": 2}},
        }
        assert set(allocations) == {"a", "b"}
        assert report(tree, NODE, functions(3), holders, allocations) is False

    def test_allocations_of_another_device_than_is_held_are_put_right(self, tree):
        devices = [device("0000:84:00.0"), device("0000:85:00.0")]
        report(tree, NODE, devices, {}, {})
        first, second = (tree.data(f"host1_{one['address']}").uuid for one in devices)
        resources = {"resources": {"CUSTOM_PCI_10DE_1DB6": 1}}
        allocations = {"a": body(**{first: resources}), "b": body(**{ROOT: resources})}
        report(tree, NODE, devices, {"a": {"0000:85:00.0"}}, allocations)
        assert set(allocations["a"]["allocations"]) == {second}
        assert set(allocations["b"]["allocations"]) == {ROOT}

    def test_what_was_allocated_to_another_is_never_given_twice(self, tree):
        devices = [device("0000:84:00.0"), device("0000:85:00.0")]
        report(tree, NODE, devices, {}, {})
        first, second = (tree.data(f"host1_{one['address']}").uuid for one in devices)
        resources = {"resources": {"CUSTOM_PCI_10DE_1DB6": 1}}
        allocations = {"a": body(**{first: resources}), "scheduled": body(**{second: resources})}
        before, told = copy.deepcopy(allocations), []
        rules = HealingRules(tell=told.append)
        holders = {"a": {"0000:85:00.0"}}
        assert report(tree, NODE, devices, holders, allocations, rules=rules) is False
        assert allocations == before
        assert tree.data(second).inventory["CUSTOM_PCI_10DE_1DB6"]["total"] == 1
        assert "host1_0000:85:00.0" in told[0]

    def test_what_others_wrote_is_not_taken_away_and_so_not_moved(self, tree):
        devices = [device("0000:84:00.0"), device("0000:85:00.0")]
        report(tree, NODE, devices, {}, {})
        first, second = (tree.data(f"host1_{one['address']}").uuid for one in devices)
        resources = {"resources": {"CUSTOM_PCI_10DE_1DB6": 1}}
        allocations = {"a": body(**{first: resources}), "b": body(**{first: {}, second: resources})}
        before, told = copy.deepcopy(allocations), []
        rules = HealingRules(corrects=lambda consumer, provider: False, tell=told.append)
        holders = {"a": {"0000:85:00.0"}, "b": set()}
        assert report(tree, NODE, devices, holders, allocations, rules=rules) is False
        assert (allocations, len(told)) == (before, 1)

    def test_a_total_that_was_raised_is_that_of_the_devices_again(self, tree):
        report(tree, NODE, [device("0000:84:00.0")], {}, {})
        uuid = tree.data("host1_0000:84:00.0").uuid
        inventory = tree.data(uuid).inventory["CUSTOM_PCI_10DE_1DB6"] | {"total": 2}
        tree.update_inventory(uuid, {"CUSTOM_PCI_10DE_1DB6": inventory})
        report(tree, NODE, [device("0000:84:00.0")], {}, {})
        assert tree.data(uuid).inventory["CUSTOM_PCI_10DE_1DB6"]["total"] == 1

    def test_another_services_provider_of_that_name_is_not_taken(self, tree):
        uuid = tree.new_child("host1_0000:84:00.0", ROOT)
        tree.add_traits(uuid, "OWNER_CYBORG")
        with pytest.raises(exceptions.PlacementPciException, match="OWNER_CYBORG"):
            report(tree, NODE, [device("0000:84:00.0")], {}, {})
        assert tree.data(uuid).traits == {"OWNER_CYBORG"}

    def test_traits_of_tags_that_were_taken_away_go(self, tree):
        report(tree, NODE, [device("0000:84:00.0", traits="fast", live_migratable="yes")], {}, {})
        tree.add_traits("host1_0000:84:00.0", "CUSTOM_FAULTY")
        slow = [device("0000:84:00.0", traits="slow")]
        report(tree, NODE, slow, {}, {}, former_traits={"CUSTOM_FAST"})
        expected = {MANAGED, "CUSTOM_SLOW", "CUSTOM_FAULTY"}
        assert tree.data("host1_0000:84:00.0").traits == expected

    def test_a_device_that_is_gone_is_removed(self, tree):
        report(tree, NODE, [device("0000:84:00.0")], {}, {})
        report(tree, NODE, [], {}, {})
        assert [tree.data(uuid).name for uuid in tree.get_provider_uuids()] == [NODE, "operators"]

    def test_a_device_that_is_gone_but_held_is_kept_with_what_that_takes(self, tree):
        report(tree, NODE, functions(4), {}, {})
        card = tree.data("host1_0000:01:00.0").uuid
        allocations = {"a": body(**{card: {"resources": {"CUSTOM_PCI_10DE_1DB6": 3}}})}
        before = copy.deepcopy(allocations)
        for devices, holders in ((functions(2), {}), ([], {"a": {"0000:01:10.0"}})):
            assert report(tree, NODE, devices, holders, allocations) is False
            assert tree.data(card).inventory["CUSTOM_PCI_10DE_1DB6"]["total"] == 3
        assert allocations == before

    def test_switched_off_later_it_is_refused_naming_the_providers(self, tree):
        refuse_if_reported(tree, NODE)
        report(tree, NODE, [device("0000:84:00.0")], {}, {})
        with pytest.raises(exceptions.PlacementPciException, match=r"host1_0000:84:00\.0"):
            refuse_if_reported(tree, NODE)


class TestOneTimeUse:
    """A device is given to one guest, and then to nobody until somebody has looked at it."""

    DEVICE = device("0000:84:00.0", one_time_use="yes")
    CLASS = "CUSTOM_PCI_10DE_1DB6"

    def reserved(self, tree, allocations=None, holders=None):
        report(tree, NODE, [self.DEVICE], holders or {}, allocations or {})
        return tree.data("host1_0000:84:00.0").inventory[self.CLASS]["reserved"]

    def held(self, tree):
        provider = tree.data("host1_0000:84:00.0").uuid
        return {"a": body(**{provider: {"resources": {self.CLASS: 1}}})}

    def test_it_is_reserved_once_somebody_has_it_and_after_it_is_given_back(self, tree):
        unused = self.reserved(tree)
        in_use = self.reserved(tree, self.held(tree))
        assert (unused, in_use, self.reserved(tree)) == (0, 1, 1)

    def test_it_is_free_again_when_somebody_says_so(self, tree):
        self.reserved(tree)
        self.reserved(tree, self.held(tree))
        provider = tree.data("host1_0000:84:00.0")
        inventory = {self.CLASS: provider.inventory[self.CLASS] | {"reserved": 0}}
        tree.update_inventory(provider.uuid, inventory)
        assert self.reserved(tree) == 0

    def test_who_gets_it_in_this_very_update_would_find_it_reserved(self, tree):
        """Placement takes no new allocation of what is reserved."""
        allocations = {"a": body(**{ROOT: {"resources": {"VCPU": 1}}})}
        holders = {"a": {"0000:84:00.0"}}
        assert self.reserved(tree, allocations, holders) == 0
        assert self.reserved(tree, allocations, holders) == 1

    def test_it_stays_reserved_when_it_gets_another_class(self, tree):
        self.reserved(tree)
        self.reserved(tree, self.held(tree))
        renamed = device("0000:84:00.0", one_time_use="yes", resource_class="gpu")
        for _ in range(2):
            report(tree, NODE, [renamed], {}, {})
            (record,) = tree.data("host1_0000:84:00.0").inventory.values()
            assert record["reserved"] == 1

    def test_it_is_not_free_when_it_was_gone_while_its_guest_left(self, tree):
        self.reserved(tree)
        held = self.held(tree)
        self.reserved(tree, held)
        report(tree, NODE, [], {}, held)
        assert self.reserved(tree) == 1

    def test_of_others_is_reserved_what_an_operator_reserved(self, tree):
        report(tree, NODE, [device("0000:84:00.0")], {}, {})
        uuid = tree.data("host1_0000:84:00.0").uuid
        for reserved in (1, 0):
            record = tree.data(uuid).inventory[self.CLASS] | {"reserved": reserved}
            tree.update_inventory(uuid, {self.CLASS: record})
            for allocations in ({}, self.held(tree), {}):
                report(tree, NODE, [device("0000:84:00.0")], {}, allocations)
                assert tree.data(uuid).inventory[self.CLASS]["reserved"] == reserved

    def test_a_reservation_stays_until_an_operator_takes_it_back(self, tree):
        """Whoever made it: nobody can tell that it isn't an operator's."""
        self.reserved(tree)
        self.reserved(tree, self.held(tree))
        for device_of_now in (device("0000:84:00.0"), device("0000:84:00.0", traits="other")):
            report(tree, NODE, [device_of_now], {}, {})
            assert tree.data("host1_0000:84:00.0").inventory[self.CLASS]["reserved"] == 1

    def test_one_that_a_guest_has_without_an_allocation_is_reserved(self, tree):
        report(tree, NODE, [self.DEVICE], {}, {}, taken={"0000:84:00.0"})
        assert tree.data("host1_0000:84:00.0").inventory[self.CLASS]["reserved"] == 1

    def test_functions_of_a_card_cannot_be_told_apart(self):
        with pytest.raises(exceptions.PlacementPciException, match=r"one_time_use.*0000:01:10\.0"):
            device_providers(NODE, functions(2, one_time_use="yes"))

    def test_without_placement_nobody_would_keep_track(self):
        refuse_one_time_use([device("0000:84:00.0", one_time_use="no")])
        with pytest.raises(exceptions.PlacementPciException, match=r"report_in_placement.*84:00"):
            refuse_one_time_use([self.DEVICE])
