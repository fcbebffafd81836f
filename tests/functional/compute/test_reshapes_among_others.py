"""Every reshape, with instances and migrations, and with providers it is no business of.

These are a pool, another host, and an accelerator service's child below the host's own root, with
inventory, traits, aggregates and allocations of the very classes that move.

Whatever moves: each consumer keeps what it has of each class, all of it fits, and what is held
elsewhere stays as it is (compute.md §6.2, R21, R24–R26).
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from uuid import uuid4

import pytest

from compute.records.migration import Migration
from tests.unit.virt.libvirt.older_driver import OlderDriver
from tests.unit.virt.node.hosts import (
    GPUS,
    TYPE,
    KnownHost,
    floating,
    mdev_uuid,
    mediated,
    network_card,
    pinned,
)
from virt.libvirt import LibvirtDriver

HELD = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}
NETWORK = json.dumps({"devname": "ens1", "physical_network": "physnet1"})
RENAMED_OR_NEW = ("PCPU", "CUSTOM_GPU", "SRIOV_NET_VF")
GPU = {"devices__enabled_mdev_types": [TYPE]}


@dataclass(frozen=True)
class Change:
    """What changed between two starts of the service.

    `former` are totals the older driver had on the root besides, `instance` and `migration` what
    these two hold besides HELD. `renamed` is old class → new class, for them alone; `moved` are
    classes that come to the pool.
    """

    before: dict = field(default_factory=dict)
    after: dict = field(default_factory=dict)
    former: dict = field(default_factory=dict)
    instance: dict = field(default_factory=dict)
    migration: dict = field(default_factory=dict)
    renamed: dict = field(default_factory=dict)
    moved: frozenset = frozenset()


CHANGES = {
    "r21 vgpu": Change(after=GPU, former={"VGPU": 3}, instance={"VGPU": 2}),
    "r25 cells": Change(after={"berth__numa_in_placement": True}),
    "r25 no cells": Change(
        before={"berth__numa_in_placement": True}, after={"berth__numa_in_placement": False}
    ),
    "r26 pcpu": Change(
        after={"compute__cpu_shared_set": "0-3", "compute__cpu_dedicated_set": "4-7"},
        renamed={"VCPU": "PCPU"},
    ),
    "memory encryption": Change(
        former={"MEM_ENCRYPTION_CONTEXT": 9},
        instance={"MEM_ENCRYPTION_CONTEXT": 1},
        migration={"MEM_ENCRYPTION_CONTEXT": 1},
    ),
    "r24 rename": Change(
        before={**GPU, "berth__mdev_classes": {TYPE: "CUSTOM_GPU"}},
        after={
            "berth__mdev_classes": {},
            "berth__renamed_resource_classes": {"CUSTOM_GPU": "VGPU"},
        },
        instance={"CUSTOM_GPU": 1},
        migration={"CUSTOM_GPU": 1},
        renamed={"CUSTOM_GPU": "VGPU"},
    ),
    "shared storage": Change(
        after={"berth__report_disk_on_root_when_shared": False}, moved=frozenset({"DISK_GB"})
    ),
}


class Cloud:
    """A host of two cells, three GPUs and a card; another host; a pool they share."""

    def __init__(self, host, outsider):
        self.host, self.outsider = host, outsider
        self.known = KnownHost(
            hostname=host.name,
            creatable={gpu: {TYPE: 1} for gpu in GPUS},
            mediated_devices=mediated(dict(enumerate(GPUS, start=1))),
            pci_devices=tuple(network_card("ens1", 0x90, 4, numa_node=1)),
            encryption_slots={"amd_sev": 9},
        )
        host.conf.set_override("device_spec", [NETWORK], "pci")

    def start(self, options, former=None):
        for name, value in options.items():
            group, _, option = name.rpartition("__")
            self.host.conf.set_override(option, value, group or None)
        driver = LibvirtDriver if former is None else partial(OlderDriver, former=former)
        self.host.start(partial(driver, host_info=self.known))

    def tree(self):
        """name without the host's → uuid"""
        url = f"/resource_providers?in_tree={self.host.uuid}"
        return {
            row["name"].removeprefix(f"{self.host.name}_"): row["uuid"]
            for row in self.outsider.call("GET", url)["resource_providers"]
        }

    def add_neighbours(self):
        aggregate = str(uuid4())
        self.pool = self.outsider.provider(
            inventory={"DISK_GB": {"total": 500}, "IPV4_ADDRESS": {"total": 50}},
            traits=["MISC_SHARES_VIA_AGGREGATE"],
            aggregates=[aggregate],
        )
        self.outsider.set_aggregates(self.host.uuid, [aggregate])
        everything = ("VCPU", "MEMORY_MB", "DISK_GB", "VGPU", "MEM_ENCRYPTION_CONTEXT")
        self.other = self.outsider.provider(
            inventory={name: {"total": 9999} for name in everything}
        )

        self.accelerator = self.outsider.provider(
            name=f"{self.host.name}_accelerator",
            parent=self.host.uuid,
            inventory={name: {"total": 9999} for name in (*everything, *RENAMED_OR_NEW)},
            traits=["CUSTOM_ACCELERATOR", "HW_CPU_X86_AMD_SEV"],
            aggregates=[str(uuid4())],
        )
        self.accelerators_own = self.picture(self.accelerator)

    def picture(self, provider):
        """All there is to the provider but its generation."""
        outsider = self.outsider
        return (
            outsider.shown(provider)["parent_provider_uuid"],
            outsider.inventory(provider),
            outsider.traits(provider),
            outsider.aggregates(provider),
        )

    def add_consumers(self, change):
        """Make an instance that migrates, an evacuated instance, and an unrelated consumer."""
        accelerated = dict.fromkeys(self.accelerators_own[1], 1)
        there = {
            self.other: {**HELD, "VGPU": 1, "MEM_ENCRYPTION_CONTEXT": 1},
            self.accelerator: accelerated,
        }
        address = {self.pool: {"IPV4_ADDRESS": 1}}
        here = {self.accelerator: accelerated}
        self.instance = self.allocate({**HELD, **change.instance}, address, here)
        self.migration = self.migrate(self.instance, {**HELD, **change.migration})
        self.evacuated = self.allocate(HELD, there, address)
        self.stranger = self.outsider.allocate({**there, self.pool: {"DISK_GB": 100}})
        self.consumers = [self.instance, self.migration, self.evacuated, self.stranger]
        devices = [mdev_uuid(1), mdev_uuid(3)] if "VGPU" in change.instance else []
        self.known.there = [
            pinned(self.instance, [6, 7], 1024, cell=1, mediated_devices=devices),
            floating(self.evacuated, 2),
        ]

    def allocate(self, amounts, *more, consumer=None):
        """Hold the amounts of whichever providers of the host have the classes."""
        held = {}
        for name, provider in self.tree().items():
            if name == "accelerator":
                continue
            found = {name: n for name, n in amounts.items() if name in self.totals(provider)}
            if found:
                held[provider] = found
                amounts = {name: n for name, n in amounts.items() if name not in found}
        assert not amounts
        for part in more:
            held |= part
        return self.outsider.allocate(held, consumer)

    def totals(self, provider):
        return self.outsider.totals(provider)

    def migrate(self, instance, amounts):
        migration = Migration(
            instance,
            status="pre-migrating",
            source_compute=self.host.name,
            source_node=self.host.name,
        )
        migration.dest_compute = migration.dest_node = "another"
        self.host.cell.migrations.create(migration)
        return self.allocate(amounts, consumer=migration.uuid)

    def held(self):
        return {one: self.outsider.allocations(one) for one in self.consumers}

    def of_pool(self, places, moved):
        held = places.get(self.pool, {})
        return {name: amount for name, amount in held.items() if name not in moved}

    def overfull(self):
        """Names of the host's providers that give more than they have."""
        found = []
        for name, provider in self.tree().items():
            inventory = self.outsider.inventory(provider)
            usages = self.outsider.call("GET", f"/resource_providers/{provider}/usages")["usages"]
            for resource_class, used in usages.items():
                one = inventory[resource_class]
                if used > (one["total"] - one["reserved"]) * one["allocation_ratio"]:
                    found.append((name, resource_class))
        return found


