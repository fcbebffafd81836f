"""OWNER_NOVA says which providers are the compute service's (nova's scheduler asks for it)."""

import json
from functools import partial
from pathlib import Path

import pytest

from compute.provider_tree.inventory_record import DEFAULTS
from compute.provider_tree.kept_inventory import kept
from tests.functional.compute.test_fenced_devices import devices_of
from tests.unit.virt.node.hosts import GPUS, TYPE, KnownHost, network_card
from virt.libvirt import LibvirtDriver
from virt.pci_device import PciDevice

OWNER = "OWNER_NOVA"
CYBORG = "OWNER_CYBORG"


@pytest.fixture
def start(host):
    known = KnownHost(
        hostname=host.name,
        creatable={GPUS[0]: {TYPE: 3}},
        pci_devices=[PciDevice("0000:85:00.0", "10de", "1db6"), *network_card("ens1", 0x90, 4, 1)],
        encryption_slots={"amd_sev": 9},
    )
    specs = [{"devname": "ens1", "physical_network": "physnet1"}, {"vendor_id": "10de"}]
    host.conf.set_override("enabled_mdev_types", [TYPE], "devices")
    host.conf.set_override("report_in_placement", True, "pci")
    host.conf.set_override("device_spec", [json.dumps(spec) for spec in specs], "pci")

    def start(numa=False):
        host.conf.set_override("numa_in_placement", numa, "berth")
        host.start(partial(LibvirtDriver, host_info=known))
        assert host.outcome.failures == {}

    return start


def lists(host, *names):
    """Write a file that gives a trait to these providers."""
    folder = Path(host.conf.compute.provider_config_location)
    entries = "".join(
        f"  - identification: {{name: '{name}'}}\n    traits: {{additional: [CUSTOM_RACK]}}\n"
        for name in names
    )
    folder.mkdir(exist_ok=True)
    text = f"meta: {{schema_version: '1.0'}}\nproviders:\n{entries}"
    (folder / "racks.yaml").write_text(text)


def owned(outsider, host):
    """Return the last parts of the names of the children that are the service's."""
    found = devices_of(outsider, host)
    return {name for name, uuid in found.items() if OWNER in outsider.traits(uuid)}


@pytest.mark.parametrize("numa", [False, True])
def test_each_provider_that_the_service_makes_has_it(numa, host, start, outsider):
    start(numa)
    names = {"amd_sev", GPUS[0], "0000:85:00.0", "ens1", *(["numa0", "numa1"] if numa else [])}
    assert set(devices_of(outsider, host)) == owned(outsider, host) == names
    sent = len(host.adapter.writes)
    assert (host.update().failures, host.adapter.writes[sent:]) == ({}, [])


def test_a_tree_that_an_earlier_version_reported_gets_it(host, start, outsider):
    start()
    for uuid in devices_of(outsider, host).values():
        outsider.set_traits(uuid, outsider.traits(uuid) - {OWNER})
    start()
    assert owned(outsider, host) == set(devices_of(outsider, host))


def test_a_change_of_form_leaves_it(host, start, outsider):
    for numa in (False, True, False):
        start(numa)
        assert owned(outsider, host) == set(devices_of(outsider, host))


def test_providers_of_others_do_not_get_it(host, start, outsider):
    start()
    names = [f"{host.name}_theirs", f"{host.name}_mine"]
    theirs = outsider.provider(names[0], host.uuid, {"FPGA": {"total": 1}}, traits=[CYBORG])
    operators = outsider.provider(names[1], host.uuid, {"FPGA": {"total": 1}})
    start()
    assert (outsider.traits(theirs), outsider.traits(operators)) == ({CYBORG}, set())


def test_what_the_operators_files_name_gets_it_but_not_from_another_owner(host, start, outsider):
    start()
    names = [f"{host.name}_theirs", f"{host.name}_mine"]
    theirs = outsider.provider(names[0], host.uuid, traits=[CYBORG])
    operators = outsider.provider(names[1], host.uuid)
    lists(host, *names)
    start()
    assert outsider.traits(theirs) == {CYBORG, "CUSTOM_RACK"}
    assert outsider.traits(operators) == {OWNER, "CUSTOM_RACK"}


def test_a_provider_of_others_that_is_narrowed_does_not_get_it(host, start, outsider):
    """Neutron's provider of bandwidth has no trait of an owner; adopt_provider widened it."""
    start()
    bandwidth, wanted = "NET_BW_EGR_KILOBIT_PER_SEC", {**DEFAULTS, "total": 100}
    widened = kept({**DEFAULTS, "total": 300}, wanted, bandwidth)
    for name in widened.keys() - {bandwidth}:
        outsider.call("PUT", f"/resource_classes/{name}")
    theirs = outsider.provider(f"{host.name}:Open vSwitch agent", host.uuid, widened)
    start()
    assert outsider.totals(theirs) == {bandwidth: 100}
    assert outsider.traits(theirs) == set()
