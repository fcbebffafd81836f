"""The host driver keeps the contract, flat and modelled, and from one to the other."""

from functools import partial

import pytest

from tests.unit.virt.host.machines import two_sockets
from virt.host.driver import HostDriver
from virt.testing import DriverContract, ReshapeContract, ReshapeScenario, Scenario


@pytest.fixture
def maker(make_conf, virtapi, tmp_path):
    """Say how a driver of a machine with two cells, a card and a GPU is made."""
    machine = two_sockets(tmp_path)
    machine.set_hugepages(64, node=0)
    machine.set_hugepages(64, node=1)
    machine.add_card("0000:84:00.0", "ens1", total=8, node=1)
    machine.add_gpu("0000:c1:00.0", {"nvidia-35": 4})
    sysfs, procfs = machine.roots

    def make(numa):
        conf = make_conf(
            berth__sysfs_root=sysfs,
            berth__procfs_root=procfs,
            berth__numa_in_placement=numa,
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
