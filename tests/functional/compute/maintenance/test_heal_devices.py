"""`heal_allocations` where an instance has devices, or more of them than it should."""

from uuid import uuid4

import pytest

from compute.provider_tree import Resource
from compute.records.instance import RESIZED, MigrationContext
from compute.records.migration import Migration
from compute.report import SchedulerReportClient
from tests.functional.compute.maintenance.drivers import (
    DEVICES,
    MDEVS,
    DeviceHost,
    FlatVGPUHost,
    VGPUHost,
)
from tests.functional.compute.maintenance.healed import (
    FIRST,
    SECOND,
    SIZE,
    THIRD,
    allocate,
    flavor,
    held,
    uuids,
    with_gpu,
)
from tests.functional.compute.maintenance.http_service import described, serving
from tests.functional.compute.maintenance.site import DRIVERS, HOST
from tests.offenders import assert_each
from virt.fake import FakeNUMAReshapeDriver

pytestmark = pytest.mark.spread_over_databases("sqlite")


class TestGPUs:
    @pytest.fixture
    def root(self, site):
        site.configure(f"{DRIVERS}.VGPUHost")
        return site.started(VGPUHost)

    def test_an_instance_gets_those_that_the_driver_says_it_has(self, site, root):
        instance = site.guest(flavor=with_gpu(2))
        devices = {"pci_0000_86_00_0": 1, "pci_0000_85_00_0": 1}
        site.write(MDEVS, {instance: devices})
        before = site.rows()
        told = site.run("heal_allocations", "--dry-run")
        assert (told.code, site.rows()) == (4, before)
        assert f"  {THIRD}: 1 VGPU (its driver says so)\n" in told.out
        ended = site.run("heal_allocations")
        assert (ended.code, ended.err) == (0, "")
        names = uuids(site, root)
        assert held(site, instance) == {
            root: SIZE,
            names[SECOND]: {"VGPU": 1},
            names[THIRD]: {"VGPU": 1},
        }
        assert site.run("heal_allocations").code == 4

    def test_groups_of_the_flavor_count(self, site, root):
        instance = site.guest(flavor=flavor(**{"resources1:VGPU": "1", "resources2:VGPU": "1"}))
        site.write(MDEVS, {instance: {"pci_0000_84_00_0": 1, "pci_0000_85_00_0": 1}})
        assert site.run("heal_allocations").code == 0
        names = uuids(site, root)
        assert held(site, instance)[names[FIRST]] == held(site, instance)[names[SECOND]]

    def test_where_nobody_can_tell_it_is_8_and_nothing_is_written(self, site, root):
        instance, other = site.guest(flavor=with_gpu()), site.guest(flavor=flavor())
        ended = site.run("heal_allocations")
        assert (ended.code, held(site, instance)) == (8, {})
        assert f"instance {instance}: It can't be told where" in ended.err
        assert f"{FIRST}, {SECOND}, {THIRD} have some, and its driver doesn't know" in ended.err
        assert held(site, other) == {root: SIZE}

    def test_a_driver_that_says_another_number_is_8(self, site, root):
        instance = site.guest(flavor=with_gpu())
        site.write(MDEVS, {instance: {"pci_0000_84_00_0": 1, "pci_0000_85_00_0": 1}})
        ended = site.run("heal_allocations")
        assert (ended.code, held(site, instance)) == (8, {})
        assert "its driver says that it has 2, its flavor asks for 1" in ended.err

    def test_a_driver_that_can_t_be_loaded_is_told(self, site, root):
        site.configure("nowhere.Driver")
        instance = site.guest(flavor=with_gpu())
        ended = site.run("heal_allocations")
        assert (ended.code, held(site, instance)) == (8, {})
        assert "nowhere.Driver" in ended.err

    def test_a_driver_is_not_needed_where_no_place_is_asked(self, site, root):
        site.configure("nowhere.Driver")
        instance = site.guest(flavor=flavor())
        assert site.run("heal_allocations").code == 0
        assert held(site, instance) == {root: SIZE}

    def test_the_resources_that_the_record_names_do_without_a_driver(self, site, root):
        site.configure("nowhere.Driver")
        second = uuids(site, root)[SECOND]
        resources = [Resource(second, "VGPU", "mdev-1")]
        instance = site.guest(flavor=with_gpu(), resources=resources)
        assert site.run("heal_allocations").code == 0
        assert held(site, instance)[second] == {"VGPU": 1}

    def test_the_only_card_needs_nobody_who_knows(self, site, root):
        names = uuids(site, root)
        with site.placement() as outsider:
            for name in (FIRST, SECOND):
                outsider.call("DELETE", f"/resource_providers/{names[name]}")
        instance = site.guest(flavor=with_gpu())
        assert site.run("heal_allocations").code == 0
        assert held(site, instance)[names[THIRD]] == {"VGPU": 1}

    def test_a_full_card_is_3_and_the_rest_is_written(self, site, root):
        first = uuids(site, root)[FIRST]
        allocate(site, {first: {"VGPU": 1}}, str(uuid4()))
        instance = site.guest(flavor=with_gpu())
        site.write(MDEVS, {instance: {"pci_0000_84_00_0": 1}})
        ended = site.run("heal_allocations")
        assert (ended.code, held(site, instance)) == (3, {root: SIZE})
        assert f"instance {instance}: it lacks 1 VGPU: " in ended.err

    def test_on_the_root_of_a_host_that_was_not_reshaped(self, site):
        root = site.started(FlatVGPUHost)
        instance = site.guest(flavor=with_gpu())
        assert site.run("heal_allocations").code == 0
        assert held(site, instance) == {root: {**SIZE, "VGPU": 1}}

    def test_one_with_allocations_is_left_as_it_is(self, site, root):
        instance = site.guest(flavor=with_gpu())
        allocation = {root: SIZE, uuids(site, root)[FIRST]: {"VGPU": 1}}
        allocate(site, allocation, instance)
        assert site.run("heal_allocations").code in (0, 4)
        assert held(site, instance) == allocation

    def test_by_force_what_is_on_the_wrong_card_moves(self, site, root):
        names = uuids(site, root)
        instance = site.guest(flavor=with_gpu())
        allocate(site, {root: SIZE, names[FIRST]: {"VGPU": 1}}, instance)
        site.write(MDEVS, {instance: {"pci_0000_85_00_0": 1}})
        assert site.run("heal_allocations", "--instance", instance, "--force").code == 0
        assert held(site, instance) == {root: SIZE, names[SECOND]: {"VGPU": 1}}

    def test_json_says_what_happened_to_each(self, site, root):
        done, failed = site.guest(flavor=with_gpu()), site.guest(flavor=with_gpu())
        site.write(MDEVS, {done: {"pci_0000_85_00_0": 1}})
        ended = site.run("heal_allocations", "--json")
        second = uuids(site, root)[SECOND]
        shown = {one["instance"]: one for one in ended.json["instances"]}
        assert (ended.code, ended.json["processed"], ended.json["dry_run"]) == (8, 1, False)
        assert shown[failed]["result"] == "failed"
        assert "can't be told" in shown[failed]["error"]
        assert shown[done]["result"] == "created"
        assert shown[done]["allocations"][second] == {"resources": {"VGPU": 1}}
        assert shown[done]["providers"][second] == SECOND
        assert shown[done]["reasons"]["VGPU"] == "its driver says so"

    def test_json_of_a_host_without_records_is_json(self, sqlite_site):
        with sqlite_site.placement() as outsider:
            outsider.provider()
        ended = sqlite_site.run("heal_allocations", "--json")
        assert (ended.code, ended.json["instances"]) == (4, [])

    def test_over_http(self, site, root):
        instance = site.guest(flavor=with_gpu())
        site.write(MDEVS, {instance: {"pci_0000_85_00_0": 1}})
        second = uuids(site, root)[SECOND]
        with serving(site.url, roles=["admin", "service"]) as url:
            site.configure(f"{DRIVERS}.VGPUHost", described(url))
            assert site.run("heal_allocations").code == 0
        assert held(site, instance)[second] == {"VGPU": 1}


