"""`heal_allocations` where an instance holds virtual GPUs more than once."""

import pytest

from compute.records.instance import RESIZED, MigrationContext
from compute.records.migration import Migration
from compute.report import SchedulerReportClient
from tests.functional.compute.maintenance.drivers import (
    MDEVS,
    VGPUHost,
)
from tests.functional.compute.maintenance.healed import (
    FIRST,
    SECOND,
    SIZE,
    allocate,
    held,
    uuids,
    with_gpu,
)
from tests.functional.compute.maintenance.site import DRIVERS, HOST

pytestmark = pytest.mark.spread_over_databases("sqlite")


class TestDoubledGPUs:
    @pytest.fixture
    def root(self, site):
        site.configure(f"{DRIVERS}.VGPUHost")
        return site.started(VGPUHost)

    @pytest.fixture
    def names(self, site, root):
        """Return name → uuid, of a node whose root has VGPU, too."""
        with site.placement() as outsider:
            inventory = outsider.inventory(root)
            outsider.set_inventory(root, {**inventory, "VGPU": {"total": 3}})
        return uuids(site, root)

    def double(self, site, names, *providers, amount=1, **fields):
        """Return an instance that holds a VGPU of each of these and should have `amount`."""
        instance = site.guest(flavor=with_gpu(amount), **fields)
        holds = {names[HOST]: dict(SIZE)}
        for name in providers:
            holds.setdefault(names[name], {})["VGPU"] = 1
        allocate(site, holds, instance)
        return instance, holds

    @pytest.mark.parametrize("others", [HOST, SECOND])
    def test_are_told_and_left_alone(self, site, names, others):
        instance, holds = self.double(site, names, FIRST, others)
        site.write(MDEVS, {instance: {"pci_0000_84_00_0": 1}})
        site.run("heal_allocations", "--skip-port-allocations")
        ended = site.run("heal_allocations")
        assert (ended.code, held(site, instance)) == (9, holds)
        assert f"Instance {instance} holds 2 VGPU, its flavor asks for 1: " in ended.out
        assert f"It has 1 on {FIRST}: its driver says so." in ended.out

    @pytest.mark.parametrize("others", [HOST, SECOND])
    def test_are_mended_when_that_is_asked(self, site, names, others):
        instance, holds = self.double(site, names, FIRST, others)
        site.write(MDEVS, {instance: {"pci_0000_84_00_0": 1}})
        site.run("heal_allocations")
        told = site.run("heal_allocations", "--mend-doubled", "--dry-run")
        assert (told.code, held(site, instance)) == (9, holds)
        ended = site.run("heal_allocations", "--mend-doubled")
        assert (ended.code, ended.err) == (0, "")
        assert "The rest is removed." in ended.out
        assert held(site, instance) == {names[HOST]: SIZE, names[FIRST]: {"VGPU": 1}}
        assert site.run("heal_allocations", "--mend-doubled").code == 4

    def test_are_not_mended_where_nobody_knows(self, site, names):
        instance, holds = self.double(site, names, FIRST, SECOND)
        site.run("heal_allocations")
        ended = site.run("heal_allocations", "--mend-doubled")
        assert (ended.code, held(site, instance)) == (9, holds)
        assert "Which part is right can't be told: its driver doesn't know." in ended.out

    def test_are_not_mended_where_the_driver_names_a_third_card(self, site, names):
        instance, holds = self.double(site, names, FIRST, SECOND)
        site.write(MDEVS, {instance: {"pci_0000_86_00_0": 1}})
        assert site.run("heal_allocations", "--mend-doubled").code in (0, 9)
        assert site.run("heal_allocations", "--mend-doubled").code == 9
        assert held(site, instance) == holds

    def test_two_that_the_flavor_asks_for_are_none(self, site, names):
        self.double(site, names, FIRST, SECOND, amount=2)
        site.run("heal_allocations")
        assert site.run("heal_allocations").code == 4

    def test_what_another_node_has_of_it_is_that_nodes(self, site, names):
        """As while it is evacuated."""
        with site.placement() as outsider:
            elsewhere = outsider.provider("elsewhere", inventory={"VGPU": {"total": 1}})
        self.double(site, {**names, "elsewhere": elsewhere}, FIRST, "elsewhere")
        site.run("heal_allocations")
        assert site.run("heal_allocations").code == 4

    def test_of_an_instance_that_is_resized_on_its_host_are_both_ends(self, site, names):
        instance, _ = self.double(site, names, FIRST, SECOND, vm_state=RESIZED)
        with site.cell() as cell:
            migration = Migration(
                instance_uuid=instance,
                source_compute=HOST,
                source_node=HOST,
                dest_compute=HOST,
                dest_node=HOST,
                status="finished",
                migration_type="resize",
            )
            cell.migrations.create(migration)
            record = cell.instances.by_uuid(instance)
            record.migration_context = MigrationContext(migration.id)
            cell.instances.save(record)
        site.run("heal_allocations")
        assert site.run("heal_allocations").code == 4

    def test_who_changes_the_instance_while_it_is_mended_is_not_undone(
        self, site, names, monkeypatch
    ):
        instance, _ = self.double(site, names, FIRST, SECOND)
        site.write(MDEVS, {instance: {"pci_0000_84_00_0": 1}})
        changed = {names[HOST]: SIZE, names[SECOND]: {"VGPU": 1}}
        put = SchedulerReportClient.put_allocations

        def disturbed(client, context, consumer, payload):
            with site.placement() as outsider:
                generation = outsider.call("GET", f"/allocations/{instance}")["consumer_generation"]
                body = {
                    "allocations": {uuid: {"resources": part} for uuid, part in changed.items()},
                    "project_id": "project",
                    "user_id": "user",
                    "consumer_generation": generation,
                    "consumer_type": "INSTANCE",
                }
                outsider.call("PUT", f"/allocations/{instance}", body)
            return put(client, context, consumer, payload)

        with monkeypatch.context() as patched:
            patched.setattr(SchedulerReportClient, "put_allocations", disturbed)
            ended = site.run("heal_allocations", "--mend-doubled")
        # it is looked at again, and then holds nothing twice
        assert (ended.code, held(site, instance)) == (4, changed)

    def test_json_tells_of_them(self, site, names):
        instance, _ = self.double(site, names, FIRST, SECOND)
        site.write(MDEVS, {instance: {"pci_0000_84_00_0": 1}})
        site.run("heal_allocations")
        (shown,) = site.run("heal_allocations", "--json").json["instances"]
        assert (shown["instance"], shown["result"]) == (instance, "nothing")
        assert shown["doubled"] == [
            {
                "resource_class": "VGPU",
                "asked": 1,
                "held": {names[FIRST]: 1, names[SECOND]: 1},
                "known": {names[FIRST]: 1},
                "reason": "its driver says so",
                "mended": False,
            }
        ]
