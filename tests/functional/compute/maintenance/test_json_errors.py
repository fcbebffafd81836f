"""Whoever asks for JSON gets one object, also when the command fails."""

import json

import pytest

from compute.records.cell_database import sqlite
from compute.records.instance import Flavor
from tests.offenders import assert_each
from virt.fake import MediumFakeDriver

NEW = "bbbbbbbb-0000-4000-8000-000000000001"
COMMANDS = [
    ("tree", "--json"),
    ("consumers", "--json"),
    ("audit", "--json"),
    ("audit", "--delete", "--json"),
    ("devices", "--json"),
    ("devices", "--release", NEW, "--json"),
    ("heal_allocations", "--json"),
    ("heal_allocations", "--dry-run", "--json"),
    ("migrate_compute_inventory", "--http", "--json"),
    ("migrate_compute_inventory", "--http", "--dry-run", "--json"),
    ("adopt_provider", "--name", "host1", "--uuid", NEW, "--json"),
    ("drain", "--host", "host1", "--plan", "--json"),
    ("explain", "--query", "resources=VCPU:1", "-f", "json"),
    ("capacity", "--query", "resources=VCPU:1", "--format=json"),
    ("evacuable", "host1", "-f", "json"),
    ("make_room", "--query", "resources=VCPU:1", "-f", "json"),
    ("survives", "-f", "json"),
]
DEAD = "[placement]\nauth_type = none\nendpoint_override = http://127.0.0.1:9\n"


@pytest.fixture
def site(sqlite_site):
    sqlite_site.started(MediumFakeDriver)
    sqlite_site.guest(flavor=Flavor(vcpus=1))
    return sqlite_site


def check(site, command, codes):
    ended = site.run(*command)
    told = json.loads(ended.out)
    assert ended.code in codes
    assert told["error"]
    assert told["error"] in ended.err
    return told


class TestAnError:
    """Of each command, on a host that none of them changes."""

    def each(self, rule):
        assert_each({" ".join(command): (command,) for command in COMMANDS}, rule)

    def test_placement_is_away(self, site):
        site.configure(more=DEAD)

        def rule(command):
            assert "127.0.0.1:9" in check(site, command, {1, 3})["error"]

        self.each(rule)

    def test_the_configuration_is_wrong(self, site):
        site.configure(more="[placement]\nauth_type = nonsense\n")
        self.each(lambda command: check(site, command, {127}))

    def test_the_usage_is_wrong(self, site):
        def rule(command):
            assert "--nonsense" in check(site, (*command, "--nonsense"), {127})["error"]

        self.each(rule)

    def test_the_records_are_damaged(self, site):
        (site.state / sqlite.FILE_NAME).write_bytes(b"no database " * 1000)

        def rule(command):
            site.configure()
            if command[0] == "adopt_provider":
                site.file.write_text("no configuration")
            check(site, command, {127})

        self.each(rule)


def test_what_was_named_is_unknown(site):
    cases = [
        (("tree", "--provider", "nobody", "--json"), {2}),
        (("audit", "--resource_provider", NEW, "--json"), {127}),
        (("adopt_provider", "--name", "nobody", "--uuid", NEW, "--json"), {2}),
        (("drain", "--host", "nobody", "--plan", "--json"), {2}),
        (("evacuable", "nobody", "-f", "json"), {2}),
        (("heal_allocations", "--instance", NEW, "--json"), {127}),
        (("devices", "--host", "nobody", "--json"), {2}),
        (("devices", "--release", NEW, "--json"), {2}),
    ]
    assert_each(
        {" ".join(command): (command, code) for command, code in cases},
        lambda command, code: check(site, command, code),
    )


def test_a_refusal_to_delete(sqlite_site):
    sqlite_site.started(MediumFakeDriver)
    told = check(sqlite_site, ("audit", "--delete", "--json"), {5})
    assert "know no instance at all" in told["error"]


def test_what_was_found_before_stays(site, monkeypatch):
    """Placement goes away while the records are looked through."""
    site.guest()
    heal, healed = "compute.cli.commands.heal_allocations._Healing.heal", []

    from compute.cli.commands import heal_allocations

    one = heal_allocations._Healing.heal

    def gone_after_one(healing, asked, instance):
        healed.append(instance)
        if len(healed) > 1:
            raise heal_allocations.PlacementUnusable("placement is away")
        return one(healing, asked, instance)

    monkeypatch.setattr(heal, gone_after_one)
    ended = site.run("heal_allocations", "--json")
    told = json.loads(ended.out)
    assert (ended.code, told["error"]) == (3, "placement is away")
    assert len(told["instances"]) == 1


def test_heal_tells_work_from_no_work_without_doing_it(sqlite_site):
    root = sqlite_site.started(MediumFakeDriver)
    guest = sqlite_site.guest(flavor=Flavor(vcpus=1))
    assert sqlite_site.run("heal_allocations", "--dry-run").code == 4
    assert sqlite_site.run("heal_allocations").code == 0
    with sqlite_site.placement() as outsider:
        assert outsider.allocations(guest) == {root: {"VCPU": 1}}
    assert sqlite_site.run("heal_allocations", "--dry-run").code == 0
