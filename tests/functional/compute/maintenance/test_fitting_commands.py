"""`explain`, `capacity` and `evacuable`: from the flavor to what placement has for it."""

import dataclasses
import json
from uuid import uuid4

import pytest

from compute.records.compute_node import ComputeNode
from compute.records.instance import Flavor
from compute.records.migration import Migration
from tests.functional.compute.maintenance.http_service import described, serving
from tests.offenders import assert_each

pytestmark = pytest.mark.spread_over_databases("sqlite")

LARGE = Flavor(4, 8192, 40, name="m1.large")
GOLD = Flavor(1, 512, 1, name="gold", extra_specs={"trait:CUSTOM_GOLD": "required"})
DEVICES = Flavor(1, 512, 1, name="devices", extra_specs={"pci_passthrough:alias": "gpu:1"})
PINNED = Flavor(2, 512, 1, name="pinned", extra_specs={"hw:cpu_policy": "dedicated"})
REFUSED = Flavor(2, 512, 1, name="refused", extra_specs={"hw:tpm_version": "3"})
#: the trait of hosts that nova-compute reports
OWNER = ["OWNER_NOVA"]
GPU = """
[pci]
alias = {"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"}
[filter_scheduler]
pci_in_placement = true
"""
MIGRATE = "openstack --os-compute-api-version 2.56 server migrate"
NOBODY = "00000000-0000-4000-8000-000000000000"
HOSTILE = "h\x1b[31möst\n"


def stock(vcpu, memory, disk=1000):
    return {"VCPU": {"total": vcpu}, "MEMORY_MB": {"total": memory}, "DISK_GB": {"total": disk}}


def fits(found):
    return {name: room["fits"] for name, room in found["requests"].items()}


@pytest.fixture
def cloud(site):
    """Make two hosts; the flavor m1.large fits twice on the first and once on the second."""
    with site.placement() as outsider:
        first = outsider.provider("first", inventory=stock(8, 20480), traits=OWNER)
        second = outsider.provider("second", inventory=stock(4, 65536), traits=OWNER)
    site.guest(flavor=LARGE, uuid=str(uuid4()))
    return {"first": first, "second": second}


def test_a_flavor_that_fits_is_explained_with_0(site, cloud):
    ended = site.run("explain", "--flavor", "m1.large")

    assert (ended.code, ended.err) == (0, "")
    assert "There are candidates." in ended.out
    assert "Nova has filters of its own" in ended.out
    assert all(len(line) <= 80 for line in ended.out.splitlines())


def test_a_flavor_that_fits_nowhere_is_explained_with_3(site, cloud):
    with site.placement() as outsider:
        outsider.provider("golden", inventory=stock(1, 256), traits=["CUSTOM_GOLD", *OWNER])
    site.guest(flavor=GOLD)

    ended = site.run("explain", "--flavor", "gold", "--provider", "first")

    assert (ended.code, ended.err) == (3, "")
    assert "trait CUSTOM_GOLD" in ended.out
    assert "What this provider lacks:" in ended.out


def test_what_an_instance_holds_counts_as_free_for_itself(site, cloud):
    uuid = site.guest(flavor=LARGE)
    with site.placement() as outsider:
        outsider.allocate({cloud["second"]: {"VCPU": 4, "MEMORY_MB": 8192}}, uuid)
        outsider.allocate({cloud["first"]: {"VCPU": 8, "MEMORY_MB": 8192}})

    assert site.run("explain", "--flavor", "m1.large").code == 3
    assert site.run("explain", "--instance", uuid).code == 0
    assert site.run("explain", "--flavor", "m1.large", "--consumer", uuid).code == 0


def test_what_others_than_placement_check_is_told(site, cloud):
    site.guest(flavor=DEVICES)

    ended = site.run("explain", "--flavor", "devices")
    found = site.run("explain", "--flavor", "devices", "-f", "json").json

    assert "pci_passthrough:alias" in ended.out
    assert any("pci_passthrough:alias" in sentence for sentence in found["left_out"])
    assert found["query"].startswith("resources=DISK_GB%3A1%2CMEMORY_MB%3A512%2CVCPU%3A1")


