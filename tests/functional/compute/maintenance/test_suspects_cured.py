"""What doc/suspects.rst advises against each kind of suspects ends it."""

import pytest

from placement.extensions.suspects.rules import KINDS
from tests.functional.compute.maintenance.adopted import NEW, OLD
from tests.functional.compute.maintenance.site import HOST, INVENTORY
from tests.page_code import text_of
from virt.fake import MediumFakeDriver

CARD = "CUSTOM_CARD"
#: kind → what the table says of it, in its own words
ADVICE = {
    "two_roots": "with ``--delete`` it is removed",
    "consumer_type_unknown": "Its owner gives it a type with the next write",
    "over_capacity": "Correct the inventory, the ratio or what is reserved",
    "empty_root": "Start the agent of that name, or delete the provider",
    "untouched": "See whether the agent of the host is alive",
    "duplicate_device": "Let one service alone report the device",
    "burned_device": "Clean the device, then",
    "alike_names": "If one host has reported under two names",
}


@pytest.fixture
def site(sqlite_site, monkeypatch):
    """Use SQLite alone: the rules are about who acts, not about databases."""
    monkeypatch.setenv("OS_BERTH__SUSPECTS_GRACE", "0")
    return sqlite_site


def suspected(site):
    told = site.run("audit", "--suspects", "--json")
    return {kind for kind, count in told.json["kinds"].items() if count}


def test_each_kind_has_its_advice():
    page = text_of("suspects.rst").partition("What helps\n")[2]
    assert ADVICE.keys() == set(KINDS)
    assert [kind for kind in KINDS if f"\n``{kind}``" not in page] == []
    words = " ".join(page.split())
    assert [kind for kind, advice in ADVICE.items() if advice not in words] == []


def test_an_audit_of_the_other_host_ends_two_roots(site):
    root = site.start_service_once(MediumFakeDriver)
    with site.placement() as outsider:
        other = outsider.provider("host2", None, INVENTORY)
        moved = site.guest(host="host2", node="host2", vm_state="active")
        outsider.allocate({root: {"VCPU": 2}, other: {"VCPU": 2}}, moved)
    assert suspected(site) == {"two_roots"}
    assert site.run("audit", "--delete").code == 4
    assert suspected(site) == set()


def test_the_next_write_of_its_owner_gives_a_consumer_its_type(site):
    root = site.start_service_once(MediumFakeDriver)
    guest = site.guest(vm_state="active")
    with site.placement() as outsider:
        outsider.allocate({root: {"VCPU": 2}}, guest, consumer_type=None)
        assert suspected(site) == {"consumer_type_unknown"}
        outsider.allocate({root: {"VCPU": 2}}, guest)
    assert suspected(site) == set()


@pytest.mark.parametrize(
    "corrected", [{"total": 8}, {"total": 2, "allocation_ratio": 4.0}], ids=["inventory", "ratio"]
)
def test_a_corrected_inventory_is_no_longer_over_capacity(site, corrected):
    site.start_service_once(MediumFakeDriver)
    with site.placement() as outsider:
        host = outsider.provider("host2", None, {"VCPU": {"total": 8}})
        outsider.allocate({host: {"VCPU": 8}})
        outsider.set_inventory(host, {"VCPU": {"total": 2}})
        assert suspected(site) == {"over_capacity"}
        outsider.set_inventory(host, {"VCPU": corrected})
    assert suspected(site) == set()


def test_the_agent_of_its_name_fills_an_empty_root(site):
    root = site.start_service_once(MediumFakeDriver)
    with site.placement() as outsider:
        outsider.set_inventory(root, {})
    assert suspected(site) == {"empty_root"}
    site.start_service_once(MediumFakeDriver)
    assert suspected(site) == set()


def test_a_released_device_is_no_longer_burned(site):
    root = site.start_service_once(MediumFakeDriver)
    with site.placement() as outsider:
        burned = {CARD: {"total": 1, "max_unit": 1, "reserved": 1}}
        card = outsider.provider(f"{HOST}_0000:81:00.0", root, burned, ["HW_PCI_ONE_TIME_USE"])
    assert suspected(site) == {"burned_device"}
    assert site.run("devices", "--release", card).code == 0
    assert suspected(site) == set()


def test_an_adopted_name_is_no_longer_alike(site):
    site.start_service_once(MediumFakeDriver)
    with site.placement() as outsider:
        outsider.provider("host7", None, INVENTORY, uuid=OLD)
        outsider.provider("host7.example.org", None, INVENTORY, uuid=NEW)
    assert suspected(site) == {"alike_names"}
    words = ("--name", "host7", "--uuid", NEW, "--as", "host7.example.org")
    assert site.run("adopt_provider", *words).code == 0
    assert suspected(site) == set()