PCI = {
    "address": "0000:81:00.0",
    "vendor_id": "10de",
    "product_id": "2236",
    "dev_type": "type-PCI",
    "numa_node": 1,
    "status": "available",
    "parent_addr": None,
}
PCI_CLASS = "CUSTOM_PCI_10DE_2236"


class TestPCIDevicesAndCells:
    @pytest.fixture
    def root(self, site):
        site.configure(f"{DRIVERS}.DeviceHost", "[pci]\nreport_in_placement = true\n")
        cards = [PCI, {**PCI, "address": "0000:82:00.0"}]
        site.write(DEVICES, cards)
        return site.started(DeviceHost)

    def mine(self, address="0000:82:00.0"):
        return {**PCI, "address": address, "status": "allocated"}

    def test_the_devices_and_the_cell_are_those_of_the_record(self, site, root):
        instance = site.guest(
            flavor=flavor(),
            numa_topology={"cells": [{"id": 1, "vcpus": 2, "memory_mb": 1024}]},
            pci_devices=[self.mine()],
        )
        assert site.run("heal_allocations").code == 0
        names = uuids(site, root)
        assert held(site, instance) == {
            root: {"DISK_GB": 10},
            names[f"{HOST}_numa1"]: {"VCPU": 2, "MEMORY_MB": 1024},
            names[f"{HOST}_0000:82:00.0"]: {PCI_CLASS: 1},
        }

    def test_a_flavor_that_names_the_class_is_not_given_it_twice(self, site, root):
        instance = site.guest(
            flavor=flavor(**{f"resources:{PCI_CLASS}": "1"}), pci_devices=[self.mine()]
        )
        assert site.run("heal_allocations").code == 0
        names = uuids(site, root)
        assert held(site, instance)[names[f"{HOST}_0000:82:00.0"]] == {PCI_CLASS: 1}
        assert names[f"{HOST}_0000:81:00.0"] not in held(site, instance)

    def test_a_flavor_that_names_the_class_of_an_unknown_device_is_8(self, site, root):
        instance = site.guest(flavor=flavor(**{f"resources:{PCI_CLASS}": "1"}))
        ended = site.run("heal_allocations")
        assert (ended.code, held(site, instance)) == (8, {})

    def test_a_cell_that_is_not_there_is_8(self, site, root):
        instance = site.guest(
            flavor=flavor(), numa_topology={"cells": [{"id": 7, "vcpus": 2, "memory_mb": 1024}]}
        )
        ended = site.run("heal_allocations")
        assert (ended.code, held(site, instance)) == (8, {})
        assert f"its record names {HOST}_numa7, which isn't there" in ended.err

    def test_one_that_was_resized_here_has_its_new_devices(self, site, root):
        instance = site.guest(
            flavor=flavor(), vm_state=RESIZED, pci_devices=[self.mine("0000:81:00.0")]
        )
        with site.cell() as cell:
            migration = Migration(
                instance_uuid=instance,
                source_compute="elsewhere",
                source_node="elsewhere",
                dest_compute=HOST,
                dest_node=HOST,
                status="finished",
                migration_type="resize",
            )
            cell.migrations.create(migration)
            record = cell.instances.by_uuid(instance)
            record.new_flavor = record.flavor
            record.migration_context = MigrationContext(
                migration.id,
                old_pci_devices=[self.mine("0000:81:00.0")],
                new_pci_devices=[self.mine("0000:82:00.0")],
            )
            cell.instances.save(record)
        assert site.run("heal_allocations").code == 0
        names = uuids(site, root)
        assert held(site, instance)[names[f"{HOST}_0000:82:00.0"]] == {PCI_CLASS: 1}
        assert names[f"{HOST}_0000:81:00.0"] not in held(site, instance)

    def test_the_service_that_starts_afterwards_has_nothing_to_change(self, site, root):
        site.guest(flavor=flavor(), pci_devices=[self.mine()])
        assert site.run("heal_allocations").code == 0
        # reserved devices and generations are settled at the first update
        site.start_service_once(DeviceHost)
        before = site.everything()
        site.start_service_once(DeviceHost)
        assert site.everything() == before


