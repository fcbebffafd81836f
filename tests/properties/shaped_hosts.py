"""Histories on hosts with cells, dedicated processors, cards, namespaces and pools of disk.

A scheduler is played that asks placement as nova's does, and an operator who wipes devices. What a
guest should hold is the translation of its flavor, where the hypervisor runs it.
"""

import random
from collections import Counter
from contextlib import suppress
from uuid import uuid4

from compute import exceptions
from compute.maintenance.heal.guest_places import DriverPlaces
from compute.maintenance.heal.heal import Healer
from compute.maintenance.heal.ports import NoPorts
from compute.requests.translation import healed_amounts, healed_request
from tests.properties import shapes
from tests.properties.flaky_hosts import ANSWERS_ARE_LOST, CONTEXT
from tests.properties.move_histories import STEPS as PLAIN_STEPS
from tests.properties.move_histories import Player
from tests.properties.moving_hosts import World

#: step → how often it is chosen
STEPS = {
    **PLAIN_STEPS,
    "build": 24,
    "unplug": 2,
    "plug": 3,
    "wipe": 3,
    "somebody takes": 2,
    "somebody leaves": 2,
    "scheduler comes between": 3,
    "heal": 1,
    "lose": 1,
}
_ON_CELLS = frozenset({"VCPU", "PCPU", "MEMORY_MB"})


class NoValidHost(Exception):
    """The scheduler found no place."""


