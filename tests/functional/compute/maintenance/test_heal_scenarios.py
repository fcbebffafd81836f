"""`heal_allocations`, the scenarios M8 and M9 of compute.md §9.5, on each kind of database."""

from uuid import uuid4

import pytest

from compute.maintenance.heal.heal import Healer
from compute.records.aggregate import HostMapping
from compute.records.instance import SHELVED_OFFLOADED, Flavor
from compute.report.consumers.allocations import ConsumerAllocations
from tests.functional.compute.maintenance.site import HOST
from tests.offenders import assert_each
from virt.fake import MediumFakeDriver

pytestmark = pytest.mark.spread_over_databases("sqlite")

FLAVOR = Flavor(vcpus=2, memory_mb=1024, root_gb=10, ephemeral_gb=5, swap=1025)
WANTED = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 17}
NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def root(site):
    """Return the provider of the host's node, whose service ran once."""
    return site.started(MediumFakeDriver)


def guest(site, **fields):
    """Record an instance on the host."""
    return site.guest(**({"flavor": FLAVOR} | fields))


def held(site, consumer):
    with site.placement() as outsider:
        return outsider.call("GET", f"/allocations/{consumer}")


class TestM8OneInstance:
    def test_m8_an_instance_without_allocations_gets_those_of_its_flavor(self, site, root):
        instance = guest(site)
        ended = site.run("heal_allocations", "--verbose")
        assert ended.code == 0
        assert ended.out.splitlines() == [
            "Found 1 candidate instances.",
            f"Successfully created allocations for instance {instance}.",
            "Processed 1 instances.",
        ]
        found = held(site, instance)
        assert found["allocations"][root]["resources"] == WANTED
        assert (found["project_id"], found["user_id"]) == ("project", "user")

    def test_m8_a_dry_run_is_4_and_writes_nothing(self, site, root):
        instance = guest(site)
        before = site.rows()
        ended = site.run("heal_allocations", "--dry-run")
        assert ended.code == 4
        assert f"[dry-run] Create allocations for instance {instance}: {{" in ended.out
        assert "Processed 0 instances." in ended.out
        assert site.rows() == before

    def test_m8_a_second_run_is_4(self, site, root):
        instance = guest(site)
        site.run("heal_allocations")
        ended = site.run("heal_allocations", "--verbose")
        assert ended.code == 4
        assert (
            f"The allocation of instance {instance} is up-to-date. Nothing to be healed."
            in ended.out
        )

    def test_m8_another_project_and_user_are_corrected_and_what_lacks_is_added(self, site, root):
        instance = guest(site)
        payload = {
            "allocations": {root: {"resources": {"VCPU": 1}}},
            "project_id": NOBODY,
            "user_id": NOBODY,
            "consumer_generation": None,
        }
        with site.placement() as outsider:
            outsider.call("PUT", f"/allocations/{instance}", payload, version="1.28")
        ended = site.run("heal_allocations", "--verbose")
        assert ended.code == 0
        assert f"Successfully updated allocations for instance {instance}." in ended.out
        found = held(site, instance)
        assert found["allocations"][root]["resources"] == WANTED
        assert (found["project_id"], found["user_id"]) == ("project", "user")

    def test_m8_force_replaces_what_it_has_by_its_flavor_s(self, site, root):
        instance = guest(site)
        with site.placement() as outsider:
            outsider.allocate({root: {"VCPU": 1}}, consumer=instance)
        assert site.run("heal_allocations", "--instance", instance, "--force").code == 0
        assert held(site, instance)["allocations"][root]["resources"] == WANTED

    def test_m8_a_flavor_with_a_virtual_gpu_or_a_device_profile_is_8(self, site, root):
        def check(specs):
            instance = guest(site, flavor=Flavor(vcpus=1, extra_specs=specs))
            ended = site.run("heal_allocations", "--instance", instance)
            assert ended.code == 8
            assert instance in ended.err
            assert held(site, instance)["allocations"] == {}

        specs = ({"resources:VGPU": "1"}, {"resources1:VGPU": "1"}, {"accel:device_profile": "x"})
        assert_each({str(each): (each,) for each in specs}, check)

    def test_m8_bad_flags_are_127(self, site, root):
        guest(site)
        before = site.rows()

        def check(*flags):
            try:
                code = site.run("heal_allocations", *flags).code
            except SystemExit as ended:
                code = ended.code
            assert (code, site.rows()) == (127, before)

        bad = [
            ("--instance", NOBODY, "--cell", NOBODY),
            ("--force",),
            ("--max-count", "0"),
            ("--max-count", "-1"),
            ("--max-count", "x"),
            ("--max-count", "9" * 5000),
            ("--instance", NOBODY),
            ("--cell", str(uuid4())),
            ("--unheard-of",),
        ]
        assert_each({" ".join(flags)[:80]: flags for flags in bad}, check)


