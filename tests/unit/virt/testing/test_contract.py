"""The conformance kit notices what it is there to notice, and says what it was."""

from functools import partial

import pytest

from compute.records import compute_node
from tests.unit.virt.testing import broken_drivers as broken
from virt.fake import FakeRCRenameDriver
from virt.testing import (
    ContractBroken,
    DeviceContract,
    DeviceScenario,
    DriverContract,
    ReshapeContract,
    ReshapeScenario,
    Scenario,
    TurnsContract,
    TurnsScenario,
    contract,
)


@pytest.fixture
def run(virtapi, conf):
    """Run one test of the kit with a driver that updates."""

    def run_test(test, driver_class):
        getattr(DriverContract(), test)(Scenario(partial(driver_class, virtapi, conf)))

    return run_test


@pytest.fixture
def run_reshape(virtapi, conf):
    """Run one test of the kit with a driver that renames CUSTOM_FPGA."""

    def run_test(test, driver_class):
        scenario = ReshapeScenario(
            partial(driver_class, virtapi, conf),
            old_driver=partial(FakeRCRenameDriver, virtapi, conf, renamed=False),
            renamed={"CUSTOM_FPGA": "FPGA"},
        )
        getattr(ReshapeContract(), test)(scenario)

    return run_test


def complaint(run_test, test, driver_class):
    with pytest.raises(ContractBroken) as caught:
        run_test(test, driver_class)
    return str(caught.value)


@pytest.mark.parametrize(
    ("driver_class", "says"),
    [
        (broken.NoNodes, "get_available_nodes() returned []"),
        (broken.ForgetfulOfMemory, "get_available_resource('host1') lacks memory_mb"),
        (broken.MisnamesItsNode, "hypervisor_hostname of host1 is 'localhost'"),
        (broken.NodesWithoutUUID, "get_available_resource('fake-node-1') lacks the uuid"),
        (broken.CallsItsNodesGone, "is_node_deleted('host1') is true of a node that is listed"),
    ],
)
def test_nodes_must_be_described(run, driver_class, says):
    assert says in complaint(run, "test_the_nodes_are_described", driver_class)


@pytest.mark.parametrize(
    ("driver_class", "says"),
    [
        (broken.ReportsNothingLeft, "VGPU of provider host1 has a total of 0"),
        (broken.ReportsMadeUpClass, "GPU of provider host1 is neither a standard nor a custom"),
        (broken.ReportsMadeUpTrait, "trait VERY_FAST of provider host1 is neither"),
        (broken.ReportsTooMuchReserved, "VGPU of provider host1 keeps 3 for the host, of a tot"),
        (broken.ReportsNoRatio, "VCPU of provider host1 has no allocation_ratio"),
        (broken.ReportsInfiniteRatio, "VGPU of provider host1 has the allocation ratio inf"),
        (broken.RemovesItsRoot, "the root provider of host1 is gone"),
        (broken.FakeBadReshapeDriver, "a first update of host1 raised ReshapeNeeded, but nothing"),
        (broken.FakeReshapeFailDriver, "a first update of host1 raised ReshapeNeeded, but nothi"),
    ],
)
def test_a_first_picture_must_be_one_that_placement_takes(run, driver_class, says):
    test = "test_a_first_start_leaves_a_picture_that_placement_takes"
    assert says in complaint(run, test, driver_class)


@pytest.mark.parametrize(
    ("driver_class", "says"),
    [
        (broken.ReplacesTraits, "CUSTOM_OPERATORS_OWN, an operator's, is gone from provider host1"),
        (broken.ReplacesAggregates, "an operator's, is gone from provider host1"),
        (broken.SweepsItsTree, "provider host1-operators-own was removed"),
        (broken.SharesThePool, "traits of provider operators-pool changed from"),
        (broken.EmptiesOtherHosts, "inventory of provider another-host_numa0 changed from"),
        (broken.UpdatesAllNodesAtOnce, "inventory of provider fake-node-2 changed from {} to"),
        (broken.RemovesItsRoot, "the root provider of host1 is gone"),
    ],
)
def test_what_others_have_must_stay(run, driver_class, says):
    assert says in complaint(run, "test_what_others_have_stays_as_it_is", driver_class)


