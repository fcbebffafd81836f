"""Classes that an operator adds to a device's provider are no devices."""

import pathlib

import pytest

from tests.functional.compute.device_hosts import CLASS, OWN, DeviceHost, device

FIRST, SECOND = "0000:81:00.0", "0000:82:00.0"
GPU = {"resource_class": "gpu"}
OTHER = "CUSTOM_LICENCE"


@pytest.fixture
def licensed(request, host, outsider):
    """Return a host with two devices, of which one has licences, too."""
    folder = pathlib.Path(host.conf.compute.provider_config_location)
    folder.mkdir(exist_ok=True)
    entry = f"""
meta: {{schema_version: '1.0'}}
providers:
  - identification: {{name: '{host.name}_{FIRST}'}}
    inventories: {{additional: [{{{OTHER}: {{total: 10}}}}]}}
"""
    found = DeviceHost(host, outsider, request.param, [device(81), device(82)])
    (folder / "a.yaml").write_text(entry)
    found.start()
    assert outsider.totals(found.provider(FIRST)) == {CLASS: 1, OTHER: 10}
    return found


def of_device(host, guest):
    return host.outsider.allocations(guest.uuid)[host.provider(FIRST)]


def test_a_claim_takes_the_device_and_its_guest_keeps_the_rest(licensed, outsider):
    guest = licensed.guest(GPU)
    parts = {licensed.host.uuid: OWN, licensed.provider(FIRST): {CLASS: 1, OTHER: 2}}
    outsider.allocate(parts, guest.uuid)
    given = {uuid: {"resources": part} for uuid, part in parts.items()}
    assert licensed.claim(guest, given) == [FIRST]
    licensed.update()
    assert of_device(licensed, guest) == {CLASS: 1, OTHER: 2}


def test_who_holds_only_the_rest_has_no_device_and_keeps_it(licensed, outsider):
    other, guest = licensed.guest(), licensed.guest(GPU)
    parts = {licensed.host.uuid: OWN, licensed.provider(FIRST): {OTHER: 2}}
    outsider.allocate(parts, other.uuid)
    given = {uuid: {"resources": part} for uuid, part in parts.items()}
    assert licensed.claim(other, given) == []
    assert licensed.claim(guest, licensed.scheduled(guest.uuid, FIRST)) == [FIRST]
    licensed.update()
    assert of_device(licensed, other) == {OTHER: 2}
    assert licensed.held(guest.uuid) == {FIRST: 1}


def test_a_device_chosen_by_the_tracker_leaves_the_rest(licensed, outsider):
    guest = licensed.guest(GPU)
    parts = {licensed.host.uuid: OWN, licensed.provider(FIRST): {OTHER: 2}}
    outsider.allocate(parts, guest.uuid)
    licensed.reserve(SECOND, 1)
    assert licensed.claim(guest) == [FIRST]
    licensed.update()
    assert of_device(licensed, guest) == {CLASS: 1, OTHER: 2}
