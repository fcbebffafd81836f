"""Bare metal machines through tracker, client and a real service (compute.md §5.6, §6.10)."""

import os
import pathlib
from functools import partial
from uuid import uuid4

import pytest
import yaml

from compute import exceptions
from compute.records.instance import Flavor, Instance
from compute.report.wire.context import admin_context
from compute.service.manager import DriverInitFailed
from virt.ironic import IronicDriver
from virt.ironic.node import IronicNode

GOLD = "CUSTOM_BAREMETAL_GOLD"


class Rack:
    """The machines of a host, kept in its inventory file."""

    def __init__(self, conf):
        self.path = pathlib.Path(conf.ironic.inventory_file)
        self.machines = {}

    def add(self, **fields):
        uuid = str(uuid4())
        self.machines[uuid] = {"uuid": uuid, "resource_class": "baremetal.gold", **fields}
        self.save()
        return uuid

    def change(self, uuid, **fields):
        self.machines[uuid].update(fields)
        self.save()

    def remove(self, uuid):
        del self.machines[uuid]
        self.save()

    def save(self):
        listed = {"nodes": list(self.machines.values())}
        self.path.write_text(yaml.safe_dump(listed, explicit_end=True))


@pytest.fixture
def rack(host):
    return Rack(host.conf)


def reserved(outsider, uuid):
    return outsider.inventory(uuid)[GOLD]["reserved"]


def test_r23_available_in_maintenance_and_with_an_instance(host, rack, outsider):
    available = rack.add()
    maintained = rack.add(maintenance=True)
    used = rack.add(provision_state="active", instance_uuid=str(uuid4()))
    host.start(IronicDriver)
    assert host.outcome.failures == {}
    assert [reserved(outsider, uuid) for uuid in (available, maintained, used)] == [0, 1, 1]
    assert outsider.inventory(available) == {
        GOLD: {
            "total": 1,
            "reserved": 0,
            "min_unit": 1,
            "max_unit": 1,
            "step_size": 1,
            "allocation_ratio": 1.0,
        }
    }


def test_a_machine_is_a_root_provider_with_its_own_uuid_for_a_name(host, rack, outsider):
    uuid = rack.add(traits=["CUSTOM_RAID"])
    host.start(IronicDriver)
    shown = outsider.shown(uuid)
    assert (shown["name"], shown["root_provider_uuid"]) == (uuid, uuid)
    assert outsider.traits(uuid) >= {"CUSTOM_RAID", "COMPUTE_NODE", "OWNER_NOVA"}


def test_an_idle_update_of_many_machines_sends_nothing(host, rack):
    for _ in range(5):
        rack.add()
    host.start(IronicDriver)
    host.adapter.requests.clear()
    host.update()
    assert host.adapter.requests == []


def test_changes_in_the_file_reach_placement_with_the_next_update(host, rack, outsider):
    uuid = rack.add(traits=["CUSTOM_RAID"])
    host.start(IronicDriver)
    rack.change(uuid, maintenance=True, traits=["CUSTOM_FLASH"])
    added = rack.add()
    assert host.update().failures == {}
    assert (reserved(outsider, uuid), reserved(outsider, added)) == (1, 0)
    traits = outsider.traits(uuid)
    assert ("CUSTOM_FLASH" in traits, "CUSTOM_RAID" in traits) == (True, False)


def test_r22_a_machine_that_is_gone_goes_with_its_allocations(host, rack, outsider):
    staying, going = rack.add(), rack.add()
    host.start(IronicDriver)
    kept = outsider.allocate({staying: {GOLD: 1}})
    lost = outsider.allocate({going: {GOLD: 1}})
    rack.remove(going)
    host.update()
    assert (outsider.exists(staying), outsider.exists(going)) == (True, False)
    assert (outsider.allocations(kept), outsider.allocations(lost)) == ({staying: {GOLD: 1}}, {})


def cut_after_the_first_machine(path):
    path.write_text(path.read_text().partition("\n- ")[0] + "\n")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.unlink(),
        lambda path: path.write_text("["),
        lambda path: path.write_bytes(b"\0" * 4096),
        lambda path: os.truncate(path, 2**40),
        cut_after_the_first_machine,
    ],
)
def test_a_file_that_is_gone_or_wrong_takes_no_machine_away(host, rack, outsider, caplog, spoil):
    uuids = [rack.add(), rack.add()]
    host.start(IronicDriver)
    spoil(rack.path)
    outcome = host.update()
    assert sorted(outcome.updated) == sorted(uuids)
    assert all(outsider.exists(uuid) for uuid in uuids)
    assert str(rack.path) in caplog.text


def test_a_file_that_is_wrong_at_the_start_keeps_the_service_from_starting(host, rack, outsider):
    uuid = rack.add()
    rack.path.write_text(rack.path.read_text() * 2)
    with pytest.raises(DriverInitFailed, match=r"baremetal\.yaml"):
        host.start(IronicDriver)
    assert not outsider.exists(uuid)


def test_r22_a_machine_without_class_fails_alone(host, rack, outsider):
    classless, good = rack.add(resource_class=None), rack.add()
    host.start(IronicDriver)
    assert isinstance(host.outcome.failures[classless], exceptions.NoResourceClass)
    assert host.outcome.updated == [good]
    assert outsider.totals(good) == {GOLD: 1}


