"""A conformance kit for drivers: is the contract of update_provider_tree kept (compute.md §6.2)?

Derive a test class from `DriverContract`, from `DeviceContract` for a driver whose devices may go,
from `ReshapeContract` for a driver that may have to move inventory, or from `TurnsContract` for one
whose older versions report the same host, and say in a fixture called `scenario` how the driver is
made::

    class TestMyDriver(DriverContract):
        @pytest.fixture
        def scenario(self):
            return Scenario(lambda: MyDriver(NoopVirtAPI(), conf))

Every test takes the driver through starts, updates and reshapes, on a tree in which others have
providers, too. A broken rule raises `ContractBroken`, which names the provider, the consumer and
the rule. The kit doesn't need Placement.
"""

from virt.testing.contract import DriverContract, ReshapeContract
from virt.testing.devices import DeviceContract, DeviceScenario
from virt.testing.scenario import ContractBroken, ReshapeScenario, Scenario
from virt.testing.turns import TurnsContract, TurnsScenario

__all__ = [
    "ContractBroken",
    "DeviceContract",
    "DeviceScenario",
    "DriverContract",
    "ReshapeContract",
    "ReshapeScenario",
    "Scenario",
    "TurnsContract",
    "TurnsScenario",
]
