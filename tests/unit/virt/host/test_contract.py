"""The host driver keeps the contract, flat and modelled, and from one to the other."""

from functools import partial

import pytest

from tests.unit.virt.host.machines import two_sockets
from virt.host.driver import HostDriver
from virt.testing import DriverContract, ReshapeContract, ReshapeScenario, Scenario


@pytest.fixture
def maker(make_conf, virtapi, tmp_path):
    """Say how a driver of a machine with two cells is made."""
    sysfs, procfs = two_sockets(tmp_path).roots

    def make(numa):
        conf = make_conf(
            berth__sysfs_root=sysfs, berth__procfs_root=procfs, berth__numa_in_placement=numa
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
