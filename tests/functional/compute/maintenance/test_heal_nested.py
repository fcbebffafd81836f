"""`heal_allocations` where the root has not all classes, and where an instance can't be healed."""

import json
from uuid import uuid4

import pytest

from compute.records.instance import Flavor
from compute.report import SchedulerReportClient
from tests.functional.compute.maintenance.site import HOST
from virt.fake import FakeNUMAReshapeDriver, MediumFakeDriver

FLAVOR = Flavor(vcpus=2, memory_mb=1024, root_gb=10)
CELL = {"VCPU": 2, "MEMORY_MB": 1024}


@pytest.fixture
def site(sqlite_site):
    """Use SQLite alone: the rules are about providers, not about databases."""
    return sqlite_site


def guest(site, **fields):
    return site.guest(**({"flavor": FLAVOR} | fields))


def held(site, consumer):
    with site.placement() as outsider:
        return outsider.allocations(consumer)


class TestANodeWithCells:
    @pytest.fixture
    def root(self, site):
        site.configure("fake.FakeNUMAReshapeDriver")
        return site.started(FakeNUMAReshapeDriver)

    @pytest.fixture
    def cells(self, site, root):
        """Return the uuids of the cells, each with 5 VCPU (20 with the ratio) and 4096 MB."""
        with site.placement() as outsider:
            rows = outsider.call("GET", f"/resource_providers?in_tree={root}")
        uuids = {row["name"]: row["uuid"] for row in rows["resource_providers"]}
        return [uuids[f"{HOST}_numa{number}"] for number in range(2)]

    def test_processors_and_memory_go_to_one_cell_and_the_disk_to_the_root(self, site, root, cells):
        instance = guest(site)
        ended = site.run("heal_allocations")
        assert (ended.code, ended.err) == (0, "")
        assert held(site, instance) == {root: {"DISK_GB": 10}, cells[0]: CELL}

    def test_to_the_first_that_has_room_for_all(self, site, root, cells):
        with site.placement() as outsider:
            outsider.allocate({cells[0]: {"MEMORY_MB": 3500}})
        instance = guest(site)
        assert site.run("heal_allocations").code == 0
        assert held(site, instance) == {root: {"DISK_GB": 10}, cells[1]: CELL}

    def test_to_the_cells_that_the_instance_is_on(self, site, root, cells):
        topology = {"cells": [{"id": 1, "vcpus": 2, "memory_mb": 1024}]}
        instance = guest(site, numa_topology=topology)
        assert site.run("heal_allocations").code == 0
        assert held(site, instance) == {root: {"DISK_GB": 10}, cells[1]: CELL}

    def test_what_fits_on_no_cell_is_spread(self, site, root, cells):
        memory = 6000
        instance = guest(site, flavor=Flavor(vcpus=2, memory_mb=memory))
        assert site.run("heal_allocations").code == 0
        found = held(site, instance)
        assert sum(part.get("MEMORY_MB", 0) for part in found.values()) == memory
        assert found.keys() == set(cells)

    def test_by_force_its_own_place_counts_as_free(self, site, root, cells):
        instance = guest(site, flavor=Flavor(vcpus=2, memory_mb=3000))
        with site.placement() as outsider:
            outsider.allocate({cells[0]: {"VCPU": 1, "MEMORY_MB": 3000}}, instance)
        assert site.run("heal_allocations", "--instance", instance, "--force").code == 0
        assert held(site, instance) == {cells[0]: {"VCPU": 2, "MEMORY_MB": 3000}}

    def test_one_that_fits_nowhere_gets_as_much_as_there_is_and_is_told(self, site, root, cells):
        first = guest(site, created_at=1.0)
        second = guest(site, flavor=Flavor(vcpus=2, memory_mb=100000), created_at=2.0)
        ended = site.run("heal_allocations")
        assert (ended.code, ended.err.count("\n")) == (3, 1)
        lacks = 100000 - 2816 - 3840
        assert f"instance {second}: it lacks {lacks} MEMORY_MB: no room for 100000" in ended.err
        assert ended.out == "Processed 2 instances.\n"
        assert held(site, first) == {root: {"DISK_GB": 10}, cells[0]: CELL}
        assert held(site, second) == {
            cells[0]: {"VCPU": 2, "MEMORY_MB": 2816},
            cells[1]: {"MEMORY_MB": 3840},
        }
        assert site.run("heal_allocations").code == 3, "it is told until it lacks nothing"

    def test_a_class_that_no_provider_has_is_told_and_the_others_are_written(
        self, site, root, cells
    ):
        instance = guest(site, flavor=Flavor(vcpus=1, extra_specs={"resources:CUSTOM_X": "1"}))
        ended = site.run("heal_allocations", "--json")
        assert (ended.code, held(site, instance)) == (3, {cells[0]: {"VCPU": 1}})
        assert "it lacks 1 CUSTOM_X: no room for 1 CUSTOM_X (no provider has any)" in ended.err
        (told,) = json.loads(ended.out)["instances"]
        assert (told["result"], told["lacking"]) == ("created", {"CUSTOM_X": 1})

    def test_a_part_that_is_lost_is_written_beside_the_rest(self, site, root, cells):
        instance = guest(site)
        with site.placement() as outsider:
            outsider.allocate({root: {"DISK_GB": 10}}, instance)
        assert site.run("heal_allocations").code == 0
        assert held(site, instance) == {root: {"DISK_GB": 10}, cells[0]: CELL}
        ended = site.run("heal_allocations", "--verbose")
        assert (ended.code, "up-to-date" in ended.out) == (4, True)

    def test_processors_that_an_image_may_have_dedicated_are_right(self, site, root, cells):
        instance = guest(site)
        with site.placement() as outsider:
            own = {"PCPU": {"total": 4}}
            outsider.set_inventory(cells[0], outsider.inventory(cells[0]) | own)
            parts = {root: {"DISK_GB": 10}, cells[0]: {"PCPU": 2, "MEMORY_MB": 1024}}
            outsider.allocate(parts, instance)
        assert site.run("heal_allocations").code == 4
        assert held(site, instance) == parts

    def test_what_is_too_little_grows_where_it_is(self, site, root, cells):
        instance = guest(site)
        with site.placement() as outsider:
            outsider.allocate({root: {"DISK_GB": 10}, cells[1]: {**CELL, "VCPU": 1}}, instance)
        assert site.run("heal_allocations").code == 0
        assert held(site, instance) == {root: {"DISK_GB": 10}, cells[1]: CELL}


