"""GET /berth/v1/suspects, kind by kind (extensions.md 12)."""

import datetime

import pytest
import sqlalchemy as sa

from placement.extensions.suspects.rules import KINDS
from placement.storage import tables
from tests.functional.placement.extensions.suspects.clouds import (
    age,
    hold,
    hold_untyped,
    of_kind,
    provider,
    release,
    restock,
    suspects,
    timeless,
    told,
    whom,
)

NOTHING = dict.fromkeys(KINDS, 0)


@pytest.fixture
def at_once(new_service):
    """Return a service that waits for no second look."""
    return new_service(berth__suspects_grace=0)


def test_nothing_is_suspicious_in_an_empty_or_a_sound_cloud(service):
    assert suspects(service) == {"suspects": [], "kinds": NOTHING}
    host = provider(service, 1, VCPU=4, MEMORY_MB=100)
    provider(service, 2, "host2", VCPU=4)
    provider(service, 3, "host1_0000:81:00.0", host, ["HW_PCI_ONE_TIME_USE"], PGPU=1)
    hold(service, 1, {host: {"VCPU": 4, "MEMORY_MB": 100}})
    age(service, days=400)
    assert suspects(service) == {"suspects": [], "kinds": NOTHING}


class TestInstancesOnTwoHosts:
    @pytest.fixture
    def hosts(self, service):
        return [provider(service, n, VCPU=8, MEMORY_MB=100, DISK_GB=9) for n in (1, 2)]

    def test_one_is_told_when_it_has_been_so_for_the_grace(self, service, hosts):
        first, second = hosts
        uuid = hold(service, 1, {first: {"VCPU": 1, "MEMORY_MB": 5}, second: {"VCPU": 2}})
        assert of_kind(service, "two_roots") == []
        # far from the grace: the tests may run beside much else
        age(service, seconds=300)
        assert of_kind(service, "two_roots") == []
        then = age(service, seconds=601)
        (found,) = of_kind(service, "two_roots")
        assert found["consumer"] == uuid
        assert found["provider"] == {"uuid": first, "name": "host1"}
        assert found["resource_class"] is None
        assert found["first_seen"] == then
        assert (
            f"1 VCPU, 5 MEMORY_MB of host1 ({first}) and 2 VCPU of host2 ({second})"
            in (found["detail"])
        )
        assert f"nova-manage placement audit --resource_provider {first}" in found["detail"]

    def test_every_service_tells_the_same_also_one_that_just_began(self, service, hosts):
        hold(service, 1, {uuid: {"VCPU": 1} for uuid in hosts})
        age(service, hours=1)
        other = type(service)(service.url)
        assert of_kind(other, "two_roots") == of_kind(service, "two_roots") != []

    def test_a_write_of_the_instance_begins_the_time_anew(self, service, hosts):
        hold(service, 1, {uuid: {"VCPU": 1} for uuid in hosts})
        age(service, hours=1)
        hold(service, 1, {uuid: {"VCPU": 2} for uuid in hosts})
        assert of_kind(service, "two_roots") == []

    def test_what_isn_t_of_one_host_doesn_t_count(self, at_once):
        first, second, third = (provider(at_once, n, VCPU=8, DISK_GB=9) for n in (1, 2, 3))
        child = provider(at_once, 4, "child", first, MEMORY_MB=9)
        hold(at_once, 1, {first: {"VCPU": 1}, second: {"DISK_GB": 1}, child: {"MEMORY_MB": 1}})
        hold(at_once, 2, {second: {"VCPU": 1}, third: {"VCPU": 1}}, kind="VOLUME")
        assert of_kind(at_once, "two_roots") == []

    def test_classes_of_different_trees_count_together(self, at_once):
        first, second = provider(at_once, 1, VCPU=8), provider(at_once, 2, MEMORY_MB=8)
        hold(at_once, 1, {first: {"VCPU": 1}, second: {"MEMORY_MB": 1}})
        assert len(of_kind(at_once, "two_roots")) == 1

    def test_a_migration_of_the_project_on_one_of_the_hosts_explains_it(self, at_once):
        hosts = [provider(at_once, n, VCPU=8) for n in (1, 2, 3)]
        hold(at_once, 1, {uuid: {"VCPU": 1} for uuid in hosts[:2]})
        hold(at_once, 2, {hosts[2]: {"VCPU": 1}}, kind="MIGRATION")
        hold(at_once, 3, {hosts[0]: {"VCPU": 1}}, kind="MIGRATION", project="other")
        assert len(of_kind(at_once, "two_roots")) == 1
        child = provider(at_once, 4, "child", hosts[1], VGPU=1)
        hold(at_once, 4, {child: {"VGPU": 1}}, kind="MIGRATION")
        assert of_kind(at_once, "two_roots") == []

    def test_after_a_migration_that_was_seen_the_grace_begins_anew(self, service, hosts):
        hold(service, 1, {uuid: {"VCPU": 1} for uuid in hosts})
        migration = hold(service, 2, {hosts[0]: {"VCPU": 1}}, kind="MIGRATION")
        age(service, hours=1)
        assert of_kind(service, "two_roots") == []
        release(service, migration)
        assert of_kind(service, "two_roots") == []
        later = service.running.searching.parts.suspects
        then = later._now
        later._now = lambda: then() + datetime.timedelta(seconds=601)
        assert len(of_kind(service, "two_roots")) == 1

    def test_without_times_in_the_rows_a_process_needs_two_looks(self, service, hosts):
        hold(service, 1, {uuid: {"VCPU": 1} for uuid in hosts})
        timeless(service)
        looking = service.running.searching.parts.suspects
        begun = looking._now()
        looking._now = lambda: begun
        assert of_kind(service, "two_roots") == []
        looking._now = lambda: begun + datetime.timedelta(seconds=599)
        assert of_kind(service, "two_roots") == []
        looking._now = lambda: begun + datetime.timedelta(seconds=600)
        assert len(of_kind(service, "two_roots")) == 1

    def test_a_clock_that_is_ahead_gives_no_time_in_the_future(self, at_once):
        hosts = [provider(at_once, n, VCPU=8) for n in (1, 2)]
        hold(at_once, 1, {uuid: {"VCPU": 1} for uuid in hosts})
        age(at_once, hours=-5)
        looking = at_once.running.searching.parts.suspects
        now = looking._now()
        looking._now = lambda: now
        (found,) = of_kind(at_once, "two_roots")
        assert found["first_seen"] == told(now)


