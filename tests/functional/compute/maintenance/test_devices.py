"""Devices for one use: who holds them, and how those that nobody holds are given back."""

import json

import pytest

from compute.records.compute_node import ComputeNode
from compute.report.wire.transport import Transport
from tests.functional.compute.maintenance.http_service import described, serving
from tests.functional.compute.maintenance.site import HOST

pytestmark = pytest.mark.spread_over_databases("sqlite")

CLASS = "CUSTOM_PCI_10DE_1DB6"
ONE_USE = ["HW_PCI_ONE_TIME_USE", "COMPUTE_MANAGED_PCI_DEVICE"]
ADDRESS = "0000:81:00.{}"
NOBODY = "00000000-0000-4000-8000-000000000000"


def stock(reserved):
    return {CLASS: {"total": 1, "max_unit": 1, "reserved": reserved}}


@pytest.fixture
def cards(site):
    """Give number → uuid: 0 is free, 1 held, 2 burned; another host has 3, which is burned."""
    with site.placement() as outsider:
        root = outsider.provider(HOST, inventory={"VCPU": {"total": 8}})
        with site.cell() as cell:
            cell.compute_nodes.create(ComputeNode(root, HOST, HOST))
        found = {}
        for number in (0, 1, 2, 3):
            host = root
            if number == 3:
                host = outsider.provider("host2", inventory={"VCPU": {"total": 8}})
            name = f"{'host2' if number == 3 else HOST}_{ADDRESS.format(number)}"
            found[number] = outsider.provider(name, host, stock(0), ONE_USE)
        found["root"] = root
        found["guest"] = outsider.allocate({root: {"VCPU": 1}, found[1]: {CLASS: 1}})
        for number in (1, 2, 3):
            outsider.set_inventory(found[number], stock(1))
    return found


def reserved(site, uuid):
    with site.placement() as outsider:
        return outsider.inventory(uuid)[CLASS]["reserved"]


def test_devices_are_listed_with_whoever_holds_them(site, cards):
    site.guest(uuid=cards["guest"])

    ended = site.run("devices")

    assert (ended.code, ended.err) == (3, "")
    lines = ended.out.splitlines()
    assert [line.rpartition("  ")[2] for line in lines] == [
        "free",
        f"held by {cards['guest']} (instance on {HOST})",
        "burned: nobody holds it",
        # only its own host can tell
        "burned: nobody holds it, as far as placement and these records know",
    ]
    assert f"  {cards[2]}  1 of 1 {CLASS} reserved  " in lines[2]


def test_burned_devices_of_a_host_are_listed_alone(site, cards):
    found = site.run("devices", "--burned", "--host", HOST, "--json")

    assert found.code == 3
    (device,) = found.json["devices"]
    assert (device["uuid"], device["state"], device["holders"]) == (cards[2], "burned", {})
    assert site.run("devices", "--host", "elsewhere").code == 2


def test_a_burned_device_is_given_back_and_a_second_run_has_nothing_to_do(site, cards):
    ended = site.run("devices", "--release", cards[2], cards[3], cards[0], "--force")

    assert (ended.code, ended.err) == (0, "")
    assert [line.split()[0] for line in ended.out.splitlines()] == [
        "Journal",
        "Released",
        "Released",
        f"{HOST}_{ADDRESS.format(0)}",
    ]
    assert {reserved(site, cards[number]) for number in (2, 3)} == {0}
    assert reserved(site, cards[1]) == 1
    again = site.run("devices", "--release", cards[2], cards[3])
    assert (again.code, again.out.count("is free already")) == (0, 2)
    assert site.run("devices", "--burned").out == "There is no burned device.\n"


def test_undo_reserves_what_the_journal_says(site, cards, tmp_path):
    journal = tmp_path / "journal"
    site.run("devices", "--release", cards[2], "--journal", str(journal))
    with site.placement() as outsider:
        outsider.provider("gone-soon", cards["root"], stock(1), ONE_USE, uuid=NOBODY)
    site.run("devices", "--release", NOBODY, "--force", "--journal", str(journal))
    with site.placement() as outsider:
        outsider.call("DELETE", f"/resource_providers/{NOBODY}")
    before = site.rows()
    assert site.run("devices", "--undo", str(journal), "--dry-run").code == 2
    assert site.rows() == before

    ended = site.run("devices", "--undo", str(journal))

    assert (ended.code, ended.err.count("is gone")) == (2, 1)
    assert reserved(site, cards[2]) == 1


@pytest.mark.parametrize("dry", [[], ["--dry-run"]], ids=["run", "dry run"])
def test_undo_does_not_say_that_it_reserves_what_has_another_class_now(site, cards, tmp_path, dry):
    journal = tmp_path / "journal"
    site.run("devices", "--release", cards[2], "--journal", str(journal))
    with site.placement() as outsider:
        outsider.set_inventory(cards[2], {"CUSTOM_OTHER": {"total": 1}})

    ended = site.run("devices", "--undo", str(journal), *dry)

    assert (ended.code, ended.out) == (2, "")
    assert f"has no {CLASS} any more" in ended.err


