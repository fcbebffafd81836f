"""For random hosts and allocations, a reshape loses nothing and overfills nothing."""

import copy
import itertools
import json
from collections import Counter
from dataclasses import dataclass

from hypothesis import event, given
from hypothesis import strategies as st

from compute import config, exceptions
from compute.provider_tree import ProviderTree
from compute.provider_tree.stock import Stock
from tests.unit.virt.conftest import ROOT_UUID as ROOT
from tests.unit.virt.consumers import body, resources, totals, used, uuid
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
from virt.inventory import record
from virt.libvirt import LibvirtDriver
from virt.node.cpu_sets import configured_cpus
from virt.node.facts import NumaNode
from virt.virtapi import NoopVirtAPI

ELSEWHERE, POOL, AGGREGATE = uuid(900), uuid(901), uuid(902)
CARDS = ("ens1", "ens2")
SPECS = [json.dumps({"devname": card, "physical_network": f"net-{card}"}) for card in CARDS]


class Migrations(NoopVirtAPI):
    """Every consumer with an even number is the migration of the one before it."""

    def migrating_instance(self, consumer_uuid):
        number = next((n for n in range(0, 20, 2) if uuid(n) == consumer_uuid), None)
        return None if number is None else uuid(number - 1)


@dataclass
class World:
    """A host with its tree, and what its consumers hold."""

    host: KnownHost
    tree: ProviderTree
    allocations: dict

    def driver(self, options):
        conf = config.load(files=[], environ={}, overrides=options)
        driver = LibvirtDriver(Migrations(), conf, self.host)
        driver.init_host("host1")
        return driver

    def inventories(self):
        return {one: self.tree.data(one).inventory for one in self.tree.get_provider_uuids()}

    def uses(self):
        """Return (provider, class) → amount."""
        held = Counter()
        for places in resources(self.allocations).values():
            for provider, amounts in places.items():
                held.update({(provider, name): amount for name, amount in amounts.items()})
        return held


def options(numa=False, dedicated=None, shared_disk=False, classes="standard"):
    return {
        ("berth", "numa_in_placement"): numa,
        ("berth", "numa_classes"): classes,
        ("berth", "report_disk_on_root_when_shared"): not shared_disk,
        ("compute", "cpu_dedicated_set"): dedicated and ",".join(map(str, dedicated[0])),
        ("compute", "cpu_shared_set"): dedicated and ",".join(map(str, dedicated[1])),
        ("devices", "enabled_mdev_types"): [TYPE],
        ("pci", "device_spec"): SPECS,
        (None, "cpu_allocation_ratio"): 2.0,
        (None, "reserved_host_memory_mb"): 0,
    }


@st.composite
def hosts(draw):
    numbers = itertools.count()
    cells = [
        NumaNode(n, frozenset(itertools.islice(numbers, draw(st.integers(2, 6)))), memory_mb)
        for n, memory_mb in enumerate(draw(st.lists(st.integers(4, 64), min_size=1, max_size=3)))
    ]
    cards = [
        network_card(card, bus, draw(st.integers(1, 4)), draw(st.sampled_from([None, 0, 1])))
        for bus, card in enumerate(CARDS[: draw(st.integers(0, 2))], start=1)
    ]
    return KnownHost(
        cells=cells,
        memory_mb=sum(cell.memory_mb for cell in cells),
        creatable={gpu: {TYPE: 3} for gpu in GPUS[: draw(st.integers(0, 3))]},
        pci_devices=[device for card in cards for device in card],
        encryption_slots={"amd_sev": draw(st.integers(1, 4))},
    )


@st.composite
def worlds(draw):
    """Return a host as an older service reported it, flat or not, with consumers on all of it."""
    world = World(draw(hosts()), ProviderTree(), {})
    world.tree.new_root("host1", ROOT, generation=1)
    world.tree.new_root("pool", POOL, generation=1)
    world.tree.update_inventory("pool", {"DISK_GB": record(5000)})
    world.tree.add_traits("pool", "MISC_SHARES_VIA_AGGREGATE")
    for name in ("pool", "host1"):
        world.tree.add_aggregates(name, AGGREGATE)
    facts = world.host.now
    if draw(st.booleans()):
        world.driver(options(numa=draw(st.booleans()))).update_provider_tree(world.tree, "host1")
    else:
        world.tree.update_inventory(
            "host1",
            {
                "VCPU": record(len(facts.online_cpus), 0, 2.0),
                "MEMORY_MB": record(facts.memory_mb),
                "DISK_GB": record(facts.disk.total_gb),
                "MEM_ENCRYPTION_CONTEXT": record(facts.encryption_slots["amd_sev"]),
            }
            | ({"VGPU": record(3 * len(facts.creatable))} if facts.creatable else {}),
        )
    world.allocations = draw(allocations_of(world))
    world.host.there = [draw(guest_of(world, n)) for n in range(1, 10, 2)]
    give_devices(draw, world)
    return world


