"""Histories on hosts with cells, dedicated processors, cards, namespaces and pools of disk.

A scheduler is played that asks placement as nova's does. What a guest should hold is the
translation of its flavor, where the hypervisor runs it.
"""

from collections import Counter

from compute.requests.translation import healed_amounts, healed_request
from tests.properties import shapes
from tests.properties.moving_hosts import World

_ON_CELLS = frozenset({"VCPU", "PCPU", "MEMORY_MB"})


class NoValidHost(Exception):
    """The scheduler found no place."""


class ShapedWorld(World):
    """Three hosts of a shape, and perhaps a pool of disk that a fourth one uses, too.

    `used_up` has (host, address) of devices that guests had and nobody wiped.
    """

    device_specs = shapes.DEVICE_SPECS
    devices = shapes.DEVICES

    def __init__(self, new_adapter, settings, folder):
        self.layouts = shapes.SHAPES[settings.shape]
        #: host → which of the layouts it has
        self.stages = Counter()
        self.unplugged = set()
        self.driver_class = shapes.driver_of(
            self.layout, self.unplugged, self._flavor_of, self._cells_of
        )
        self.flavors = list(shapes.FLAVORS)
        if "gpu1" in self.layouts[0]:
            self.flavors += shapes.FAST_FLAVORS
        self.used_up = set()
        super().__init__(new_adapter, settings, folder)

    def new_driver(self, virtapi, conf):
        return self.driver_class(virtapi, conf)

    def layout(self, host):
        """Return the layout of a host with this name."""
        return self.layouts[self.stages[host]]

    def _flavor_of(self, consumer):
        instance = self.cell.instances.by_uuid(consumer)
        return None if instance is None else instance.flavor

    def _cells_of(self, consumer):
        instance = self.cell.instances.by_uuid(consumer)
        topology = None if instance is None else instance.numa_topology
        return [cell["id"] for cell in topology["cells"]] if topology else []

    def _share_storage(self, disk_gb=1000):
        return super()._share_storage(50)

    # The scheduler

    def candidates(self, host, query):
        """Return what placement offers on one host, each provider uuid → class → amount."""
        # Hosts of histories before aren't asked for: there are more of them each time.
        within = f"member_of={self.aggregate}" if self.pool else f"in_tree={host.uuid}"
        found = self.outsider.call("GET", f"/allocation_candidates?{query}&{within}")
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
        pinned = self._has_pcpu(host)
        if not pinned and flavor.extra_specs.get("hw:cpu_policy") == "mixed":
            raise NoValidHost  # nova has a fallback to VCPU for dedicated ones only
        query = [healed_request(flavor, pinned=pinned).to_querystring()]
        devices = self.instance(guest).pci_requests if self.settings.ordered_devices else []
        for number, request in enumerate(devices):
            (spec,) = request["spec"]
            query.append(f"resources_D{number}={spec['resource_class']}:{request['count']}")
            if "traits" in spec:
                query.append(f"required_D{number}=CUSTOM_{spec['traits']}")
        if devices and "group_policy" not in query[0]:
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

    # What should hold

    def check(self):
        super().check()
        owners = {}
        for guest in self.guests.values():
            instance = self.instance(guest)
            if instance.host is None:
                # The record of a shelved guest names what it had.
                continue
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
                should.update(self._amounts(host, flavor))
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
            for suffix, totals in self.layout(host.name).items()
        }
        if self.settings.report_in_placement:
            for device in self.devices:
                (name,) = _device_names(host.name, [device])
                totals = wanted.setdefault(name, {})
                name = device["resource_class"]
                totals[name] = totals.get(name, 0) + 1
        found = {}
        for name, uuid in self._named_providers(host).items():
            assert "OWNER_NOVA" in self.outsider.traits(uuid), f"{name} has no owner"
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
        should = Counter(self._amounts(host, guest.flavor))
        wanted = sum(request["count"] for request in instance.pci_requests)
        assert len(instance.pci_devices) == wanted, f"devices of {guest.uuid}"
        if self.settings.report_in_placement:
            should.update(device["resource_class"] for device in instance.pci_devices)
            held = {name: sum(p.values()) for name, p in by_name.items() if "_0000:" in name}
            assert held == Counter(_device_names(host.name, instance.pci_devices))
        assert total == should, f"{guest.uuid} with {guest.flavor} holds {by_name}"
        if instance.numa_topology and "numa0" in self.layout(host.name):
            cells = {str(cell["id"]) for cell in instance.numa_topology["cells"]}
            assert self._cells(host, found) == cells, f"cells of {guest.uuid}: {by_name}"
        assert ("DISK_GB" in by_name.get("pool", {})) == bool(self.pool and should["DISK_GB"])
        spaces = [one for one in instance.resources if one.resource_class == shapes.PMEM]
        assert len(spaces) == should[shapes.PMEM], f"namespaces of {guest.uuid}"
        if "trait1:CUSTOM_FAST" in guest.flavor.extra_specs:
            assert "VGPU" in by_name[f"{host.name}_gpu1"]

    def _amounts(self, host, flavor):
        return dict(healed_amounts(flavor, pinned=self._has_pcpu(host)))

    def _has_pcpu(self, host):
        return any("PCPU" in totals for totals in self.layout(host.name).values())

    def _device_providers(self, host):
        found = self._named_providers(host)
        return {
            name: self.outsider.totals(uuid) for name, uuid in found.items() if "_0000:" in name
        }

    def _named_providers(self, host):
        return {name: uuid for uuid, name in self._tree(host).items()}


def _device_names(nodename, devices):
    return [f"{nodename}_{d.get('parent_addr', d['address']).upper()}" for d in devices]
