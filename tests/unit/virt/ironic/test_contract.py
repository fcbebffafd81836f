"""The ironic driver keeps the contract, with several machines in different states."""

from functools import partial

import pytest

from tests.unit.virt.consumers import uuid
from tests.unit.virt.ironic.bare_metal_service import with_token
from virt.ironic import IronicDriver
from virt.testing import DriverContract, Scenario, TurnsContract, TurnsScenario

LISTED = [
    {"uuid": uuid(1), "resource_class": "baremetal.gold", "traits": ["CUSTOM_RAID"]},
    {"uuid": uuid(2), "resource_class": "baremetal.gold", "maintenance": True},
    {"uuid": uuid(3), "resource_class": "baremetal.silver", "instance_uuid": uuid(77)},
]

MACHINES = f"""
nodes:
  - {{uuid: {uuid(1)}, resource_class: baremetal.gold, traits: [CUSTOM_RAID, HW_CPU_X86_VMX]}}
  - {{uuid: {uuid(2)}, resource_class: baremetal.gold, maintenance: true}}
  - {{uuid: {uuid(3)}, resource_class: baremetal.silver, instance_uuid: {uuid(77)}}}
...
"""


class TestIronic(DriverContract):
    @pytest.fixture
    def scenario(self, virtapi, make_conf, tmp_path):
        path = tmp_path / "machines.yaml"
        path.write_text(MACHINES)
        conf = make_conf(ironic__inventory_file=str(path))
        return Scenario(partial(IronicDriver, virtapi, conf))


class TestWithTheBareMetalService(DriverContract):
    @pytest.fixture
    def scenario(self, virtapi, service, api_conf):
        service.nodes = LISTED
        return Scenario(partial(IronicDriver, virtapi, with_token(api_conf(service), service)))


def test_agents_that_disagree_on_a_machine_in_turn_keep_it(virtapi, make_conf, tmp_path):
    """One has an older list, by which a machine has other traits."""
    made = {}
    for name, text in {
        "new": MACHINES,
        "old": MACHINES.replace("CUSTOM_RAID, ", "CUSTOM_TAPE, "),
    }.items():
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        made[name] = partial(IronicDriver, virtapi, make_conf(ironic__inventory_file=str(path)))
    scenario = TurnsScenario(made["new"], older=made["old"])
    TurnsContract().test_two_versions_in_turn_find_what_they_left(scenario)