@pytest.mark.parametrize(
    ("driver_class", "says"),
    [
        (broken.CountsUpdates, "after a second update:\ninventory of provider host1 changed from"),
        (broken.RemakesItsChild, "provider host1-child has another uuid"),
    ],
)
def test_a_second_update_must_change_nothing(run, driver_class, says):
    assert says in complaint(run, "test_a_second_update_changes_nothing", driver_class)


def test_a_restart_must_change_nothing(run):
    says = complaint(run, "test_a_restart_changes_nothing", broken.RemembersItsChild)
    assert "after a restart:\nprovider host1-" in says
    assert "was added" in says


@pytest.mark.parametrize(
    ("driver_class", "says"),
    [
        (broken.OffersFencedDevices, "an update of fenced devices:\ninventory of provider host1-"),
        (broken.ReplacesTraitsOfItsChild, "an update of fenced devices:\ntraits of provider host1"),
    ],
)
def test_what_an_operator_fences_off_must_stay_so(run, driver_class, says):
    test = "test_what_an_operator_keeps_of_a_device_stays_kept"
    assert says in complaint(run, test, driver_class)


@pytest.mark.parametrize(
    ("test", "says"),
    [
        ("test_a_half_edited_tree_is_finished", "a tree that another one left after 2 edits:"),
        ("test_providers_without_anything_are_filled", "with the driver's providers, but bare:"),
        ("test_a_total_that_somebody_changed_is_put_right", "an update of changed totals:"),
    ],
)
def test_an_update_must_end_at_the_whole_picture_wherever_it_begins(run, test, says):
    found = complaint(run, test, broken.FillsItsChildOnce)
    assert says in found
    assert "inventory of provider host1-child changed from" in found


@pytest.mark.parametrize(
    ("test", "driver_class", "says"),
    [
        ("test_a_reshape_is_asked_for", broken.NeverAsks, "did not raise ReshapeNeeded"),
        (
            "test_a_reshape_can_be_tried_again",
            broken.AsksOnce,
            "a second try of a reshape of host1 did not raise ReshapeNeeded",
        ),
        (
            "test_a_reshape_is_done_once",
            broken.AsksForEver,
            "the update after a reshape of host1 raised ReshapeNeeded, but nothing has to move",
        ),
        (
            "test_a_reshape_without_consumers_goes_as_well",
            broken.NeedsConsumers,
            "traits of provider host1 changed",
        ),
        (
            "test_a_reshape_cut_short_is_finished",
            broken.MakesNewProviders,
            "provider host1-fpga-again was added",
        ),
        (
            "test_a_reshape_leaves_what_others_have_as_it_is",
            broken.ReplacesTraitsInReshape,
            "CUSTOM_OPERATORS_OWN, an operator's, is gone from provider host1",
        ),
        (
            "test_a_reshape_leaves_a_picture_that_placement_takes",
            broken.ReportsNothingLeftInReshape,
            "VGPU of provider host1 has a total of 0",
        ),
    ],
)
def test_a_reshape_must_be_asked_for_finished_and_done_once(run_reshape, test, driver_class, says):
    assert says in complaint(run_reshape, test, driver_class)


@pytest.mark.parametrize(
    ("driver_class", "says"),
    [
        (broken.KeepsAsking, "raised ReshapeNeeded although it was given allocations"),
        (broken.Fails, "a reshape of host1 failed: .*the moon is wrong"),
        (broken.LosesAllocations, "has 0 FPGA after the reshape and had 1 before"),
        (broken.DoublesAllocations, "has 2 FPGA after the reshape and had 1 before"),
        (broken.ForgetsAllocations, "has CUSTOM_FPGA on provider host1, which has no inventory"),
        (broken.LeavesEmptyRecord, "has an allocation without resources, on provider operators"),
        (broken.LeavesZero, "has 0 VGPU on provider host1"),
        (broken.DropsConsumer, "consumer .* vanished from the allocations"),
        (broken.AddsConsumer, "consumer somebody was added to the allocations"),
        (broken.TakesOver, "has another project_id: 'mine' instead of 'a-project'"),
        (broken.CleansUpElsewhere, "has something else on another-host, which is not the driver's"),
        (broken.Overfills, "has 1 FPGA on provider host1, which has no room for it: free 0"),
        (broken.MovesToNowhere, "has FPGA on provider a-provider-nobody-made, which is not in"),
    ],
)
def test_a_reshape_must_keep_what_consumers_have(run_reshape, driver_class, says):
    with pytest.raises(ContractBroken, match=says):
        run_reshape("test_a_reshape_keeps_what_consumers_have", driver_class)


