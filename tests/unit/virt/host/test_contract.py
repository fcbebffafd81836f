"""The host driver keeps the contract, flat and modelled, and from one to the other."""

from functools import partial

import pytest

from tests.unit.virt.consumers import uuid
from tests.unit.virt.host.machines import two_sockets
from virt.host.driver import HostDriver
from virt.testing import (
    DriverContract,
    ReshapeContract,
    ReshapeScenario,
    Scenario,
    TurnsContract,
    TurnsScenario,
)

VF = {"SRIOV_NET_VF": 1}


@pytest.fixture
def maker(make_conf, virtapi, tmp_path):
    """Say how a driver of a machine with two cells, a card and a GPU is made."""
    machine = two_sockets(tmp_path)
    machine.set_hugepages(64, node=0)
    machine.set_hugepages(64, node=1)
    machine.add_card("0000:84:00.0", "ens1", total=8, node=1)
    machine.add_gpu("0000:c1:00.0", {"nvidia-35": 4})
    sysfs, procfs = machine.roots

    def make(numa, classes="standard"):
        conf = make_conf(
            berth__sysfs_root=sysfs,
            berth__procfs_root=procfs,
            berth__numa_in_placement=numa,
            berth__numa_classes=classes,
            pci__device_spec=['{"devname": "ens1", "physical_network": "net0"}'],
            devices__enabled_mdev_types=["nvidia-35"],
        )
        return partial(HostDriver, virtapi, conf)

    return make


class TestOneForm(DriverContract):
    @pytest.fixture(params=[False, True], ids=["flat", "modelled"])
    def scenario(self, request, maker):
        return Scenario(maker(request.param))


class TestNUMA(ReshapeContract):
    @pytest.fixture(params=[True, False], ids=["to cells", "back to the root"])
    def scenario(self, request, maker):
        return ReshapeScenario(maker(request.param), old_driver=maker(not request.param))


class TestDescribedCells(ReshapeContract):
    @pytest.fixture(params=["numa", "standard"], ids=["to the root", "to cells"])
    def scenario(self, request, maker):
        new, old = request.param, "standard" if request.param == "numa" else "numa"
        place = "host1_numa1" if new == "numa" else "host1"
        held = {
            uuid(number): {place: {"VCPU": number, "MEMORY_MB": 512}, "host1_ens1": VF}
            for number in (1, 2)
        }
        return ReshapeScenario(maker(True, new), old_driver=maker(True, old), held=held)


def test_flat_and_modelled_agents_in_turn_keep_it(maker):
    scenario = TurnsScenario(maker(True), older=maker(False))
    TurnsContract().test_two_versions_in_turn_find_what_they_left(scenario)
