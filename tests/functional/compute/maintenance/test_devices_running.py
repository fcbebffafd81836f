"""A device for one use that a guest of the hypervisor has is not given back."""

import pytest

from tests.functional.compute.maintenance.drivers import GIVEN, GUESTS, PassingHost
from tests.functional.compute.maintenance.site import DRIVERS, HOST
from tests.functional.compute.maintenance.test_devices import (
    ADDRESS,
    ONE_USE,
    cards,
    reserved,
    stock,
)

__all__ = ["cards"]

GUEST = "00000000-0000-4000-8000-00000000000a"


@pytest.fixture
def site(sqlite_site):
    """Use SQLite alone: the rule is about the hypervisor."""
    return sqlite_site


@pytest.fixture
def running(site):
    """Return a function that has the hypervisor run a guest with the device of an address."""

    def run(driver, address=None):
        site.configure(f"{DRIVERS}.{driver}")
        site.write(GUESTS, [GUEST])
        site.write(GIVEN, {GUEST: [address]} if address else {})

    return run


@pytest.mark.parametrize("more", [(), ("--force",), ("--dry-run",)], ids="".join)
def test_it_is_left_as_it_is(site, cards, running, more):
    running("PassingHost", ADDRESS.format(2))

    ended = site.run("devices", "--release", cards[2], *more)

    assert (ended.code, ended.err) == (4, "")
    assert f"as it is: held by {GUEST} (by the hypervisor alone)" in ended.out
    assert reserved(site, cards[2]) == 1
    assert not list(site.state.glob("*.jsonl"))


def test_it_is_not_listed_as_burned(site, cards, running):
    running("PassingHost", ADDRESS.format(2))

    (device,) = site.run("devices", "--burned", "--json").json["devices"]
    assert device["uuid"] == cards[3]
    assert f"held by {GUEST} (by the hypervisor alone)" in site.run("devices").out


def test_a_list_asks_the_driver_once(site, cards, running, monkeypatch):
    """However many devices are reserved."""
    running("PassingHost")
    with site.placement() as outsider:
        for number in (4, 5):
            name = f"{HOST}_{ADDRESS.format(number)}"
            outsider.provider(name, cards["root"], stock(1), ONE_USE)
    asked, ask = [], PassingHost.devices_of_guests

    def counted(driver):
        asked.append(driver)
        return ask(driver)

    monkeypatch.setattr(PassingHost, "devices_of_guests", counted)

    assert len(site.run("devices", "--burned", "--host", HOST, "--json").json["devices"]) == 3
    assert len(asked) == 1
    site.run("devices", "--release", cards[2])
    assert len(asked) == 2


def test_a_guest_with_another_device_is_no_obstacle(site, cards, running):
    running("PassingHost", ADDRESS.format(1))

    assert site.run("devices", "--release", cards[2]).code == 0
    assert reserved(site, cards[2]) == 0


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        ("RunningHost", "can't tell which devices its guests have"),
        ("SilentHost", "can't list its guests"),
        ("BrokenHost", "no hypervisor answers"),
    ],
)
def test_a_driver_that_cannot_tell_takes_force(site, cards, running, driver, reason):
    running(driver)

    for more in ((), ("--dry-run",)):
        ended = site.run("devices", "--release", cards[2], *more)
        assert (ended.code, ended.err.count("\n")) == (5, 1)
        assert reason in ended.err
        assert "--force" in ended.err
        assert "as it is" in ended.out
    assert reserved(site, cards[2]) == 1
    (device,) = site.run("devices", "--burned", "--host", HOST, "--json").json["devices"]
    assert reason in device["doubt"]

    assert site.run("devices", "--release", cards[2], "--force").code == 0
    assert reserved(site, cards[2]) == 0


def test_a_device_of_another_host_is_for_that_host_to_judge(site, cards):
    ended = site.run("devices", "--release", cards[3])

    assert (ended.code, reserved(site, cards[3])) == (5, 1)
    assert "its own host can tell" in ended.err


def test_a_node_whose_name_begins_alike_is_another(site, cards):
    """`host1` and `host1_a` are two hosts."""
    with site.placement() as outsider:
        other = outsider.provider(f"{HOST}_a", inventory={"VCPU": {"total": 8}})
        card = {"CUSTOM_CARD": {"total": 1, "reserved": 1}}
        uuid = outsider.provider(
            f"{HOST}_a_{ADDRESS.format(5)}", other, card, ["HW_PCI_ONE_TIME_USE"]
        )

    assert site.run("devices", "--release", uuid).code == 5
