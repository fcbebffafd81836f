"""The devices that a driver lists (compute.md §4.1)."""

from compute.pci import devices as pci_devices


def test_a_list_in_json_is_read():
    listed = {"pci_passthrough_devices": '[{"address": "a"}]'}
    assert pci_devices.devices_of(listed) == [{"address": "a"}]