class TestANodeWithAPool:
    @pytest.fixture
    def root(self, site):
        return site.started(MediumFakeDriver)

    def test_the_disk_is_the_pool_s_if_the_node_has_none(self, site, root):
        with site.placement() as outsider:
            inventory = outsider.inventory(root)
            del inventory["DISK_GB"]
            outsider.set_inventory(root, inventory)
            aggregate = str(uuid4())
            shares = ["MISC_SHARES_VIA_AGGREGATE"]
            disk = {"DISK_GB": {"total": 500}}
            outsider.set_aggregates(root, [aggregate])
            outsider.provider("other", None, disk, shares, [str(uuid4())])
            pool = outsider.provider("pool", None, disk, shares, [aggregate])
        instance = guest(site)
        assert site.run("heal_allocations").code == 0
        assert held(site, instance) == {root: CELL, pool: {"DISK_GB": 10}}


class TestInstancesThatCanNotBeHealed:
    @pytest.fixture
    def root(self, site):
        return site.started(MediumFakeDriver)

    def test_don_t_keep_others_from_it_and_the_gravest_makes_the_code(self, site, root):
        unsupported = Flavor(vcpus=1, extra_specs={"resources:VGPU": "1"})
        failing = [
            guest(site, flavor=unsupported, created_at=1.0),
            guest(site, host="elsewhere", node="elsewhere", created_at=2.0),
            guest(site, flavor=Flavor(vcpus=1000), created_at=3.0),
        ]
        healed = guest(site, created_at=4.0)
        ended = site.run("heal_allocations", "--verbose")
        assert (ended.code, ended.err.count("\n")) == (3, 3)
        assert all(uuid in line for uuid, line in zip(failing, ended.err.splitlines(), strict=True))
        assert held(site, healed) == {root: {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}}

    @pytest.mark.parametrize("last", ["no record", "unknown device"])
    def test_make_the_code_in_their_order_whoever_comes_last(self, site, root, last):
        profile = Flavor(vcpus=1, extra_specs={"accel:device_profile": "gpu"})
        guest(site, flavor=profile, created_at=1.0 if last == "no record" else 3.0)
        guest(site, host="elsewhere", node="elsewhere", created_at=2.0)
        assert site.run("heal_allocations").code == 2

    @pytest.mark.parametrize("flags", [(), ("--dry-run",)])
    def test_make_the_code_though_others_are_written(self, site, root, flags):
        guest(site, host="elsewhere", node="elsewhere", created_at=1.0)
        guest(site, created_at=2.0)
        assert site.run("heal_allocations", *flags).code == 2

    def test_are_met_again_after_max_count(self, site, root):
        guest(site, host="elsewhere", node="elsewhere", created_at=1.0)
        for created in (2.0, 3.0):
            guest(site, created_at=created)
        codes = [site.run("heal_allocations", "--max-count", "1").code for _ in range(3)]
        assert codes == [1, 1, 2]

    def test_one_whose_consumer_changes_meanwhile_is_told(self, site, root, monkeypatch):
        first, second = guest(site, created_at=1.0), guest(site, created_at=2.0)
        put = SchedulerReportClient.put_allocations

        def disturbed(client, context, consumer, payload):
            if consumer == first:
                with site.placement() as outsider:
                    outsider.allocate({root: {"VCPU": 1}}, first)
            return put(client, context, consumer, payload)

        monkeypatch.setattr(SchedulerReportClient, "put_allocations", disturbed)
        ended = site.run("heal_allocations")
        assert (ended.code, first in ended.err) == (3, True)
        assert held(site, first) == {root: {"VCPU": 1}}
        assert held(site, second)