class TestMeanwhile:
    @pytest.fixture
    def root(self, site):
        site.configure("fake.FakeNUMAReshapeDriver")
        return site.started(FakeNUMAReshapeDriver)

    def disturb(self, monkeypatch, act, after=False):
        """Do something once, just before (or after) allocations are written."""
        put, done = SchedulerReportClient.put_allocations, []

        def disturbed(client, context, consumer, payload):
            # what it does may write allocations, too
            is_first = not done
            done.append(consumer)
            if is_first and not after:
                act()
            answer = put(client, context, consumer, payload)
            if is_first and after:
                act()
            return answer

        monkeypatch.setattr(SchedulerReportClient, "put_allocations", disturbed)

    def change(self, site, instance, **fields):
        with site.cell() as cell:
            record = cell.instances.by_uuid(instance)
            for name, value in fields.items():
                setattr(record, name, value)
            cell.instances.save(record)

    @pytest.mark.parametrize("after", [False, True])
    @pytest.mark.parametrize(
        "fields",
        [{"deleted": True}, {"host": "elsewhere", "node": "elsewhere"}, {"task_state": "resizing"}],
    )
    def test_an_instance_that_goes_keeps_nothing(self, site, root, monkeypatch, fields, after):
        instance = site.guest(flavor=flavor())
        self.disturb(monkeypatch, lambda: self.change(site, instance, **fields), after)
        ended = site.run("heal_allocations")
        assert (ended.code, held(site, instance)) == (4, {})
        assert f"Instance {instance} changed meanwhile: it is left alone." in ended.out

    def test_one_that_was_changed_before_the_write_is_not_written(self, site, root, monkeypatch):
        instance = site.guest(flavor=flavor())
        plan = SchedulerReportClient.get_allocs_for_consumer

        def deleting(client, context, consumer):
            self.change(site, instance, deleted=True)
            return plan(client, context, consumer)

        monkeypatch.setattr(SchedulerReportClient, "get_allocs_for_consumer", deleting)
        ended = site.run("heal_allocations", "--json")
        assert ended.code == 4
        assert [one["result"] for one in ended.json["instances"]] == ["changed meanwhile"]

    def test_what_the_agent_claims_first_stays(self, site, root, monkeypatch):
        instance = site.guest(flavor=flavor())
        claimed = {root: {"DISK_GB": 10}}
        self.disturb(monkeypatch, lambda: allocate(site, claimed, instance))
        ended = site.run("heal_allocations")
        assert (ended.code, held(site, instance)) == (3, claimed)
        assert instance in ended.err

    def test_of_two_runs_at_once_one_writes(self, site, root, monkeypatch):
        instance = site.guest(flavor=flavor())
        with serving(site.url, roles=["admin", "service"]) as url:
            site.configure("fake.FakeNUMAReshapeDriver", described(url))
            others = []
            self.disturb(monkeypatch, lambda: others.append(site.run("heal_allocations")))
            ended = site.run("heal_allocations")
        assert ([other.code for other in others], ended.code) == ([0], 3)
        total = held(site, instance)
        assert sum(part.get("VCPU", 0) for part in total.values()) == 2

    def test_others_that_fill_the_cell_meanwhile_are_told(self, site, root, monkeypatch):
        instance = site.guest(flavor=flavor())
        cell = uuids(site, root)[f"{HOST}_numa0"]
        self.disturb(monkeypatch, lambda: allocate(site, {cell: {"MEMORY_MB": 3500}}, str(uuid4())))
        ended = site.run("heal_allocations")
        assert (ended.code, held(site, instance)) == (3, {})
        assert site.run("heal_allocations").code == 0
        assert uuids(site, root)[f"{HOST}_numa1"] in held(site, instance)