def test_a_consumer_without_a_type_is_told_with_what_it_holds(service):
    host = provider(service, 1, VCPU=8, MEMORY_MB=100)
    hold(service, 1, {host: {"VCPU": 1, "MEMORY_MB": 7}})
    uuid = hold_untyped(service, 2, {host: {"VCPU": 2, "MEMORY_MB": 7}})
    then = age(service, days=3)
    (found,) = of_kind(service, "consumer_type_unknown")
    assert found["consumer"] == uuid
    assert found["provider"] == {"uuid": host, "name": "host1"}
    assert f"2 VCPU, 7 MEMORY_MB of host1 ({host})" in found["detail"]
    assert found["first_seen"] == then


def test_a_consumer_without_type_and_allocations_has_no_provider(service):
    host = provider(service, 1, VCPU=8)
    uuid = hold_untyped(service, 1, {host: {"VCPU": 1}})
    service.database.write(lambda c: c.execute(sa.delete(tables.allocations)))
    (found,) = of_kind(service, "consumer_type_unknown")
    assert (found["consumer"], found["provider"]) == (uuid, None)
    assert "It holds nothing." in found["detail"]


def test_what_is_used_beyond_capacity_is_told_for_each_class(service):
    host = provider(service, 1, VCPU=8, MEMORY_MB=100, DISK_GB=5)
    hold(service, 1, {host: {"VCPU": 8, "MEMORY_MB": 50, "DISK_GB": 5}})
    assert of_kind(service, "over_capacity") == []
    restock(
        service,
        host,
        VCPU={"total": 8, "reserved": 7, "allocation_ratio": 1.5},
        MEMORY_MB=49,
        DISK_GB=5,
    )
    then = age(service, minutes=7)
    memory, vcpu = sorted(
        of_kind(service, "over_capacity"), key=lambda found: found["resource_class"]
    )
    assert vcpu["provider"] == {"uuid": host, "name": "host1"}
    assert (vcpu["consumer"], vcpu["resource_class"]) == (None, "VCPU")
    assert (
        "8 of VCPU are allocated, more than there is room for: 1 (total 8, reserved 7, ratio 1.5)"
    ) in vcpu["detail"]
    assert memory["resource_class"] == "MEMORY_MB"
    assert memory["first_seen"] == then


def test_a_device_for_one_use_that_is_in_use_is_not_over_capacity(service):
    """It is kept back as soon as somebody has it: that is right."""
    host = provider(service, 1, VCPU=8)
    devices = [
        provider(service, n, f"host1_0000:81:00.{n}", host, traits, PGPU=1)
        for n, traits in ((2, ["HW_PCI_ONE_TIME_USE"]), (3, []))
    ]
    hold(service, 1, {device: {"PGPU": 1} for device in devices})
    for device in devices:
        restock(service, device, PGPU={"total": 1, "reserved": 1})
    (found,) = of_kind(service, "over_capacity")
    assert found["provider"]["uuid"] == devices[1]


