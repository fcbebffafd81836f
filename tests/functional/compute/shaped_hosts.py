"""A host whose providers a test lays out, and guests for it."""

from compute.provider_tree import Resource
from compute.records.instance import Flavor, Instance
from compute.records.migration import Migration
from compute.report.wire.context import admin_context
from virt.fake import MediumFakeDriver
from virt.inventory import record

CONTEXT = admin_context()
WRITERS = ("auto", "tracker")


def cells(vcpus=10, memory_mb=4096, disk_gb=1000, **more):
    """Return a layout of two NUMA cells; `more` is what each has besides."""
    cell = {"VCPU": vcpus, "MEMORY_MB": memory_mb, **more}
    return {"": {"DISK_GB": disk_gb}, "numa0": cell, "numa1": cell}


class ShapedHost:
    """A host with the providers of `layout`: suffix of the name → class → total; "": the root.

    `traits` is suffix → traits, `names` suffix → class → names of its resources, `places` guest →
    suffix → class → amount, as the hypervisor knows them.
    """

    def __init__(self, host, outsider, writer, layout):
        self.host, self.outsider, self.layout = host, outsider, layout
        self.traits, self.names, self.aggregates, self.places = {}, {}, [], {}
        host.conf.set_override("allocation_writer", writer, "compute")
        self.start()

    @property
    def rt(self):
        return self.host.manager.rt

    @property
    def name(self):
        return self.host.name

    def start(self):
        """Start the service, or start it again: then allocations may be moved by a reshape."""
        shaped = self

        class Driver(MediumFakeDriver):
            def update_provider_tree(self, tree, nodename, allocations=None):
                tree.update_aggregates(nodename, shaped.aggregates)
                for suffix, totals in shaped.layout.items():
                    name = f"{nodename}_{suffix}" if suffix else nodename
                    if not tree.exists(name):
                        tree.new_child(name, nodename)
                    tree.update_inventory(name, {c: record(n) for c, n in totals.items()})
                    uuid = tree.data(name).uuid
                    named = {
                        one: {Resource(uuid, one, each) for each in names}
                        for one, names in shaped.names.get(suffix, {}).items()
                    }
                    tree.update_resources(name, named)
                    tree.add_traits(name, *shaped.traits.get(suffix, ()))

            def places_of_guest(self, tree, nodename, consumer, resources):
                places = shaped.places.get(consumer, {})
                return {tree.data(f"{nodename}_{one}").uuid: dict(p) for one, p in places.items()}

        self.host.start(Driver)

    def update(self):
        """Update as the agent does; nothing may fail."""
        assert self.host.update().failures == {}

    def guest(self, vcpus=2, memory_mb=512, root_gb=1, specs=None, **fields):
        """Return a recorded guest."""
        flavor = Flavor(vcpus, memory_mb, root_gb, extra_specs=specs or {})
        fields = {"project_id": "project", "user_id": "user", "flavor": flavor, **fields}
        instance = Instance(**fields)
        self.host.cell.instances.create(instance)
        return instance

    def running(self, **fields):
        """Return a guest that is on the host, as the records know, and was never claimed."""
        return self.guest(host=self.name, node=self.name, vm_state="active", **fields)

    def claim(self, instance, given=None):
        """Claim for the guest, which is active then."""
        self.rt.instance_claim(CONTEXT, instance, self.name, given)
        instance.vm_state = "active"
        self.host.cell.instances.save(instance)
        return instance

    def claimed(self, **fields):
        """Return a guest that is claimed without allocations."""
        return self.claim(self.guest(**fields))

    def resized(self, guest, given=None, **fields):
        """Begin a resize on this host; return the claim."""
        guest.task_state = "resize_prep"
        self.host.cell.instances.save(guest)
        flavor = self.guest(**fields).flavor
        return self.rt.resize_claim(CONTEXT, guest, flavor, self.name, None, given)

    def confirm(self, guest, claim):
        """End the resize: the guest has its new flavor."""
        guest.flavor, guest.vm_state, guest.task_state = guest.new_flavor, "resized", None
        self.host.cell.instances.save(guest)
        self.rt.drop_move_claim_at_source(CONTEXT, guest, claim.migration)
        self._is_active(guest)

    def revert(self, guest, claim):
        """End the resize: the guest keeps its old flavor."""
        guest.vm_state, guest.task_state = "resized", "resize_reverting"
        self.host.cell.instances.save(guest)
        self.rt.drop_move_claim_at_dest(CONTEXT, guest, claim.migration)
        self._is_active(guest)

    def comes(self, guest, kind):
        """Claim for a guest that comes from another host."""
        guest.host = guest.node = "elsewhere"
        guest.task_state = "migrating" if kind == "live-migration" else "rebuilding"
        self.host.cell.instances.save(guest)
        migration = Migration(
            guest.uuid, migration_type=kind, source_compute="elsewhere", source_node="elsewhere"
        )
        self.host.cell.migrations.create(migration)
        if kind == "live-migration":
            return self.rt.live_migration_claim(CONTEXT, guest, self.name, migration, None, None)
        return self.rt.rebuild_claim(CONTEXT, guest, self.name, None, migration=migration)

    def _is_active(self, guest):
        guest.vm_state, guest.task_state = "active", None
        guest.old_flavor = guest.new_flavor = None
        self.host.cell.instances.save(guest)
        self.update()

    def uuid(self, suffix=""):
        """Return the uuid of a provider."""
        found = self.outsider.call("GET", f"/resource_providers?in_tree={self.host.uuid}")
        names = {row["name"]: row["uuid"] for row in found["resource_providers"]}
        return names[f"{self.name}_{suffix}" if suffix else self.name]

    def held(self, consumer):
        """Return suffix of a provider of the tree → what the consumer has of it; others by uuid."""
        found = self.outsider.call("GET", f"/resource_providers?in_tree={self.host.uuid}")
        names = {row["uuid"]: row["name"] for row in found["resource_providers"]}
        return {
            names.get(uuid, uuid).removeprefix(self.name).removeprefix("_"): part
            for uuid, part in self.outsider.allocations(getattr(consumer, "uuid", consumer)).items()
        }

    def allocate(self, consumer, parts):
        """Play somebody else, who allocates: suffix of a provider → class → amount."""
        allocations = {self.uuid(suffix): part for suffix, part in parts.items()}
        self.outsider.allocate(allocations, getattr(consumer, "uuid", consumer))
