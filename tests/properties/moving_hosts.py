"""Three compute hosts at one placement, and the services that build and move instances on them.

What a conductor and the compute managers do around the tracker's claims is played here, a step at a
time, each with records freshly read, so that anything can happen between two steps. What should be
held where is noted along the way and never asked of the tracker.
"""

from collections import Counter
from contextlib import contextmanager, suppress
from uuid import uuid4

from keystoneauth1.exceptions import ClientException

from compute import config, exceptions
from compute.records.cell_database.memory import MemoryCellDatabase
from compute.records.instance import Instance
from compute.records.migration import Migration
from compute.records.service import Service
from compute.report import SchedulerReportClient
from compute.requests.translation import healed_amounts
from tests.functional.compute.outsider import Outsider
from tests.properties.flaky_hosts import (
    CARD,
    CELL_MEMORY,
    CONTEXT,
    DEVICES,
    FLAVORS,
    FUNCTION,
    REFUSALS,
    RESERVED_MEMORY,
    TASKS,
    WHOLE,
    WHOLE_ONES,
    EquippedDriver,
    Guest,
    Host,
    SpawnFailed,
)


class World:
    """The hosts, their cell, and the guests.

    :param new_adapter: makes adapters that reach placement

    `hosts` are by their first letters, a to c; their names are found nowhere else.
    """

    #: what guests may ask for
    flavors = FLAVORS
    device_specs = (None, {"resource_class": WHOLE}, {"resource_class": FUNCTION})
    #: what a driver lists
    devices = DEVICES
    #: (host, address) of those that were taken out
    unplugged = frozenset()

    def __init__(self, new_adapter, settings, folder):
        self.new_adapter, self.settings = new_adapter, settings
        self.cell = MemoryCellDatabase()
        self.outsider = Outsider(new_adapter())
        self.conductor = SchedulerReportClient(
            new_adapter(), conf=config.load(files=[], environ={}), sleep=lambda seconds: None
        )
        self.guests = {}
        self.hosts = {}
        for letter in "abc":
            name = f"{letter}-{uuid4()}"
            self.cell.services.create(Service(host=name))
            (folder / name).mkdir(parents=True)
            self.hosts[letter] = Host(name, self, folder / name)
        self.pool = self._share_storage() if settings.shared_storage else None

    def new_driver(self, virtapi, conf):
        return EquippedDriver(virtapi, conf)

    def _share_storage(self, disk_gb=1000):
        """Give all hosts one pool of disk, and have them find it."""
        self.aggregate = aggregate = str(uuid4())
        pool = self.outsider.provider(
            inventory={"DISK_GB": {"total": disk_gb}},
            traits=["MISC_SHARES_VIA_AGGREGATE"],
            aggregates=[aggregate],
        )
        for host in self.hosts.values():
            self.outsider.set_aggregates(host.uuid, [aggregate])
            host.tracker.reset()
            host.update()
        return pool

    def host(self, name):
        """Return the host of this name."""
        return next(host for host in self.hosts.values() if host.name == name)

    # Records

    def instance(self, guest):
        return self.cell.instances.by_uuid(guest.uuid)

    def migration(self, guest):
        return self.cell.migrations.by_id(guest.migration)

    @contextmanager
    def changed(self, guest):
        """Yield the instance's record, and save it as it is at the end."""
        instance = self.instance(guest)
        yield instance
        self.cell.instances.save(instance)

    def end(self, guest, status):
        migration = self.migration(guest)
        migration.status = status
        self.cell.migrations.save(migration)

    # What the scheduler and the conductor do in placement

    def schedule(self, guest, host, flavor):
        """Claim for the instance on the host, if that is the scheduler's; return what it got."""
        if not guest.by_scheduler:
            return None
        given = {host.uuid: dict(healed_amounts(flavor))}
        if self.settings.ordered_devices:
            given |= self._last_free_devices(host, self.instance(guest).pci_requests)
        self.outsider.allocate(given, guest.uuid)
        return {uuid: {"resources": part} for uuid, part in given.items()}

    def _last_free_devices(self, host, requests):
        """Return what a scheduler allocates: the last devices, where a tracker takes the first.

        If none is free, none is allocated, as by a scheduler that doesn't know of devices.
        """
        found = {}
        for request in requests:
            wanted = request["spec"][0]["resource_class"]
            for uuid, name in sorted(self._tree(host).items(), key=lambda row: row[1]):
                record = self.outsider.inventory(uuid).get(wanted)
                usage = self.outsider.call("GET", f"/resource_providers/{uuid}/usages")["usages"]
                if name != host.name and record and record["total"] > usage[wanted]:
                    found = {uuid: {wanted: request["count"]}}
        return found

    def _check_orders(self, host, given, devices):
        """Assert that a claim took the devices that were allocated, if any were."""
        names = self._tree(host)
        ordered = Counter(
            {names[uuid]: sum(part["resources"].values()) for uuid, part in (given or {}).items()}
        )
        del ordered[host.name]
        tops = (device.get("parent_addr", device["address"]) for device in devices)
        assert ordered in (Counter(), Counter(f"{host.name}_{top.upper()}" for top in tops))

    def move_to_migration(self, guest):
        if guest.by_scheduler:
            assert self.conductor.move_allocations(CONTEXT, guest.uuid, self.migration(guest).uuid)

    def move_back(self, guest):
        """Give the migration's allocations back to the instance, in place of its own."""
        if guest.by_scheduler:
            assert self.conductor.move_allocations(CONTEXT, self.migration(guest).uuid, guest.uuid)

    def drop_migrations(self, guest):
        if guest.by_scheduler:
            self.conductor.delete_allocation_for_instance(
                CONTEXT, self.migration(guest).uuid, force=True
            )

    # Building and ending

    def create(self, flavor, device_spec=None, cell=False, by_scheduler=False):
        """Return a new instance that is on no host yet."""
        half_a_cell = {"cells": [{"vcpus": 1, "memory_mb": CELL_MEMORY // 2}]}
        instance = Instance(
            project_id="project",
            user_id="user",
            flavor=flavor,
            pci_requests=[{"count": 1, "spec": [device_spec]}] if device_spec else [],
            numa_topology=half_a_cell if cell else None,
        )
        self.cell.instances.create(instance)
        guest = Guest(instance.uuid, by_scheduler, flavor, wants_cells=instance.numa_topology)
        self.guests[guest.uuid] = guest
        return guest

    def build(self, guest, host, fails=False):
        given = self.schedule(guest, host, guest.flavor)
        instance = self.instance(guest)
        instance.task_state = "spawning"
        try:
            with host.tracker.instance_claim(CONTEXT, instance, host.name, given):
                if fails:
                    raise SpawnFailed
        except REFUSALS:
            self._bury(guest)
            return False
        self._check_orders(host, given, instance.pci_devices)
        instance.vm_state, instance.task_state = "active", None
        self.cell.instances.save(instance)
        guest.phase, guest.holds = "active", {host.name: [guest.flavor]}
        return True

    def _bury(self, guest):
        """Delete the record of an instance that couldn't be built, as the API does."""
        if guest.by_scheduler:
            self.conductor.delete_allocation_for_instance(CONTEXT, guest.uuid, force=True)
        self.cell.instances.destroy(self.instance(guest))
        del self.guests[guest.uuid]

    def terminate(self, guest):
        host = self.host(self.instance(guest).host)
        with self.changed(guest) as instance:
            instance.vm_state = "deleted"
        self.cell.instances.destroy(instance)
        host.tracker.update_usage(CONTEXT, instance, host.name)
        if guest.by_scheduler:
            self.conductor.delete_allocation_for_instance(CONTEXT, guest.uuid, force=True)
        del self.guests[guest.uuid]

    def shelve(self, guest):
        """Shelve the instance and take it from its host."""
        host = self.host(self.instance(guest).host)
        with self.changed(guest) as instance:
            instance.vm_state = "shelved_offloaded"
        host.tracker.update_usage(CONTEXT, instance, host.name)
        with suppress(exceptions.AllocationDeleteFailed, ClientException):
            host.tracker.delete_allocation_for_shelve_offloaded_instance(CONTEXT, instance)
        if guest.by_scheduler:
            self.conductor.delete_allocation_for_instance(CONTEXT, guest.uuid, force=True)
        with self.changed(guest) as instance:
            instance.host = instance.node = None
            instance.numa_topology = guest.wants_cells
            instance.pci_devices = []
        guest.phase, guest.holds = "shelved", {}

    def unshelve(self, guest, host):
        """Give a shelved instance a host again; if that fails, it stays shelved."""
        with self.changed(guest) as instance:
            instance.task_state = "spawning"
        given = self.schedule(guest, host, guest.flavor)
        instance = self.instance(guest)
        try:
            host.tracker.instance_claim(CONTEXT, instance, host.name, given)
        except REFUSALS:
            if guest.by_scheduler:
                self.conductor.delete_allocation_for_instance(CONTEXT, guest.uuid, force=True)
            with self.changed(guest) as instance:
                instance.task_state = None
            return
        instance.vm_state, instance.task_state = "active", None
        self.cell.instances.save(instance)
        guest.phase, guest.holds = "active", {host.name: [guest.flavor]}

    # Moves

    def start_move(self, guest, host, kind, flavor=None):
        """Play the conductor's part: make a migration, and claim for it as the scheduler does."""
        instance = self.instance(guest)
        migration = Migration(
            guest.uuid,
            migration_type=kind,
            source_compute=instance.host,
            source_node=instance.node,
        )
        self.cell.migrations.create(migration)
        guest.migration, guest.source, guest.dest = migration.id, instance.host, host.name
        guest.moves_to, guest.phase = flavor or guest.flavor, f"{kind} scheduled"
        with self.changed(guest) as instance:
            instance.task_state = TASKS[kind]
        self.move_to_migration(guest)
        guest.given = self.schedule(guest, host, guest.moves_to)

    def claim_move(self, guest, fails=False):
        """Play the destination's claim."""
        kind = guest.phase.removesuffix(" scheduled")
        host = self.host(guest.dest)
        instance, migration = self.instance(guest), self.migration(guest)
        tracker, given = host.tracker, guest.given
        try:
            if kind == "live-migration":
                claim = tracker.live_migration_claim(
                    CONTEXT, instance, host.name, migration, None, given
                )
            elif kind == "evacuation":
                claim = tracker.rebuild_claim(
                    CONTEXT, instance, host.name, given, migration=migration
                )
            else:
                claim = tracker.resize_claim(
                    CONTEXT, instance, guest.moves_to, host.name, migration, given
                )
            with claim:
                if fails:
                    raise SpawnFailed
        except REFUSALS:
            self._give_up(guest, "error")
            return False
        self._check_orders(host, given, instance.migration_context.new_pci_devices)
        guest.phase = f"{kind} claimed"
        guest.holds.setdefault(guest.dest, []).append(guest.moves_to)
        return True

    def fail_move(self, guest):
        """Let the source fail while the move runs; the destination isn't told."""
        self._give_up(guest, "error")

    def roll_back(self, guest):
        """Let a live migration fail; the destination is told."""
        host = self.host(guest.dest)
        host.tracker.drop_move_claim(CONTEXT, self.instance(guest), host.name)
        self._give_up(guest, "failed")

    def _give_up(self, guest, status):
        self.end(guest, status)
        with self.changed(guest) as instance:
            instance.task_state = None
        self.move_back(guest)
        self._settled(guest, guest.source, guest.flavor)

    def switch(self, guest):
        """Play the source that has sent the guest."""
        with self.changed(guest) as instance:
            instance.task_state = "resize_migrated"
            instance.host, instance.node = guest.dest, guest.dest
        guest.phase = "resize switched"

    def finish(self, guest):
        with self.changed(guest) as instance:
            instance.flavor = instance.new_flavor
            instance.apply_migration_context()
            instance.vm_state, instance.task_state = "resized", None
        self.end(guest, "finished")
        guest.phase = "resized"

    def confirm(self, guest):
        source = self.host(guest.source)
        instance = self.instance(guest)
        source.tracker.drop_move_claim_at_source(CONTEXT, instance, self.migration(guest))
        self.drop_migrations(guest)
        with self.changed(guest) as instance:
            instance.vm_state, instance.old_flavor, instance.new_flavor = "active", None, None
        self._settled(guest, guest.dest, guest.moves_to)

    def revert(self, guest):
        """Play the destination's part of a revert."""
        with self.changed(guest) as instance:
            instance.task_state = "resize_reverting"
        dest = self.host(guest.dest)
        dest.tracker.drop_move_claim_at_dest(CONTEXT, self.instance(guest), self.migration(guest))
        guest.phase, guest.holds = "reverted", {guest.source: [guest.flavor]}

    def finish_revert(self, guest):
        """Play the source's part of a revert."""
        with self.changed(guest) as instance:
            instance.host, instance.node = guest.source, guest.source
            instance.flavor = instance.old_flavor
            instance.old_flavor = instance.new_flavor = None
        self.move_back(guest)
        with self.changed(guest) as instance:
            instance.vm_state, instance.task_state = "active", None
        self._settled(guest, guest.source, guest.flavor)

    def complete(self, guest):
        """Play the end of a live migration or an evacuation."""
        if guest.phase.startswith("evacuation"):
            tracker = self.host(guest.dest).tracker
            tracker.finish_evacuation(self.instance(guest), guest.dest, self.migration(guest))
            with self.changed(guest) as instance:
                instance.task_state = None
        else:
            with self.changed(guest) as instance:
                instance.host, instance.node, instance.task_state = guest.dest, guest.dest, None
                instance.apply_migration_context()
                instance.migration_context = None
            self.end(guest, "completed")
        self.drop_migrations(guest)
        self._settled(guest, guest.dest, guest.moves_to)

    def _settled(self, guest, host, flavor):
        guest.phase, guest.flavor, guest.holds = "active", flavor, {host: [flavor]}
        guest.migration = guest.source = guest.dest = guest.moves_to = None

    # What should hold

    def check(self):
        """Assert at any time that no device has two owners and no cell is overfull."""
        owners = {}
        for guest in self.guests.values():
            for host, address in self._devices(guest):
                other = owners.setdefault((host, address), guest.uuid)
                assert other == guest.uuid, f"{address} of {host} has two owners"
        used = Counter()
        for guest in self.guests.values():
            for host, _, topology in self._parts(guest):
                if host is not None and topology is not None:
                    for cell in topology["cells"]:
                        used[host, cell["id"]] += cell["memory_mb"]
        full = [cell for cell, memory in used.items() if memory > CELL_MEMORY]
        assert not full, f"cells have too many instances: {full}"
        if self.settings.report_in_placement:
            for host in [host for host in self.hosts.values() if host.adapter.wrote]:
                host.adapter.wrote = False
                for name, totals in self._device_providers(host).items():
                    limit = 2 if name.endswith(CARD) else 1
                    assert sum(totals.values()) <= limit, f"{name} has a total of {totals}"

    def check_host(self, host):
        """Assert, after an update that went through, that what is held is counted."""
        held = [
            flavor for guest in self.guests.values() for flavor in guest.holds.get(host.name, ())
        ]
        node = host.node
        should = sum(f.vcpus for f in held), RESERVED_MEMORY + sum(f.memory_mb for f in held)
        assert (node.vcpus_used, node.memory_mb_used) == should, f"usage of {host.name}"
        taken = {place for guest in self.guests.values() for place in self._devices(guest)}
        listed = {(host.name, device["address"]) for device in self.devices} - self.unplugged
        free = sum(pool["count"] for pool in node.pci_device_pools)
        assert free == len(listed - taken), f"free devices of {host.name}"
        if self.settings.allocation_writer == "tracker" and host.trouble is None:
            self._check_written(host)

    def _check_written(self, host):
        """Assert that the tracker wrote all shares, both of a guest that moves within the node."""
        for guest in self.guests.values():
            should = Counter()
            for flavor in guest.holds.get(host.name, ()):
                should.update(dict(healed_amounts(flavor)))
            if self.pool:
                del should["DISK_GB"]
            whole = [a for at, a in self._devices(guest) if at == host.name and a in WHOLE_ONES]
            if whole:
                should["PCI_DEVICE"] = len(whole)
            found = self.outsider.allocations(guest.uuid).get(host.uuid, {})
            assert found == should, f"allocations of {guest.uuid} on {host.name}"

    def check_settled(self):
        """Assert, with no move under way, that placement, trackers and records agree."""
        for host in self.hosts.values():
            self.check_host(host)
        should = {guest.uuid: self._should_hold(guest) for guest in self.guests.values()}
        for host in self.hosts.values():
            for uuid, name in [*self._tree(host).items(), *_named(self.pool)]:
                found = self.outsider.call("GET", f"/resource_providers/{uuid}/allocations")
                holders = {c: part["resources"] for c, part in found["allocations"].items()}
                expected = {c: parts[name] for c, parts in should.items() if name in parts}
                assert holders == expected, f"allocations of {name}"

    def _should_hold(self, guest):
        """Return provider name → class → amount."""
        instance = self.instance(guest)
        amounts = healed_amounts(guest.flavor)
        whole = sum(device["dev_type"] == "type-PCI" for device in instance.pci_devices)
        if whole and self.settings.allocation_writer == "tracker":
            amounts["PCI_DEVICE"] = whole
        parts = {instance.host: amounts} if instance.host else {}
        if self.pool and parts:
            parts[self.pool] = {"DISK_GB": amounts.pop("DISK_GB")}
        if self.settings.report_in_placement:
            for device in instance.pci_devices:
                top = device.get("parent_addr", device["address"])
                part = parts.setdefault(f"{instance.host}_{top.upper()}", {})
                part[device["resource_class"]] = part.get(device["resource_class"], 0) + 1
        wanted = sum(request["count"] for request in instance.pci_requests)
        wanted *= bool(parts)
        assert len(instance.pci_devices) == wanted, f"devices of {guest.uuid}"
        return parts

    def _parts(self, guest):
        """Return (host, devices, topology) of each share, as its claims were given them."""
        instance = self.instance(guest)
        context = instance.migration_context
        if guest.moves and context is not None:
            return [
                (guest.source, context.old_pci_devices, context.old_numa_topology),
                (guest.dest, context.new_pci_devices, context.new_numa_topology),
            ]
        where = guest.source if guest.phase == "reverted" else instance.host
        return [(where, instance.pci_devices, instance.numa_topology)]

    def _devices(self, guest):
        """Return (host, address) of all the devices that the instance has."""
        return {
            (host, device["address"])
            for host, devices, _ in self._parts(guest)
            for device in devices
        }

    def _tree(self, host):
        found = self.outsider.call("GET", f"/resource_providers?in_tree={host.uuid}")
        return {row["uuid"]: row["name"] for row in found["resource_providers"]}

    def _device_providers(self, host):
        return {
            name: self.outsider.totals(uuid)
            for uuid, name in self._tree(host).items()
            if uuid != host.uuid
        }


def _named(pool):
    return [(pool, pool)] if pool else []