def test_r22_a_failure_with_one_machine_forgets_only_its_tree(host, rack, outsider):
    refused, good = rack.add(), rack.add()
    host.start(IronicDriver)
    held = outsider.allocate({refused: {GOLD: 1}})
    # Placement refuses it: somebody has the machine by its old class.
    rack.change(refused, resource_class="baremetal.silver")
    rack.change(good, maintenance=True)
    outcome = host.update()
    cache = host.manager.reportclient.cache.tree
    assert isinstance(outcome.failures[refused], exceptions.InventoryInUse)
    assert (outcome.updated, reserved(outsider, good)) == ([good], 1)
    assert (cache.exists(refused), cache.exists(good)) == (False, True)
    assert outsider.allocations(held) == {refused: {GOLD: 1}}


def test_a_restart_finds_the_machines_as_they_were(host, rack, outsider):
    uuids = [rack.add(), rack.add()]
    host.start(IronicDriver)
    host.start(IronicDriver)
    assert host.adapter.writes == []
    assert all(outsider.totals(uuid) == {GOLD: 1} for uuid in uuids)


def test_a_trait_that_goes_while_the_service_is_down_goes_from_placement(host, rack, outsider):
    uuid = rack.add(traits=["CUSTOM_RAID"])
    host.start(IronicDriver)
    outsider.set_traits(uuid, outsider.traits(uuid) | {"CUSTOM_OPERATORS"})
    rack.change(uuid, traits=[])
    host.start(IronicDriver)
    traits = outsider.traits(uuid)
    assert ("CUSTOM_RAID" in traits, "CUSTOM_OPERATORS" in traits) == (False, True)


def test_a_machine_with_an_instance_stays_with_its_host_when_peers_appear(host, rack, outsider):
    instance = Instance(host=host.name, flavor=Flavor(vcpus=1))
    used = rack.add(provision_state="active", instance_uuid=instance.uuid)
    free = [rack.add() for _ in range(20)]
    host.start(IronicDriver)
    instance.node = used
    host.cell.instances.create(instance)
    host.conf.set_override("peer_list", [host.name, "another-host"], group="ironic")
    kept = host.driver.get_available_nodes()
    assert used in kept
    assert 0 < len(set(kept) - {used}) < len(free)
    host.update()
    assert all(outsider.exists(uuid) for uuid in (used, *free))


class Groups:
    """A bare metal service that lists the machines of one conductor group."""

    def __init__(self, *machines):
        self.listed = list(machines)
        self.all = {one.uuid for one in machines}

    def nodes(self):
        return self.listed

    def has(self, uuid):
        return uuid in self.all


def test_a_machine_that_goes_to_another_group_keeps_what_placement_has_of_it(host, outsider):
    machines = [IronicNode(str(uuid4()), resource_class="baremetal.gold") for _ in range(3)]
    stays, moves, dies = (one.uuid for one in machines)
    source = Groups(*machines)
    host.start(partial(IronicDriver, source=source))
    consumer = outsider.allocate({moves: {GOLD: 1}})

    source.listed = machines[:1]
    source.all.discard(dies)
    assert host.update().failures == {}

    assert [outsider.exists(uuid) for uuid in (stays, moves, dies)] == [True, True, False]
    assert outsider.allocations(consumer) == {moves: {GOLD: 1}}


def test_a_machine_that_an_instance_claims_is_reserved_once_the_source_says_so(
    host, rack, outsider
):
    uuid = rack.add()
    host.start(IronicDriver)
    instance = Instance(flavor=Flavor(vcpus=8, memory_mb=1024))
    allocations = {uuid: {"resources": {GOLD: 1}}}
    outsider.allocate({uuid: {GOLD: 1}}, instance.uuid)
    host.manager.rt.instance_claim(admin_context(), instance, uuid, allocations)
    rack.change(uuid, provision_state="active", instance_uuid=instance.uuid)
    assert host.update().failures == {}
    assert reserved(outsider, uuid) == 1
    assert outsider.allocations(instance.uuid) == {uuid: {GOLD: 1}}


def test_deleting_the_service_deletes_all_its_machines(host, rack, outsider):
    uuids = [rack.add() for _ in range(3)]
    host.start(IronicDriver)
    host.manager.delete_service(admin_context())
    assert not any(outsider.exists(uuid) for uuid in uuids)


def test_an_instance_on_a_machine_reported_in_the_former_way_gets_the_whole_machine(
    host, rack, outsider, extensions
):
    instance = str(uuid4())
    used = rack.add(provision_state="active", instance_uuid=instance)
    free = rack.add()
    for uuid in (used, free):
        outsider.provider(name=uuid, uuid=uuid)
        totals = {"VCPU": {"total": 8}, "MEMORY_MB": {"total": 4096}, "DISK_GB": {"total": 100}}
        outsider.set_inventory(uuid, totals)
    other = outsider.provider(inventory={"VCPU": {"total": 8}})
    stranger = outsider.allocate({other: {"VCPU": 2}})
    outsider.allocate(
        {used: {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 100}, other: {"VCPU": 1}}, instance
    )
    host.start(IronicDriver)
    assert host.outcome.failures == {}
    if extensions:
        assert sorted(host.adapter.writes) == sorted(
            ("PUT", f"/berth/v1/provider_trees/{uuid}", "1.36") for uuid in (used, free)
        )
    assert outsider.allocations(instance) == {used: {GOLD: 1}, other: {"VCPU": 1}}
    assert outsider.allocations(stranger) == {other: {"VCPU": 2}}
    assert [outsider.totals(uuid) for uuid in (used, free)] == [{GOLD: 1}] * 2
    assert host.update().failures == {}
    assert [reserved(outsider, uuid) for uuid in (used, free)] == [1, 0]
    host.start(IronicDriver)
    assert host.adapter.writes == []