@pytest.mark.parametrize(
    ("driver_class", "names"),
    [
        (broken.RenamesForEverybody, ["host1-operators-own", "host1_accelerator"]),
        (broken.RenamesWhatIsNamedLikeTheNode, ["host1_accelerator"]),
        (broken.RenamesWhatHasNoOwner, ["host1-operators-own"]),
    ],
)
def test_a_reshape_must_not_touch_the_same_class_of_others(run_reshape, driver_class, names):
    test = "test_a_reshape_leaves_what_others_have_as_it_is"
    says = complaint(run_reshape, test, driver_class)
    for name in names:
        assert f"inventory of provider {name} changed" in says
    says = complaint(run_reshape, "test_a_reshape_keeps_what_consumers_have", driver_class)
    for name in names:
        assert f"has something else on {name}, which is not the driver's" in says


def test_a_reshape_must_not_touch_others_records_traits_and_aggregates(run_reshape):
    test = "test_a_reshape_keeps_what_consumers_have"
    says = complaint(run_reshape, test, broken.MovesTheRecordsOfOthers)
    assert "has something else on host1_accelerator, which is not the driver's" in says
    test = "test_a_reshape_leaves_what_others_have_as_it_is"
    says = complaint(run_reshape, test, broken.TidiesUpOthers)
    assert "traits of provider host1_accelerator changed" in says
    assert "aggregates of provider host1_accelerator changed" in says


def test_a_reshape_must_not_remove_what_others_have_below_a_provider_that_goes(virtapi, conf):
    scenario = ReshapeScenario(
        partial(broken.RemovesItsCellWithAllBelow, virtapi, conf),
        old_driver=partial(broken.HasACell, virtapi, conf),
    )
    with pytest.raises(ContractBroken, match="host1_numa0_accelerator"):
        ReshapeContract().test_a_reshape_leaves_what_others_have_as_it_is(scenario)


def test_the_keys_a_node_must_have_are_those_the_tracker_asks_for():
    assert contract.REQUIRED_RESOURCES == compute_node.REQUIRED_RESOURCES


@pytest.mark.parametrize(
    ("test", "driver_class", "says"),
    [
        (
            "test_a_device_that_goes_takes_only_its_own_with_it",
            broken.KeepsWhatIsGone,
            "after devices went:\nprovider host1-child was added",
        ),
        (
            "test_a_device_that_comes_back_is_as_before",
            broken.OffersLessAfterwards,
            "after devices came back:\ntraits of provider host1 changed from",
        ),
        (
            "test_a_fenced_device_that_comes_back_is_fenced",
            broken.OffersLessAfterwards,
            "after fenced devices came back:\nprovider host1-child, which an operator reserved, "
            "offers",
        ),
    ],
)
def test_devices_must_go_and_come_back(virtapi, conf, test, driver_class, says):
    make = partial(driver_class, virtapi, conf)
    scenario = DeviceScenario(make, without=partial(make, has_devices=False))
    with pytest.raises(ContractBroken) as caught:
        getattr(DeviceContract(), test)(scenario)
    assert says in str(caught.value)


def test_versions_in_turn_must_not_pile_up_what_each_leaves(virtapi, conf):
    rule = "test_two_versions_in_turn_find_what_they_left"
    make = partial(broken.KeepsWhatIsGone, virtapi, conf)
    scenario = TurnsScenario(make, older=partial(make, has_devices=False))
    with pytest.raises(ContractBroken) as caught:
        getattr(TurnsContract(), rule)(scenario)
    assert "after another turn of the older version:\nprovider host1-child" in str(caught.value)


def test_a_test_that_no_broken_driver_fails_would_be_worth_nothing():
    with open(__file__, encoding="utf-8") as file:
        text = file.read()

    kits = {*dir(ReshapeContract), *dir(DeviceContract), *dir(TurnsContract)}
    kit = [name for name in sorted(kits) if name.startswith("test_")]
    assert [name for name in kit if f'"{name}"' not in text] == []
