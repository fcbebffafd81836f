"""Who acts beside the services on hosts of a shape: strangers, the operator, an older agent."""

from contextlib import suppress
from uuid import uuid4

from compute import exceptions
from compute.maintenance.heal.guest_places import DriverPlaces
from compute.maintenance.heal.heal import Healer
from compute.maintenance.heal.ports import NoPorts
from tests.properties import shapes
from tests.properties.flaky_hosts import CONTEXT
from tests.properties.shaped_hosts import ShapedWorld


class CrowdedWorld(ShapedWorld):
    """Hosts of a shape, on which others act, too. `strangers` are their consumers."""

    def __init__(self, new_adapter, settings, folder):
        super().__init__(new_adapter, settings, folder)
        self.strangers = []

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
        host = self.host(self.instance(guest).host)
        layout = self.layout(host.name)
        at_once = "numa0" not in layout or (
            guest.wants_cells
            and ("VGPU" in layout[""] or "VGPU" not in self._amounts(host, guest.flavor))
        )
        # Of a device that is reserved nothing can be allocated.
        has = {address for _, address in self._devices(guest)}
        if at_once and has.isdisjoint(shapes.ONCE):
            self.outsider.adapter.delete(f"/allocations/{guest.uuid}")
            self.heal()

    def guests_of(self, host):
        """Return the guests that run on the host and don't move."""
        return [
            guest
            for guest in self.guests.values()
            if guest.phase == "active" and self.instance(guest).host == host.name
        ]

    def may_be_reshaped(self, host):
        """Say whether there is another layout for the host, and no guest of it moves."""
        settled = {"active", "shelved"}
        moving = [guest for guest in self.guests.values() if guest.phase not in settled]
        return (
            self.stages[host.name] + 1 < len(self.layouts)
            and host.trouble is None
            and not any(host.name in (one.source, one.dest) for one in moving)
        )

    def reshape(self, host):
        """Let the operator change the host, and start its service anew.

        If its guests don't fit, the change is taken back.
        """
        self.stages[host.name] += 1
        try:
            host.start()
        except exceptions.ReshapeFailed:
            self.stages[host.name] -= 1
            host.start()

    def older_agent(self, host, chance):
        """Let an agent of the version before run, and then the host's own again.

        It left the children to no owner. Of a guest it wrote what the root provider gives, and no
        processors but VCPU.
        """
        tree = self._tree(host)
        for uuid in tree.keys() - {host.uuid}:
            self.outsider.set_traits(uuid, self.outsider.traits(uuid) - {"OWNER_NOVA"})
        if guests := [guest for guest in self.guests_of(host) if not guest.by_scheduler]:
            self._write_as_before(chance.choice(guests), host, tree)
        host.start()

    def _write_as_before(self, guest, host, tree):
        flavor, root = guest.flavor, self.layout(host.name)[""]
        share = {"VCPU": flavor.vcpus, "MEMORY_MB": flavor.memory_mb, "DISK_GB": flavor.root_gb}
        on_root = {name: n for name, n in share.items() if n and name in root}
        parts = {
            uuid: part
            for uuid, part in self.outsider.allocations(guest.uuid).items()
            if (uuid not in tree and uuid != self.pool) or "_0000:" in tree.get(uuid, "")
        }
        with suppress(AssertionError):  # there may be no room for its wrong amounts
            self.outsider.allocate({**parts, host.uuid: on_root} if on_root else parts, guest.uuid)
