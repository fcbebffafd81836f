"""What records say of a guest's devices."""

import pytest

from compute.consumers.held_shares import Share, Side
from compute.pci.tags import MANAGED
from compute.records.instance import Flavor
from compute.shares.giver import Giver
from compute.shares.known import devices

ADDRESS = "0000:81:00.0"


@pytest.mark.parametrize("names", [["CUSTOM_GPU"], ["CUSTOM_GPU", "CUSTOM_LICENCE"]])
def test_classes_that_an_operator_added_to_a_devices_provider_are_no_devices(names):
    device = {"address": ADDRESS, "dev_type": "type-PCI", "resource_class": "gpu"}
    inventories = {name: {"total": 1} for name in names}
    giver = Giver("gpu", f"node_{ADDRESS}", "root", inventories, frozenset({MANAGED}))
    share = Share(Side.OWN, Flavor(1, 64, 1), pci_devices=(device,))
    assert devices(share, "node", [giver]) == {"gpu": {"CUSTOM_GPU": 1}}