class ShapedWorld(World):
    """Three hosts of a shape, and perhaps a pool of disk that a fourth one uses, too.

    `strangers` are the consumers of others; `used_up` has (host, address) of devices that guests
    had and nobody wiped.
    """

    device_specs = shapes.DEVICE_SPECS
    devices = shapes.DEVICES

    def __init__(self, new_adapter, settings, folder):
        self.layout = shapes.SHAPES[settings.shape]
        self.unplugged = set()
        self.driver_class = shapes.driver_of(settings.shape, self.unplugged)
        self.flavors = list(shapes.FLAVORS)
        if "gpu1" in self.layout:
            self.flavors += shapes.FAST_FLAVORS
        self.strangers, self.used_up = [], set()
        super().__init__(new_adapter, settings, folder)

    def new_driver(self, virtapi, conf):
        return self.driver_class(virtapi, conf)

    def _share_storage(self, disk_gb=1000):
        return super()._share_storage(50)

    # The scheduler

    def candidates(self, host, query):
        """Return what placement offers on one host, each provider uuid → class → amount."""
        found = self.outsider.call("GET", f"/allocation_candidates?{query}")
        usable = set(self._tree(host)) | {self.pool}
        offers = [
            {uuid: part["resources"] for uuid, part in one["allocations"].items()}
            for one in found["allocation_requests"]
        ]
        return sorted(
            (offer for offer in offers if usable.issuperset(offer)),
            key=lambda offer: repr(sorted(offer.items())),
        )

    def schedule(self, guest, host, flavor):
        if not guest.by_scheduler:
            return None
        instance = self.instance(guest)
        query = [healed_request(flavor).to_querystring()]
        if self.settings.ordered_devices:
            for number, request in enumerate(instance.pci_requests):
                (spec,) = request["spec"]
                query.append(f"resources_D{number}={spec['resource_class']}:{request['count']}")
                if "traits" in spec:
                    query.append(f"required_D{number}=CUSTOM_{spec['traits']}")
            if instance.pci_requests and "group_policy" not in query[0]:
                query.append("group_policy=none")
        offers = self.candidates(host, "&".join(query))
        if guest.wants_cells:
            offers = [offer for offer in offers if len(self._cells(host, offer)) < 2]
        if not offers:
            raise NoValidHost
        # Not the first: a tracker would take that.
        given = offers[len(offers) // 2]
        self.outsider.allocate(given, guest.uuid)
        return {uuid: {"resources": part} for uuid, part in given.items()}

    def _cells(self, host, allocations):
        """Return the cells of which processors or memory are allocated."""
        names = self._tree(host)
        return {
            names[uuid].removeprefix(f"{host.name}_numa")
            for uuid, part in allocations.items()
            if "_numa" in names.get(uuid, "") and _ON_CELLS & part.keys()
        }

    def _check_orders(self, host, given, devices):
        names = self._tree(host)
        ordered = Counter(
            {
                names[uuid]: sum(part["resources"].values())
                for uuid, part in (given or {}).items()
                if "_0000:" in names.get(uuid, "")
            }
        )
        assert ordered in (Counter(), Counter(_device_names(host.name, devices)))
        self.used_up |= {
            (host.name, device["address"])
            for device in devices
            if device["address"] in shapes.ONCE and self.settings.report_in_placement
        }

    def build(self, guest, host, fails=False):
        try:
            return super().build(guest, host, fails)
        except NoValidHost:
            self._bury(guest)
            return False

    def unshelve(self, guest, host):
        try:
            super().unshelve(guest, host)
        except NoValidHost:
            with self.changed(guest) as instance:
                instance.task_state = None
        else:
            if guest.phase == "active":
                self._check_orders(host, None, self.instance(guest).pci_devices)

    def start_move(self, guest, host, kind, flavor=None):
        try:
            super().start_move(guest, host, kind, flavor)
        except NoValidHost:
            self._give_up(guest, "error")

    # Others

    def somebody_takes(self, host, chance):
        """Let a stranger allocate something that is free on the host or in the pool."""
        wishes = [{"VCPU": 1}, {"PCPU": 1}, {"VGPU": 1}, {"DISK_GB": 20}]
        if self.settings.report_in_placement:
            wishes += [{"CUSTOM_WHOLE": 1}, {"CUSTOM_FUNCTION": 1}]
        (wish,) = chance.choice(wishes).items()
        if offers := self.candidates(host, f"resources={wish[0]}:{wish[1]}"):
            self.strangers.append(self.outsider.allocate(chance.choice(offers), str(uuid4())))

    def somebody_leaves(self, chance):
        if self.strangers:
            gone = self.strangers.pop(chance.randrange(len(self.strangers)))
            # A tracker that writes all allocations may have removed it already.
            self.outsider.adapter.delete(f"/allocations/{gone}")

    def wipe(self, chance):
        """Let an operator wipe a used device that no guest has."""
        owned = {place for guest in self.guests.values() for place in self._devices(guest)}
        for name, address in sorted(self.used_up - owned):
            uuid = self._named_providers(self.host(name))[f"{name}_{address.upper()}"]
            usages = self.outsider.call("GET", f"/resource_providers/{uuid}/usages")["usages"]
            if not any(usages.values()):
                (item,) = self.outsider.inventory(uuid).items()
                self.outsider.set_inventory(uuid, {item[0]: {**item[1], "reserved": 0}})
                self.used_up.discard((name, address))

    def unplug(self, host, chance):
        """Take a device out. Its guest, if it has one, keeps it in the records."""
        self.unplugged.add((host.name, chance.choice(self.devices)["address"]))
        if host.update():
            self.check_host(host)

    def plug(self):
        self.unplugged.clear()
        for host in self.hosts.values():
            if host.update():
                self.check_host(host)

    def heal(self):
        """Run heal_allocations for every guest, beside the agents and amid all moves."""
        healer = Healer(
            self.conductor, CONTEXT, self.cell, NoPorts(), DriverPlaces("", lambda: None)
        )
        for guest in self.guests.values():
            with suppress(exceptions.NovaException):
                healing = healer.plan(self.instance(guest))
                if healing.writes:
                    healer.apply(healing)

    def lose(self, guest):
        """Let somebody delete all that a guest holds, if the records say where it was."""
        at_once = "numa0" not in self.layout or (
            guest.wants_cells and "VGPU" not in self._amounts(guest.flavor)
        )
        # Of a device that is reserved nothing can be allocated.
        has = {address for _, address in self._devices(guest)}
        if at_once and has.isdisjoint(shapes.ONCE):
            self.outsider.adapter.delete(f"/allocations/{guest.uuid}")
            self.heal()

    # What should hold

    def check(self):
        super().check()
        owners = {}
        for guest in self.guests.values():
            instance = self.instance(guest)
            context = instance.migration_context
            held = {*instance.resources}
            if guest.moves and context is not None:
                held |= {*context.old_resources, *context.new_resources}
            for resource in held:
                other = owners.setdefault(resource, guest.uuid)
                assert other == guest.uuid, f"{resource} has two owners"

    def _check_written(self, host):
        """Assert that the tracker wrote all shares, each with all that its flavor asks for."""
        tree = self._tree(host)
        for guest in self.guests.values():
            should = Counter()
            for flavor in guest.holds.get(host.name, ()):
                should.update(self._amounts(flavor))
            should.update(
                device["resource_class"]
                for at, devices, _ in self._parts(guest)
                for device in devices
                if at == host.name and self.settings.report_in_placement
            )
            found = Counter()
            for uuid, part in self.outsider.allocations(guest.uuid).items():
                if uuid in tree:
                    found.update(part)
            if self.pool:
                del should["DISK_GB"]
            del found["PCI_DEVICE"]
            assert found == should, f"allocations of {guest.uuid} on {host.name}"

    def check_settled(self):
        for host in self.hosts.values():
            self.check_host(host)
            self._check_inventory(host)
        for guest in self.guests.values():
            self._check_guest(guest)

    def _check_inventory(self, host):
        """Assert that totals are what the driver has, and that nobody has more than there is."""
        wanted = {
            f"{host.name}_{suffix}" if suffix else host.name: dict(totals)
            for suffix, totals in self.layout.items()
        }
        if self.settings.report_in_placement:
            for device in self.devices:
                (name,) = _device_names(host.name, [device])
                totals = wanted.setdefault(name, {})
                name = device["resource_class"]
                totals[name] = totals.get(name, 0) + 1
        found = {}
        for name, uuid in self._named_providers(host).items():
            inventory = self.outsider.inventory(uuid)
            found[name] = {c: one["total"] for c, one in inventory.items() if c != "PCI_DEVICE"}
            usages = self.outsider.call("GET", f"/resource_providers/{uuid}/usages")["usages"]
            for resource, amount in usages.items():
                assert amount <= inventory[resource]["total"], f"{resource} of {name} is too full"
            for at, address in self.used_up:
                if name == f"{at}_{address.upper()}":
                    (one,) = inventory.values()
                    assert one["reserved"] == 1, f"{name} is used and not reserved"
        assert found == wanted, f"inventory of {host.name}"

    def _check_guest(self, guest):
        """Assert that a guest holds what its flavor asks for, where it runs."""
        instance = self.instance(guest)
        found = self.outsider.allocations(guest.uuid)
        if instance.host is None:
            assert found == {}, f"{guest.uuid} is on no host"
            return
        host = self.host(instance.host)
        names = self._tree(host) | {self.pool: "pool"}
        by_name = {names.get(uuid, uuid): part for uuid, part in found.items()}
        total = Counter()
        for part in found.values():
            total.update(part)
        del total["PCI_DEVICE"]
        should = Counter(self._amounts(guest.flavor))
        wanted = sum(request["count"] for request in instance.pci_requests)
        assert len(instance.pci_devices) == wanted, f"devices of {guest.uuid}"
        if self.settings.report_in_placement:
            should.update(device["resource_class"] for device in instance.pci_devices)
            held = {name: sum(p.values()) for name, p in by_name.items() if "_0000:" in name}
            assert held == Counter(_device_names(host.name, instance.pci_devices))
        assert total == should, f"{guest.uuid} with {guest.flavor} holds {by_name}"
        if instance.numa_topology and "numa0" in self.layout:
            cells = {str(cell["id"]) for cell in instance.numa_topology["cells"]}
            assert self._cells(host, found) == cells, f"cells of {guest.uuid}: {by_name}"
        assert ("DISK_GB" in by_name.get("pool", {})) == bool(self.pool and should["DISK_GB"])
        spaces = [one for one in instance.resources if one.resource_class == shapes.PMEM]
        assert len(spaces) == should[shapes.PMEM], f"namespaces of {guest.uuid}"
        if "trait1:CUSTOM_FAST" in guest.flavor.extra_specs:
            assert "VGPU" in by_name[f"{host.name}_gpu1"]

    def _amounts(self, flavor):
        return dict(healed_amounts(flavor))

    def _device_providers(self, host):
        found = self._named_providers(host)
        return {
            name: self.outsider.totals(uuid) for name, uuid in found.items() if "_0000:" in name
        }

    def _named_providers(self, host):
        return {name: uuid for uuid, name in self._tree(host).items()}


class ShapedPlayer(Player):
    """Has steps for those who act beside the services, and more guests than there is room for."""

    most_guests = 14

    def _wipe(self, chance):
        self.world.wipe(chance)

    def _somebody_takes(self, chance):
        self.world.somebody_takes(self._host(chance), chance)

    def _somebody_leaves(self, chance):
        self.world.somebody_leaves(chance)

    def _scheduler_comes_between(self, chance):
        host, later = self._host(chance), random.Random(chance.random())
        host.adapter.before_write = lambda: self.world.somebody_takes(host, later)

    def _heal(self, chance):
        self.world.heal()

    def _lose(self, chance):
        if guests := self._guests("active"):
            self.world.lose(chance.choice(guests))

    def _unplug(self, chance):
        self.world.unplug(self._host(chance), chance)

    def _plug(self, chance):
        self.world.plug()

    def _trouble(self, chance):
        self._host(chance).reach(ANSWERS_ARE_LOST)

    def _settle(self, chance):
        self._no_trouble(chance)
        self.world.plug()
        for host in self.world.hosts.values():
            host.adapter.before_write = None
        super()._settle(chance)


def _device_names(nodename, devices):
    return [f"{nodename}_{d.get('parent_addr', d['address']).upper()}" for d in devices]