def test_a_drained_host_is_no_suspect_and_one_that_is_half_reserved_is(service):
    """doc/drain.rst: reserve all of it, and it takes nothing new."""
    host = provider(service, 1, VCPU=8, MEMORY_MB=100)
    child = provider(service, 2, "host1_gpu", host, VGPU=2)
    card = provider(service, 3, "host1_card", host, ["HW_PCI_ONE_TIME_USE"], PGPU=1)
    held = {"VCPU": 4, "MEMORY_MB": 50}
    hold(service, 1, {host: held, child: {"VGPU": 1}, card: {"PGPU": 1}})
    reserved = {name: {"total": 100, "reserved": 100} for name in held}
    restock(service, host, **reserved)
    found = of_kind(service, "over_capacity")
    assert sorted(one["resource_class"] for one in found) == ["MEMORY_MB", "VCPU"]
    restock(service, child, VGPU={"total": 2, "reserved": 2})
    assert of_kind(service, "over_capacity") == []


def test_what_is_allocated_without_an_inventory_is_over_capacity(service):
    host = provider(service, 1, VCPU=8, MEMORY_MB=100)
    hold(service, 1, {host: {"VCPU": 3}})
    service.database.write(lambda c: c.execute(sa.delete(tables.inventories)))
    other = type(service)(service.url)
    (found,) = of_kind(other, "over_capacity")
    assert found["detail"].startswith("3 of VCPU are allocated, and there is no inventory of it.")


def test_a_root_is_empty_if_nobody_in_its_tree_has_an_inventory(service):
    full, _empty, _bare = (provider(service, n) for n in (1, 2, 3))
    provider(service, 4, "child of 1", full, VCPU=1)
    provider(service, 5, "child of 3", _bare)
    then = age(service, days=2)
    found = of_kind(service, "empty_root")
    assert whom(found) == ["host2", "host3"]
    assert found[0]["first_seen"] == then


def test_trees_are_untouched_only_if_that_is_asked_for(service, new_service):
    provider(service, 1, VCPU=1)
    age(service, days=3000)
    assert of_kind(service, "untouched") == []
    service = new_service(berth__suspects_untouched_days=30)
    first, _second = (provider(service, n, VCPU=1) for n in (1, 2))
    child = provider(service, 3, "child", first, VGPU=1)
    age(service, days=29)
    assert of_kind(service, "untouched") == []
    then = age(service, days=31)
    assert whom(of_kind(service, "untouched")) == ["host1", "host2"]
    hold(service, 1, {child: {"VGPU": 1}})
    found = of_kind(service, "untouched")
    assert whom(found) == ["host2"]
    assert found[0]["first_seen"] == then


def test_one_device_of_a_host_has_two_owners(service):
    host, other = provider(service, 1), provider(service, 2)
    provider(service, 3, "host1_0000:81:00.0", host)
    provider(service, 4, "host2_0000:81:00.0", other)
    assert of_kind(service, "duplicate_device") == []
    numa = provider(service, 5, "host1_numa1", host)
    libvirts = provider(service, 6, "host1_pci_0000_81_00_0", numa)
    provider(service, 7, "host1_pci_0000_81_00_1", numa)
    (found,) = of_kind(service, "duplicate_device")
    assert found["provider"] == {"uuid": libvirts, "name": "host1_pci_0000_81_00_0"}
    assert "host1_0000:81:00.0 (a0000000" in found["detail"]
    assert "both stand for the PCI device 0000:81:00.0" in found["detail"]


def test_a_device_for_one_use_is_burned_if_it_is_kept_back_and_nobody_holds_it(service):
    host = provider(service, 1, VCPU=1)
    once = ["HW_PCI_ONE_TIME_USE"]
    devices = [
        provider(service, n, f"host1_0000:81:00.{n}", host, traits, PGPU=1)
        for n, traits in ((2, once), (3, once), (4, []), (5, once))
    ]
    hold(service, 1, {devices[1]: {"PGPU": 1}})
    for uuid in devices[:3]:
        restock(service, uuid, PGPU={"total": 1, "reserved": 1})
    (found,) = of_kind(service, "burned_device")
    assert found["provider"]["uuid"] == devices[0]
    assert found["resource_class"] == "PGPU"
    assert f"nova-manage placement devices --release {devices[0]}" in found["detail"]
    restock(service, devices[0], PGPU=1)
    assert of_kind(service, "burned_device") == []


def test_roots_with_names_that_differ_by_domain_or_case_are_alike(service):
    names = ["host1", "host2.example.org", "HOST1.example.org", "host2", "host10", "10.0.0.1"]
    names += ["10.0.0.2", "host1.example.com"]
    for number, name in enumerate(names):
        provider(service, number, name, VCPU=1)
    found = of_kind(service, "alike_names")
    assert whom(found) == ["HOST1.example.org", "host2", "host1.example.com"]
    assert "host1.example.com and host1 (a0000000" in found[2]["detail"]
    child = provider(service, 20, "HOST2.elsewhere", found[0]["provider"]["uuid"])
    assert child
    assert len(of_kind(service, "alike_names")) == 3
