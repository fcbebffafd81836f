"""The fake drivers keep the contract (but for the two that are there to break it)."""

from functools import partial

import pytest

from tests.unit.virt.consumers import uuid
from tests.unit.virt.contracts import assert_kept, rules_of
from virt import fake
from virt.sriov import PhysicalFunction
from virt.testing import (
    ContractBroken,
    DriverContract,
    ReshapeContract,
    ReshapeScenario,
    Scenario,
    TurnsContract,
    TurnsScenario,
)

CARDS = [
    PhysicalFunction("ens1", "net0", range(4), 0),
    PhysicalFunction("ens2", "net1", range(4), 1),
]
GPUS = {"pci_0000_84_00_0": 2, "pci_0000_85_00_0": 2}


@pytest.fixture
def maker(virtapi, conf):
    """Say how a driver is made, whenever that will be."""

    def make(driver_class, **options):
        return partial(driver_class, virtapi, conf, **options)

    return make


OF_ONE_FORM = [
    fake.FakeDriver,
    fake.SmallFakeDriver,
    fake.MediumFakeDriver,
    fake.MediumFakeDriverWithNestedCustomResources,
    fake.PredictableNodeUUIDDriver,
    fake.FakeMultiNodeDriver,
    fake.LegacyInventoryDriver,
    fake.ResourceOnlyDriver,
    fake.SameHostColdMigrateDriver,
    fake.RescueBFVDriver,
    fake.EphEncryptionDriver,
    fake.EphEncryptionDriverLUKS,
    fake.EphEncryptionDriverPLAIN,
    fake.PowerUpdateFakeDriver,
    fake.FakeDriverWithPciResources,
    partial(fake.FakeLargeScaleDriver, nodes=8),
    fake.FakeRescheduleDriver,
    fake.FakeRescheduleDriverWithNestedCustomResources,
    fake.FakeBuildAbortDriver,
    fake.FakeBuildAbortDriverWithNestedCustomResources,
    fake.FakeUnshelveSpawnFailDriver,
    fake.FakeUnshelveSpawnFailDriverWithNestedCustomResources,
    fake.FakeLiveMigrateDriver,
    fake.FakeLiveMigrateDriverWithNestedCustomResources,
    fake.FakeFinishMigrationFailDriver,
]


@pytest.mark.parametrize("rule", rules_of(DriverContract))
def test_drivers_of_one_form_keep_it(rule, maker):
    scenarios = {
        getattr(driver, "func", driver).__name__: Scenario(maker(driver)) for driver in OF_ONE_FORM
    }
    assert_kept(DriverContract, rule, scenarios)


def with_vgpus(maker):
    mdevs = {
        uuid(1): {"pci_0000_84_00_0": 1, "pci_0000_85_00_0": 1},
        uuid(2): {"pci_0000_85_00_0": 1},
    }
    return ReshapeScenario(
        maker(fake.FakeReshapeVGPUDriver, pgpus=GPUS, mdevs=mdevs),
        old_driver=maker(fake.FakeReshapeVGPUDriver, pgpus=GPUS, nested=False),
        held={
            uuid(1): {"host1": {"VCPU": 1, "MEMORY_MB": 64, "VGPU": 2}},
            uuid(2): {"host1": {"VGPU": 1}},
            uuid(3): {"host1": {"VCPU": 4, "DISK_GB": 20}},
        },
    )


def of_numa(maker, modelled):
    new, old = (
        maker(fake.FakeNUMAReshapeDriver, modelled=cells, physical_functions=CARDS)
        for cells in (modelled, not modelled)
    )
    return ReshapeScenario(new, old_driver=old)


def of_a_rename(maker, renamed):
    return ReshapeScenario(
        maker(fake.FakeRCRenameDriver, renamed=renamed),
        old_driver=maker(fake.FakeRCRenameDriver, renamed=not renamed),
        renamed={"CUSTOM_FPGA": "FPGA"} if renamed else {"FPGA": "CUSTOM_FPGA"},
    )


def of_shared_storage(maker):
    return ReshapeScenario(
        maker(fake.FakeSharedStorageDriver),
        old_driver=maker(fake.FakeSharedStorageDriver, shared=False),
    )


@pytest.mark.parametrize("rule", rules_of(ReshapeContract))
def test_drivers_that_reshape_keep_it(rule, maker):
    scenarios = {
        "vGPUs, to their GPUs": with_vgpus(maker),
        "NUMA, to cells": of_numa(maker, True),
        "NUMA, back to the root": of_numa(maker, False),
        "a rename, to the new name": of_a_rename(maker, True),
        "a rename, to the old name": of_a_rename(maker, False),
        "storage, to what is shared": of_shared_storage(maker),
    }
    assert_kept(ReshapeContract, rule, scenarios)


def test_versions_in_turn_keep_it(maker):
    numa = partial(maker, fake.FakeNUMAReshapeDriver, physical_functions=CARDS)
    scenarios = {
        "NUMA": TurnsScenario(numa(modelled=True), older=numa(modelled=False)),
        "a rename": TurnsScenario(
            maker(fake.FakeRCRenameDriver, renamed=True),
            older=maker(fake.FakeRCRenameDriver, renamed=False),
            renamed={"CUSTOM_FPGA": "FPGA"},
        ),
        "another release of the same form": TurnsScenario(
            maker(fake.MediumFakeDriver), older=maker(fake.PredictableNodeUUIDDriver)
        ),
    }
    rule = "test_two_versions_in_turn_find_what_they_left"
    assert_kept(TurnsContract, rule, scenarios)


BREAKING_IT = {
    "FakeBadReshapeDriver": "raised ReshapeNeeded although it was given allocations",
    "FakeReshapeFailDriver": "failed: .*can't tell who has what",
}


@pytest.mark.parametrize("name", BREAKING_IT)
def test_drivers_that_are_there_to_break_it_are_found_out(maker, name):
    scenario = ReshapeScenario(maker(getattr(fake, name)), old_driver=maker(fake.MediumFakeDriver))

    with pytest.raises(ContractBroken, match=BREAKING_IT[name]):
        ReshapeContract().test_a_reshape_keeps_what_consumers_have(scenario)


def test_every_fake_driver_is_looked_at():
    with open(__file__, encoding="utf-8") as file:
        text = file.read()

    assert [name for name in fake.__all__ if f"fake.{name}" not in text] == sorted(BREAKING_IT)
