"""A cloud in which every maintenance command has something to do, and all who may act in it.

Its host has come back under another uuid: the records know NEW, placement OLD. One of its guests
has all that it needs, one a part, and one nothing. There are leftovers, a burned device, and an
aggregate without the host. The host's driver wants to divide it into cells.
"""

import contextlib
from collections import Counter

from compute import exceptions
from compute.records.aggregate import Aggregate, HostMapping
from compute.records.compute_node import ComputeNode
from compute.records.instance import Flavor
from compute.records.node_identity import FILE_NAME
from tests.functional.compute.maintenance.adopted import NEW, OLD, RACK
from tests.functional.compute.maintenance.site import HOST, INVENTORY
from virt.fake import FakeNUMAReshapeDriver

SHARE = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 20}
FLAVOR = Flavor(vcpus=2, memory_mb=1024, root_gb=20)
LEFT = {"VCPU": 1, "MEMORY_MB": 128}
CARD = "CUSTOM_CARD"
#: what of the host's processors may be free at most: all that no living guest holds at first
MOST_ROOM = 40 - 2 * SHARE["VCPU"]


class Cloud:
    """The cloud at a site. `commands` is name → words, in the order in which all is mended."""

    def __init__(self, site, outsider):
        self.site, self.outsider = site, outsider
        site.configure("fake.FakeNUMAReshapeDriver", "[berth]\nconflict_retry_time = 0\n")
        (site.state / FILE_NAME).write_text(NEW)
        with site.cell() as cell:
            cell.compute_nodes.create(ComputeNode(NEW, HOST, HOST))
            cell.host_mappings.create(HostMapping(HOST, RACK))
            cell.aggregates.create(Aggregate(RACK, "rack", hosts=[HOST]))
        outsider.provider(HOST, None, INVENTORY, uuid=OLD)
        burned = {CARD: {"total": 1, "max_unit": 1, "reserved": 1}}
        self.device = outsider.provider(
            f"{HOST}_0000:81:00.0", OLD, burned, ["HW_PCI_ONE_TIME_USE"]
        )
        other = outsider.provider("host2", None, INVENTORY)
        self.foreign = {outsider.allocate({other: SHARE}): {other: SHARE}}
        self.guests = [self._guest() for _ in range(3)]
        outsider.allocate({OLD: SHARE}, self.guests[0])
        outsider.allocate({OLD: {"DISK_GB": 20, "VCPU": 2}}, self.guests[1])
        deleted = site.guest(deleted=True, flavor=FLAVOR)
        self.leftovers = [outsider.allocate({OLD: LEFT}), outsider.allocate({OLD: LEFT}, deleted)]
        self.claims = []
        http = ("--http",) if hasattr(site, "reference") else ()
        self.commands = {
            "adopt": ("adopt_provider", "--name", HOST, "--uuid", NEW),
            "migrate": ("migrate_compute_inventory", *http),
            "heal": ("heal_allocations",),
            "heal --force": ("heal_allocations", "--instance", self.guests[1], "--force"),
            "audit --delete": ("audit", "--delete"),
            "release": ("devices", "--release", self.device),
            "sync": ("sync_aggregates",),
        }
        self.readers = {
            "audit": ("audit",),
            "heal --dry-run": ("heal_allocations", "--dry-run"),
            "migrate --dry-run": ("migrate_compute_inventory", "--dry-run", *http),
            "devices": ("devices",),
            "drain": ("drain", "--host", HOST, "--plan"),
            "tree": ("tree",),
            "consumers": ("consumers",),
        }
        if not http:
            # OpenStack Placement has nothing that these ask
            self.readers |= {
                "evacuable": ("evacuable", HOST),
                "explain": ("explain", "--query", "resources=VCPU:2"),
                "capacity": ("capacity", "--query", "resources=VCPU:2"),
            }
        self.others = {"agent": self.update, "scheduler": self.claim, "leaver": self.leave}

    def _guest(self):
        return self.site.guest(flavor=FLAVOR, vm_state="active")

    def act(self, name):
        """Have somebody act from beginning to end; a command's exit code."""
        if name in self.others:
            return self.others[name]()
        ended = self.site.run(*(self.commands | self.readers)[name])
        assert ended.code != 255, f"{name}: {ended.err}"
        return ended.code

    def update(self):
        """Start the agent once; before the adoption placement refuses it the name."""
        with contextlib.suppress(exceptions.NovaException):
            self.site.start_service_once(FakeNUMAReshapeDriver)

    def claim(self):
        """Have a scheduler claim for an instance that is being built."""
        found = self.outsider.call("GET", "/allocation_candidates?resources=VCPU:1")
        mine = [
            {uuid: part["resources"] for uuid, part in one["allocations"].items()}
            for one in found["allocation_requests"]
            if not self._is_foreign(one["allocations"])
        ]
        if mine:
            uuid = self.site.guest(vm_state="building", host=None, node=None)
            self.outsider.allocate(mine[0], uuid)
            self.claims.append(uuid)

    def _is_foreign(self, allocations):
        return any(uuid in held for held in self.foreign.values() for uuid in allocations)

    def leave(self):
        """Have the guest that lacks all end, as its owner asked."""
        if len(self.guests) == 3:
            gone = self.guests.pop()
            with self.site.cell() as cell:
                cell.instances.destroy(cell.instances.by_uuid(gone))
            with contextlib.suppress(AssertionError):
                self.outsider.call("DELETE", f"/allocations/{gone}")

    def trees(self):
        """Return uuid → row of the providers that are the host's, under whatever name."""
        rows = self.outsider.call("GET", "/resource_providers")["resource_providers"]
        return {row["uuid"]: row for row in rows if not self._is_foreign([row["uuid"]])}

    def check_room(self):
        """Check that nobody finds more room on the host than it has."""
        free = 0
        for uuid in self.trees():
            record = self.outsider.inventory(uuid).get("VCPU")
            if record:
                used = self.outsider.call("GET", f"/resource_providers/{uuid}/usages")["usages"]
                capacity = (record["total"] - record["reserved"]) * record["allocation_ratio"]
                free += max(0, int(capacity) - used["VCPU"])
        assert free <= MOST_ROOM

    def check_lives(self):
        """Check that nobody who lives has lost anything; who lacked something may have got it."""
        assert self.held(self.guests[0]) == SHARE
        assert self.held(self.guests[1])["VCPU"] == SHARE["VCPU"]
        for consumer, held in self.foreign.items():
            assert self.outsider.allocations(consumer) == held
        for consumer in self.claims:
            assert self.held(consumer) == {"VCPU": 1}

    def held(self, consumer):
        """Return class → amount, of all providers."""
        parts = self.outsider.allocations(consumer).values()
        return dict(sum((Counter(part) for part in parts), Counter()))

    def check_mended(self):
        """Check that the cloud is as it is after all commands, whoever acted beside them."""
        self.check_lives()
        tree = self.trees()
        assert all(row["root_provider_uuid"] == NEW for row in tree.values())
        assert tree[NEW]["name"] == HOST
        for guest in self.guests:
            assert self.outsider.allocations(guest).keys() <= tree.keys()
            assert self.held(guest) == SHARE
        assert all(self.held(one) == {} for one in self.leftovers)
        totals = sum((Counter(self.outsider.totals(uuid)) for uuid in tree), Counter())
        whole = {name: record["total"] for name, record in INVENTORY.items()}
        assert totals == {**whole, CARD: 1}
        assert self.outsider.inventory(self.device)[CARD]["reserved"] == 0
        assert RACK in self.outsider.aggregates(NEW)