def test_a_dry_run_changes_nothing_and_makes_no_journal(site, cards):
    before = site.rows()

    ended = site.run("devices", "--release", cards[2], cards[1], "--dry-run")

    assert ended.code == 4
    assert f"[dry-run] Released {HOST}_{ADDRESS.format(2)}" in ended.out
    assert site.rows() == before
    assert not list(site.state.glob("*.jsonl"))


@pytest.mark.parametrize("number", [1, 0])
def test_what_somebody_holds_is_left_as_it_is(site, cards, number):
    if number == 0:
        # placement knows of nobody, but the records of this host do
        site.guest(pci_devices=[{"address": ADDRESS.format(0)}])
        with site.placement() as outsider:
            outsider.set_inventory(cards[0], stock(1))

    ended = site.run("devices", "--release", cards[number])

    assert ended.code == 4
    assert "as it is: held by" in ended.out
    assert ("by the records alone" in ended.out) == (number == 0)
    assert reserved(site, cards[number]) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--release", "me"),
        ("--journal", "file"),
        ("--dry-run",),
        ("--force",),
        ("--burned", "--release", NOBODY),
        ("--undo", "file", "--release", NOBODY),
        ("--undo", "/nowhere/journal"),
    ],
    ids=" ".join,
)
def test_bad_usage_is_told_in_a_line(site, arguments):
    ended = site.run("devices", *arguments)

    assert (ended.code, ended.out, ended.err.count("\n")) == (127, "", 1)


def test_a_journal_of_allocations_is_none_of_devices(site, cards, tmp_path):
    journal = tmp_path / "journal"
    journal.write_text(json.dumps({"consumer": "c", "provider": "p", "resources": {}}) + "\n")

    assert site.run("devices", "--undo", str(journal)).code == 127


def test_a_journal_that_cannot_be_written_keeps_the_device(site, cards, tmp_path):
    ended = site.run("devices", "--release", cards[2], "--journal", str(tmp_path / "no" / "file"))

    assert ended.code == 127
    assert reserved(site, cards[2]) == 1


class TestMeanwhile:
    """Somebody acts between the look and the write."""

    @pytest.fixture
    def release(self, site, cards, monkeypatch):
        """Return a function that releases device 2, with `act` called before the write."""

        def run(act, times=1):
            put, met = Transport.put, []

            def meet(client, url, *args, **kwargs):
                if url.endswith(f"{cards[2]}/inventories") and len(met) < times:
                    met.append(url)
                    with site.placement() as outsider:
                        act(outsider)
                return put(client, url, *args, **kwargs)

            monkeypatch.setattr(Transport, "put", meet)
            ended = site.run("devices", "--release", cards[2], "--json")
            assert len(met) == times
            return ended

        return run

    def test_a_claim_keeps_the_device(self, site, cards, release):
        def claim(outsider):
            # somebody else gave it back already, and it found a guest at once
            outsider.set_inventory(cards[2], stock(0))
            outsider.allocate({cards[2]: {CLASS: 1}})
            outsider.set_inventory(cards[2], stock(1))

        ended = release(claim)

        assert (ended.code, ended.err) == (4, "")
        (device,) = ended.json["devices"]
        assert (device["state"], device["released"]) == ("held", False)
        assert reserved(site, cards[2]) == 1

    def test_an_agent_that_rewrites_the_inventory_is_no_obstacle(self, site, cards, release):
        def rewrite(outsider):
            outsider.set_inventory(cards[2], {CLASS: {"total": 1, "reserved": 1, "max_unit": 1}})
            outsider.set_traits(cards[2], [*ONE_USE, "CUSTOM_NEW"])

        assert release(rewrite).code == 0
        assert reserved(site, cards[2]) == 0
        with site.placement() as outsider:
            assert "CUSTOM_NEW" in outsider.traits(cards[2])

    def test_a_device_that_vanishes_is_told(self, cards, release):
        ended = release(lambda outsider: outsider.call("DELETE", f"/resource_providers/{cards[2]}"))

        assert (ended.code, ended.json["devices"]) == (2, [])
        assert cards[2] in ended.err

    def test_a_device_that_others_always_change_is_1(self, site, cards, release):
        ended = release(lambda outsider: outsider.set_inventory(cards[2], stock(1)), times=4)

        assert (ended.code, ended.err.count("\n")) == (1, 1)
        assert reserved(site, cards[2]) == 1


def test_a_running_service_and_one_without_extensions_tell_the_same(site, cards, monkeypatch):
    by_database = site.run("devices")
    monkeypatch.setenv("OS_BERTH__EXTENSIONS", "false")
    with serving(site.url, roles=["admin", "service"]) as url:
        site.configure(more=described(url))
        assert site.run("devices", "--http") == by_database
        assert site.run("devices", "--http", "--release", cards[2]).code == 0
    assert reserved(site, cards[2]) == 0