class TestWhoIsLeftOut:
    def test_an_instance_on_no_host(self, site, root):
        instance = guest(site, host=None, node=None, vm_state=SHELVED_OFFLOADED)
        ended = site.run("heal_allocations", "--verbose")
        assert (ended.code, f"Instance {instance} is not on a host." in ended.out) == (4, True)

    def test_an_instance_in_the_middle_of_something(self, site, root):
        instance = guest(site, task_state="migrating")
        assert site.run("heal_allocations").code == 4
        assert held(site, instance)["allocations"] == {}

    def test_instances_of_other_cells_than_the_one_asked_for(self, site, root):
        cell_uuid = str(uuid4())
        mine = guest(site)
        other = guest(site, host="host2", node="host2")
        with site.cell() as cell:
            cell.host_mappings.create(HostMapping(HOST, cell_uuid))
        assert site.run("heal_allocations", "--cell", cell_uuid).code == 0
        assert [bool(held(site, each)["allocations"]) for each in (mine, other)] == [True, False]


def test_an_instance_whose_node_has_no_record_is_2(site, root):
    guest(site, host="host2", node="host2")
    ended = site.run("heal_allocations")
    assert (ended.code, "host2" in ended.err) == (2, True)


def test_an_instance_that_doesn_t_fit_is_3_and_told_with_the_reason(site, root):
    instance = guest(site, flavor=Flavor(vcpus=1000, memory_mb=1))
    ended = site.run("heal_allocations")
    assert (ended.code, ended.err.count("\n"), instance in ended.err) == (3, 1, True)
    assert "it lacks 990 VCPU: no room for 1000 VCPU (free: host1 40; at most 10 each)" in ended.err


def test_no_cell_at_all_is_4(sqlite_site):
    sqlite_site.started(MediumFakeDriver)
    ended = sqlite_site.run("heal_allocations")
    said, advice = ended.out.splitlines()
    assert (ended.code, said) == (4, "No cells to process.")
    assert "state_path" in advice


def test_m9_so_many_at_a_time(site, root):
    for _ in range(3):
        guest(site)
    ended = [site.run("heal_allocations", "--max-count", "2") for _ in range(3)]
    assert [each.code for each in ended] == [1, 0, 4]
    assert [each.out.splitlines()[-1] for each in ended] == [
        "Max count reached. Processed 2 instances.",
        "Processed 1 instances.",
        "Processed 0 instances.",
    ]


class TestManyInstances:
    @pytest.fixture
    def read_alone(self, monkeypatch):
        """Return the consumers that were read by a request of their own, as they are read."""
        read = []
        single = ConsumerAllocations.of_consumer

        def noted(self, context, consumer):
            read.append(consumer)
            return single(self, context, consumer)

        monkeypatch.setattr(ConsumerAllocations, "of_consumer", noted)
        return read

    def test_settled_ones_are_read_together(self, site, root, read_alone):
        for _ in range(3):
            guest(site)
        assert site.run("heal_allocations").code == 0
        read_alone.clear()
        new = guest(site)
        assert site.run("heal_allocations").out == "Processed 1 instances.\n"
        assert set(read_alone) == {new}

    def test_one_that_loses_its_allocations_meanwhile_is_healed_by_the_next_run(
        self, site, root, monkeypatch
    ):
        first, second = guest(site), guest(site)
        site.run("heal_allocations")
        site.run("heal_allocations")
        look = Healer.look_at

        def disturbed(self, instances):
            look(self, instances)
            with site.placement() as outsider:
                outsider.call("DELETE", f"/allocations/{second}")

        monkeypatch.setattr(Healer, "look_at", disturbed)
        # what was seen is settled, and a later run finds what is missing now
        assert site.run("heal_allocations").code == 4
        monkeypatch.setattr(Healer, "look_at", look)
        assert site.run("heal_allocations").out == "Processed 1 instances.\n"
        assert held(site, second)["allocations"][root]["resources"] == WANTED
        assert held(site, first)["allocations"]