def test_capacity_counts_each_flavor(site, cloud):
    site.guest(flavor=GOLD)

    with site.placement() as outsider:
        outsider.provider("golden", inventory=stock(1, 256), traits=["CUSTOM_GOLD", *OWNER])
    found = site.run("capacity", "--all-flavors", "--by", "root", "-f", "json").json

    assert fits(found) == {"gold": 0, "m1.large": 3}
    roots = found["requests"]["m1.large"]["by_root"]
    assert [(root["name"], root["fits"]) for root in roots] == [("first", 2), ("second", 1)]


def test_capacity_without_a_host_is_told_for_people(site, cloud):
    ended = site.run("capacity", "--flavor", "m1.large", "--without", "first", "--by", "root")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("m1.large\n  1 more, on 1 tree\n")
    assert "second" in ended.out
    assert "first (" not in ended.out
    assert all(len(line) <= 80 for line in ended.out.splitlines())


def test_capacity_is_3_if_nothing_fits(site, cloud):
    assert site.run("capacity", "--query", "resources=VCPU:9").code == 3


def test_hosts_can_be_emptied(site, cloud):
    uuid = site.guest(flavor=LARGE)
    with site.placement() as outsider:
        outsider.allocate({cloud["first"]: {"VCPU": 4, "MEMORY_MB": 8192}}, uuid)

    ended = site.run("evacuable", "first", "--moves")

    assert (ended.code, ended.err) == (0, "")
    assert "The consumer fits elsewhere." in ended.out
    assert f"{uuid} (instance on host1)" in ended.out
    assert cloud["second"] in ended.out


def test_who_has_no_place_is_named_with_the_reason(site, cloud):
    uuid = site.guest(flavor=dataclasses.replace(LARGE, vcpus=5))
    with site.placement() as outsider:
        outsider.allocate({cloud["first"]: {"VCPU": 5, "MEMORY_MB": 8192}}, uuid)
        stranger = outsider.allocate({cloud["first"]: {"VCPU": 3}})

    ended = site.run("evacuable", cloud["first"])
    found = site.run("evacuable", "first", "-f", "json").json

    assert (ended.code, ended.err) == (3, "")
    assert "1 of 2 consumers fit elsewhere. These do not:" in ended.out
    assert f"{uuid} (instance on host1)" in ended.out
    assert "VCPU 5" in ended.out
    assert list(found["moves"]) == [stranger]
    assert all(len(line) <= 80 for line in ended.out.splitlines())


class TestMakeRoom:
    @pytest.fixture
    def guest(self, site, cloud):
        """Leave 3 VCPU free on each host: moving the guest of one VCPU makes room for m1.large."""
        small = dataclasses.replace(LARGE, vcpus=1, memory_mb=512, root_gb=1, name="m1.small")
        uuid = site.guest(flavor=small)
        with site.placement() as outsider:
            outsider.allocate({cloud["first"]: {"VCPU": 5, "MEMORY_MB": 512}})
            outsider.allocate({cloud["second"]: {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}}, uuid)
        return uuid

    def test_a_plan_is_told(self, site, guest):
        ended = site.run("make_room", "--flavor", "m1.large")

        assert (ended.code, ended.err) == (0, "")
        assert f"1. {guest} (instance on host1)\n    from second to first\n" in ended.out
        assert all(len(line) <= 80 for line in ended.out.splitlines())

    def test_a_plan_is_told_as_commands(self, site, guest):
        cold = site.run("make_room", "--flavor", "m1.large", "--commands")
        live = site.run("make_room", "--flavor", "m1.large", "--commands", "--live-migration")

        assert [line for line in cold.out.splitlines() if not line.startswith("#")] == [
            f"{MIGRATE} --wait --host first {guest}",
            f"openstack server migration confirm {guest}",
        ]
        assert [line for line in live.out.splitlines() if not line.startswith("#")] == [
            f"{MIGRATE} --live-migration --wait --host first {guest}"
        ]

    def test_commands_name_the_host_of_a_node(self, site, cloud, guest):
        with site.cell() as cell:
            cell.compute_nodes.create(ComputeNode(cloud["first"], "its host", "first"))

        ended = site.run("make_room", "--flavor", "m1.large", "--commands")

        assert f"{MIGRATE} --wait --host 'its host' {guest}\n" in ended.out

    def test_a_changed_cloud_is_asked(self, site, cloud, guest, tmp_path):
        file = tmp_path / "if.json"
        file.write_text(json.dumps({"if": {"add": [{"like": cloud["second"], "name": "new"}]}}))

        bought = site.run("make_room", "--flavor", "m1.large", "--if", str(file))
        file.write_text(json.dumps({"without": [cloud["first"]]}))
        gone = site.run("make_room", "--flavor", "m1.large", "--if", str(file))

        assert (bought.code, bought.err) == (0, "")
        assert bought.out.startswith("It fits on new-1: nothing has to move.")
        assert (gone.code, gone.err) == (3, "")

    def test_who_may_not_move_stays(self, site, guest):
        ended = site.run("make_room", "--flavor", "m1.large", "--except", guest, "-f", "json")

        assert ended.code == 3
        assert ended.json["verdict"] == "impossible"

    def test_guests_of_nova_have_no_type(self, site, guest):
        with site.placement() as outsider:
            held = outsider.allocations(guest)
            outsider.allocate(held, guest, consumer_type=None)

        ended = site.run("make_room", "--flavor", "m1.large", "-f", "json")

        assert (ended.code, ended.err) == (0, "")
        assert [move["consumer"] for move in ended.json["moves"]] == [guest]

    def test_who_is_being_moved_stays_and_so_does_its_migration(self, site, guest):
        with site.cell() as cell:
            migration = Migration(instance_uuid=guest, status="migrating")
            cell.migrations.create(migration)
        with site.placement() as outsider:
            held = outsider.allocations(guest)
            outsider.allocate({}, guest)
            outsider.allocate(held, migration.uuid, consumer_type=None)

        assert site.run("make_room", "--flavor", "m1.large").code == 3

    def test_nothing_has_to_move(self, site, cloud):
        ended = site.run("make_room", "--query", "resources=VCPU:1", "--within", "second")

        assert ended.code == 0
        assert ended.out.startswith("It fits on second: nothing has to move.")