@pytest.fixture
def cloud(host, outsider):
    return Cloud(host, outsider)


def summed(places, renamed=()):
    total = Counter()
    for amounts in places.values():
        for name, amount in amounts.items():
            total[dict(renamed).get(name, name)] += amount
    return total


@pytest.mark.parametrize(
    "change",
    [
        *(pytest.param(change, id=name) for name, change in CHANGES.items()),
        *(
            pytest.param(CHANGES[name], marks=pytest.mark.one_by_one, id=f"{name}, one by one")
            for name in ("r21 vgpu", "r25 cells", "r24 rename")
        ),
    ],
)
def test_everybody_keeps_what_they_have_and_nothing_moves_that_need_not(cloud, change):
    cloud.start(change.before, change.former)
    cloud.add_neighbours()
    cloud.add_consumers(change)
    before = cloud.held()
    cloud.start(change.after)
    after = cloud.held()

    assert cloud.host.moves() == 1
    ours = {cloud.instance, cloud.migration}
    for consumer in cloud.consumers:
        renamed = change.renamed if consumer in ours else {}
        theirs = {cloud.other, cloud.accelerator}
        here = {p: part for p, part in before[consumer].items() if p not in theirs}
        there = {p: part for p, part in before[consumer].items() if p in theirs}
        assert summed(after[consumer]) == summed(here, renamed) + summed(there)
        assert {p: part for p, part in after[consumer].items() if p in theirs} == there
        of_pool = [cloud.of_pool(held[consumer], change.moved) for held in (before, after)]
        assert of_pool[0] == of_pool[1]
    assert after[cloud.stranger] == before[cloud.stranger]
    assert cloud.picture(cloud.accelerator) == cloud.accelerators_own
    assert cloud.overfull() == []
    cloud.start({})
    assert cloud.host.adapter.writes == []
    assert cloud.held() == after