def test_a_dedicated_processor_is_pcpu_where_the_node_has_such(sqlite_site):
    site = sqlite_site
    root = site.started(FakeNUMAReshapeDriver)
    with site.placement() as outsider:
        cell = uuids(site, root)[f"{HOST}_numa1"]
        outsider.set_inventory(cell, {**outsider.inventory(cell), "PCPU": {"total": 4}})
    site.configure("fake.FakeNUMAReshapeDriver")
    instance = site.guest(
        flavor=flavor(**{"hw:cpu_policy": "dedicated"}),
        numa_topology={"cells": [{"id": 1, "vcpus": 2, "memory_mb": 1024}]},
    )
    assert site.run("heal_allocations").code == 0
    assert held(site, instance)[cell] == {"PCPU": 2, "MEMORY_MB": 1024}


def test_an_instance_on_cells_that_nobody_knows_is_8(sqlite_site):
    site = sqlite_site
    site.started(FakeNUMAReshapeDriver)
    site.configure("fake.FakeNUMAReshapeDriver")

    def check(specs):
        instance = site.guest(flavor=flavor(**specs))
        ended = site.run("heal_allocations", "--instance", instance)
        assert (ended.code, held(site, instance)) == (8, {})
        assert f"{HOST}_numa0, {HOST}_numa1 have some" in ended.err

    confined = [
        {"hw:cpu_policy": "dedicated"},
        {"hw:numa_nodes": "1"},
        {"hw:mem_page_size": "large"},
        {"hw:pmem": "6GB"},
        {"resources:PCPU": "2"},
        {"hw:cpu_policy": "none such"},
    ]
    assert_each({str(specs): (specs,) for specs in confined}, check)


def test_an_instance_that_nova_confines_to_no_cells_goes_where_there_is_room(sqlite_site):
    site = sqlite_site
    root = site.started(FakeNUMAReshapeDriver)
    site.configure("fake.FakeNUMAReshapeDriver")
    cell = uuids(site, root)[f"{HOST}_numa0"]

    def check(specs):
        instance = site.guest(flavor=flavor(**specs))
        ended = site.run("heal_allocations", "--instance", instance)
        found = held(site, instance)
        # the next one finds the same room
        allocate(site, {}, instance)
        assert (ended.code, ended.err, cell in found) == (0, "", True)

    free = [
        {"hw:cpu_policy": "shared"},
        {"hw:cpu_policy": ""},
        {"hw:mem_page_size": "0"},
        {"hw:numa_cpus.0": "0-1"},
        {"accel:device_profile": ""},
    ]
    assert_each({str(specs): (specs,) for specs in free}, check)