class TestSurvives:
    @pytest.fixture
    def guest(self, site, cloud):
        uuid = site.guest(flavor=LARGE)
        with site.placement() as outsider:
            outsider.allocate({cloud["first"]: {"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 40}}, uuid)
        return uuid

    def test_a_guest_that_asks_for_a_trait_that_is_gone_spoils_nothing(self, site, cloud):
        gone = dataclasses.replace(LARGE, extra_specs={"trait:CUSTOM_GONE": "required"})
        uuid = site.guest(flavor=gone)
        with site.placement() as outsider:
            outsider.allocate({cloud["first"]: {"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 40}}, uuid)

        for words in (("survives",), ("make_room", "--query", "resources=VCPU:1")):
            ended = site.run(*words)
            assert (ended.code, ended.err) == (0, "")
            assert "What 1 guest asks for isn't certain" in ended.out.replace("\n", " ")

    def test_guests_of_nova_have_no_type(self, site, guest):
        with site.placement() as outsider:
            held = outsider.allocations(guest)
            outsider.allocate(held, guest, consumer_type=None)

        assert site.run("survives").code == 0

    def test_each_host_can_be_lost(self, site, guest):
        ended = site.run("survives")

        assert (ended.code, ended.err) == (0, "")
        assert ended.out.startswith("The loss of any of 2 hosts can be absorbed.")

    def test_the_traits_of_the_flavor_count(self, site, cloud):
        uuid = site.guest(flavor=GOLD)
        with site.placement() as outsider:
            golden = outsider.provider(
                "golden", inventory=stock(1, 512), traits=["CUSTOM_GOLD", *OWNER]
            )
            outsider.allocate({golden: {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}}, uuid)

        ended = site.run("survives", "--lost", "golden")
        found = site.run("survives", "-f", "json").json

        assert (ended.code, ended.err) == (3, "")
        assert "golden: 0 of 1 consumers fit elsewhere (impossible)." in ended.out
        assert f"{uuid} (instance on host1)" in ended.out
        assert "CUSTOM_GOLD" in ended.out
        assert all(len(line) <= 80 for line in ended.out.splitlines())
        assert (found["sets"], found["absorbed"]) == (3, 2)

    def test_two_hosts_are_lost_together(self, site, cloud, guest, tmp_path):
        ended = site.run("survives", "--together", "2")

        assert ended.code == 3
        assert "At least DISK_GB 40, MEMORY_MB 8192, VCPU 4 would have to be added." in ended.out

        file = tmp_path / "if.json"
        file.write_text(json.dumps({"add": [{"like": cloud["second"]}]}))
        assert site.run("survives", "--together", "2", "--if", str(file)).code == 0

    def test_guests_that_may_not_be_somewhere(self, site, cloud, guest, tmp_path):
        file = tmp_path / "constraints.json"
        file.write_text(json.dumps({"not_on": {guest: [cloud["second"]]}}))

        assert site.run("survives", "--constraints", str(file)).code == 3

    def test_a_guest_whose_request_isnt_certain_is_asked_for_with_what_it_holds(self, site, cloud):
        uuid = site.guest(flavor=REFUSED)
        with site.placement() as outsider:
            outsider.allocate({cloud["first"]: {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 1}}, uuid)

        ended = site.run("survives")

        assert ended.code == 0
        assert "What 1 guest asks for isn't certain" in ended.out


def test_an_empty_host_can_be_emptied(site, cloud):
    ended = site.run("evacuable", "first")

    assert (ended.code, ended.out.splitlines()[0]) == (0, "Nobody holds anything there.")


#: what is asked, the exit code, and a part of what is told
UNANSWERABLE = [
    (("explain", "--flavor", "m1.huge"), 2, "The records know: m1.large."),
    (("explain", "--instance", NOBODY), 2, "The records have no instance"),
    (("explain", "--query", "resources=VCPU:x"), 127, "expected positive integer"),
    (("explain", "--query", "resources=VCPU:1", "--provider", "no"), 127, "the name 'no'"),
    (("explain", "--query", "resources=VCPU:1", "--consumer", "me"), 127, "not a uuid"),
    (("explain",), 127, "one of --flavor, --instance and --query"),
    (("explain", "--flavor", "a", "--query", "b"), 127, "one of --flavor"),
    (("capacity",), 127, "say what is to fit"),
    (("capacity", "--flavor", "m1.huge"), 2, "m1.large"),
    (("capacity", "--query", "resources=VCPU:1", "--without", "no"), 2, "no"),
    (("capacity", "--query", "resources=VCPU:1", "--limit", "0"), 127, "0 is less than"),
    (("evacuable", "no"), 2, "no"),
    (("make_room", "--flavor", "m1.huge"), 2, "The records know: m1.large."),
    (("make_room", "--query", "resources=VCPU:x"), 127, "expected positive integer"),
    (("make_room", "--query", "resources=VCPU:1", "--live-migration"), 127, "of --commands"),
    (("survives", "--lost", "no"), 2, "no"),
    (("survives", "--together", "9"), 127, "9"),
    (("survives", "--constraints", "no"), 127, "no can't be read as JSON"),
    (("survives", "--if", "no"), 127, "no can't be read as JSON"),
    (("make_room", "--query", "a", "--commands", "--if", "no"), 127, "as it is"),
]


def test_what_cannot_be_answered_is_told_in_a_line(site, cloud):
    def check(arguments, code, told):
        ended = site.run(*arguments)
        assert (ended.code, ended.out) == (code, "")
        assert told in ended.err
        assert len(ended.err.splitlines()) == 1

    assert_each({" ".join(row[0]): row for row in UNANSWERABLE}, check)


def test_hostile_names_stay_in_their_line(site, cloud):
    with site.placement() as outsider:
        outsider.provider(HOSTILE, inventory=stock(1000, 2**20), traits=OWNER)

    ended = site.run("capacity", "--flavor", "m1.large", "--by", "root")

    assert r"h\x1b[31möst\n" in ended.out
    assert "\x1b" not in ended.out


def test_a_running_service_answers_the_same(site, cloud):
    with serving(site.url, roles=["admin", "service"]) as url:
        site.configure(more=described(url))

        def check(*arguments):
            by_database = site.run(*arguments, "--database")
            assert by_database.code == 0
            assert site.run(*arguments, "--http") == by_database

        questions = [
            ("explain", "--flavor", "m1.large"),
            ("capacity", "--flavor", "m1.large"),
            ("evacuable", "first"),
            ("make_room", "--flavor", "m1.large"),
            ("survives",),
        ]
        assert_each({" ".join(each): each for each in questions}, check)


def test_placement_without_extensions_is_told(site, cloud, monkeypatch):
    monkeypatch.setenv("OS_BERTH__EXTENSIONS", "false")

    ended = site.run("capacity", "--flavor", "m1.large")

    assert (ended.code, ended.out) == (1, "")
    assert "Placement doesn't offer this" in ended.err


def test_a_user_without_the_role_is_told(site, cloud):
    with serving(site.url, roles=["reader"]) as url:
        site.configure(more=described(url))
        ended = site.run("capacity", "--query", "resources=VCPU:1", "--http")

    assert (ended.code, ended.out) == (1, "")
    assert "403" in ended.err


class TestDedicatedProcessors:
    @pytest.fixture
    def pins(self, site, cloud):
        site.guest(flavor=PINNED)
        stocked = stock(1, 1024) | {"PCPU": {"total": 4}}
        with site.placement() as outsider:
            outsider.provider("pins", inventory=stocked, traits=OWNER)

    def test_hosts_that_report_no_pcpu_are_judged_by_the_fallback(self, site, cloud):
        site.guest(flavor=PINNED)

        ended = site.run("explain", "--flavor", "pinned")
        found = site.run("explain", "--flavor", "pinned", "-f", "json").json

        assert (ended.code, ended.err) == (0, "")
        assert "This is the fallback, for hosts that don't report PCPU" in ended.out
        assert (found["judged"], found["verdict"]) == ("fallback", "some")
        assert "VCPU%3A2" in found["query"]

    def test_hosts_that_report_pcpu_are_judged_by_the_request(self, site, pins):
        ended = site.run("explain", "--flavor", "pinned")
        found = site.run("explain", "--flavor", "pinned", "-f", "json").json

        assert "This is the request for PCPU" in ended.out
        assert (found["judged"], found["verdict"]) == ("request", "some")
        assert "PCPU%3A2" in found["query"]

    def test_if_neither_fits_the_request_is_explained(self, site, cloud):
        site.guest(flavor=dataclasses.replace(PINNED, vcpus=99))

        found = site.run("explain", "--flavor", "pinned", "-f", "json")
        ended = site.run("explain", "--flavor", "pinned")

        assert (found.code, found.json["judged"], found.json["verdict"]) == (3, "request", "none")
        assert "The fallback, for hosts that don't report PCPU, has no candidate either" in (
            " ".join(ended.out.split())
        )
        assert all(len(line) <= 80 for line in ended.out.splitlines())

    def test_capacity_counts_both(self, site, pins):
        found = site.run("capacity", "--flavor", "pinned", "-f", "json").json
        ended = site.run("capacity", "--flavor", "pinned")

        assert fits(found) == {"pinned": 2, "pinned (fallback)": 6}
        assert "(fallback): on hosts that don't report PCPU, VCPU is asked" in (
            " ".join(ended.out.split())
        )


class TestRefusedFlavors:
    def test_explain_says_why(self, site, cloud):
        site.guest(flavor=REFUSED)

        ended = site.run("explain", "--flavor", "refused")
        found = site.run("explain", "--flavor", "refused", "-f", "json")

        assert (ended.code, ended.err, found.code) == (3, "", 3)
        assert "hw:tpm_version=3 must be one of 1.2, 2.0." in " ".join(ended.out.split())
        assert found.json["verdict"] == "refused"

    def test_capacity_of_the_others_is_counted(self, site, cloud):
        site.guest(flavor=REFUSED)

        ended = site.run("capacity", "--all-flavors")
        found = site.run("capacity", "--all-flavors", "-f", "json").json

        assert ended.code == 0
        assert fits(found) == {"m1.large": 3}
        assert list(found["refused"]) == ["refused"]
        assert "refused: Nova refuses such a guest" in " ".join(ended.out.split())

    def test_capacity_of_refused_flavors_alone_is_3(self, site, cloud):
        site.guest(flavor=REFUSED)

        assert site.run("capacity", "--flavor", "refused").code == 3

    def test_encrypted_memory_is_not_refused_for_an_image_that_nobody_knows(self, site, cloud):
        site.guest(flavor=Flavor(1, 512, 1, name="sev", extra_specs={"hw:mem_encryption": "true"}))

        found = site.run("explain", "--flavor", "sev", "-f", "json").json

        assert "MEM_ENCRYPTION_CONTEXT%3A1" in found["query"]


def test_devices_of_aliases_are_asked_for_as_the_scheduler_does(site, cloud):
    site.configure(more=GPU)
    site.guest(flavor=DEVICES)
    with site.placement() as outsider:
        outsider.call("PUT", "/resource_classes/CUSTOM_PCI_10DE_1EB8", version="1.39")

    found = site.run("explain", "--flavor", "devices", "-f", "json").json

    assert "CUSTOM_PCI_10DE_1EB8%3A1" in found["query"]
    assert found["left_out"] == []