@st.composite
def allocations_of(draw, world):
    """Consumers that hold something, within what there is; some hold more elsewhere."""
    stocks = {
        (provider, name): Stock.of(one)
        for provider, inventory in world.inventories().items()
        for name, one in inventory.items()
    }
    found = {}
    for number in range(1, draw(st.integers(2, 9))):
        held = {}
        for provider, name in draw(st.lists(st.sampled_from(list(stocks)), max_size=5)):
            stock = stocks[provider, name]
            # A migration has no mediated devices, and none of its VGPU could be moved.
            usable = name != "VGPU" or (number % 2 and provider == ROOT)
            most = min(stock.free, 1 if name == "MEM_ENCRYPTION_CONTEXT" else 6)
            if most > 0 and usable and name not in held.get(provider, {}):
                amount = draw(st.integers(1, most))
                stock.used += amount
                held.setdefault(provider, {})[name] = amount
        if draw(st.booleans()):
            held[ELSEWHERE] = {"VCPU": 3, "VGPU": 1, "DISK_GB": 7, "SRIOV_NET_VF": 1}
        if held:
            found[uuid(number)] = body(held)
    return found


@st.composite
def guest_of(draw, world, number):
    """Return the guest of a consumer: pinned, with as many processors as it holds; or floating."""
    held = totals(local(world.allocations, world.tree)).get(uuid(number), Counter())
    cpus = sorted(world.host.now.online_cpus)
    vcpus = held["VCPU"]
    if vcpus and vcpus <= len(cpus) and draw(st.booleans()):
        return pinned(uuid(number), draw(st.permutations(cpus))[:vcpus], held["MEMORY_MB"])
    return floating(uuid(number), vcpus or 1, held["MEMORY_MB"])


def give_devices(draw, world):
    """Make the mediated devices that guests hold VGPU for, and give them to them."""
    parents, numbers = {}, itertools.count(1)
    room = dict.fromkeys(world.host.now.creatable, 3)
    for index, guest in enumerate(world.host.there):
        amount = used({guest.uuid: world.allocations.get(guest.uuid, body({}))}, ROOT, "VGPU")
        mine = []
        for _ in range(amount):
            gpu = draw(st.sampled_from(sorted(one for one, left in room.items() if left)))
            room[gpu] -= 1
            mine.append(next(numbers))
            parents[mine[-1]] = gpu
        known = {**vars(guest), "mediated_devices": [mdev_uuid(n) for n in mine]}
        world.host.there[index] = type(guest)(**known)
    creatable = {gpu: {TYPE: left} for gpu, left in room.items()}
    world.host.change(creatable=creatable, mediated_devices=mediated(parents))


def local(allocations, tree):
    """Without what is held elsewhere."""
    return {
        consumer: {
            **one,
            "allocations": {p: r for p, r in one["allocations"].items() if tree.exists(p)},
        }
        for consumer, one in allocations.items()
    }


@st.composite
def next_options(draw, world):
    cpus = sorted(world.host.now.online_cpus)
    dedicated = None
    if draw(st.booleans()):
        at = draw(st.integers(1, len(cpus) - 1))
        dedicated = (cpus[:at], cpus[at:])
    classes = draw(st.sampled_from(["standard", "standard", "numa"]))
    return options(draw(st.booleans()), dedicated, draw(st.booleans()), classes)


def expected_totals(world, has_become_pcpu, dedicated):
    """Totals by consumer; what pinned consumers held as VCPU may have become PCPU."""
    pinned_guests = {guest.uuid for guest in world.host.there if guest.is_pinned(dedicated)}
    migrating = Migrations().migrating_instance
    expected = totals(world.allocations)
    for consumer, amounts in expected.items():
        is_pinned = consumer in pinned_guests or migrating(consumer) in pinned_guests
        if has_become_pcpu and is_pinned:
            here = totals(local({consumer: world.allocations[consumer]}, world.tree))[consumer]
            amounts["PCPU"] += here["VCPU"]
            amounts["VCPU"] -= here["VCPU"]
    return {consumer: +amounts for consumer, amounts in expected.items()}


@given(st.data())
def test_totals_are_preserved_and_nothing_is_overfilled(data):
    world = data.draw(worlds())
    driver = world.driver(data.draw(next_options(world)))
    before = copy.deepcopy(world.allocations)
    uses_before = world.uses()
    dedicated = configured_cpus(driver.conf).dedicated or frozenset()
    had_pinned = any(guest.is_pinned(dedicated) for guest in world.host.there)
    expected = expected_totals(
        world, had_pinned and driver.conf.compute.cpu_dedicated_set is not None, dedicated
    )
    try:
        driver.update_provider_tree(world.tree, "host1")
        event("no reshape")
        return
    except exceptions.ReshapeNeeded:
        pass
    try:
        driver.update_provider_tree(world.tree, "host1", allocations=world.allocations)
    except exceptions.ReshapeFailed:
        event("failed")
        assert world.allocations == before
        return
    event("reshaped")

    assert totals(world.allocations) == expected
    inventories = world.inventories()
    for (provider, name), amount in (world.uses() - uses_before).items():
        whole = uses_before[provider, name] + amount
        assert whole <= Stock.of(inventories[provider][name]).capacity, (provider, name)
    for consumer, places in resources(world.allocations).items():
        assert all(places.values())
        kept = {key: value for key, value in before[consumer].items() if key != "allocations"}
        assert kept.items() <= world.allocations[consumer].items()
        assert places.get(ELSEWHERE) == resources(before)[consumer].get(ELSEWHERE)
    settled = {one: world.tree.data(one) for one in world.tree.get_provider_uuids()}
    driver.update_provider_tree(world.tree, "host1")
    assert {one: world.tree.data(one) for one in world.tree.get_provider_uuids()} == settled
