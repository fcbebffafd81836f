"""Whole trees and single requests are two ways to the same end (extensions.md 2 and 3)."""

import random
from uuid import UUID

import pytest
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from compute import config
from compute.report import SchedulerReportClient
from tests.functional.compute.outsider import Outsider
from tests.functional.conftest import RecordingAdapter, own_service

CLASSES = ("VCPU", "MEMORY_MB", "VGPU", "CUSTOM_A", "CUSTOM_B")
AGGREGATES = [str(UUID(int=number)) for number in (1, 2, 3)]
TRAITS = ("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "CUSTOM_GOLD", "CUSTOM_SILVER")


class Host:
    """One way: a service of its own, a client of it, and somebody else."""

    def __init__(self, service, whole):
        def adapter():
            return RecordingAdapter(
                Session(
                    auth=Token(service.get_endpoint(), "admin"), session=service.session.session
                ),
                service_type="placement",
                raise_exc=False,
                additional_headers={"x-roles": "admin,service"},
            )

        conf = config.load(files=[], environ={}, overrides={("berth", "whole_trees"): whole})
        self.adapter = adapter()
        self.client = SchedulerReportClient(self.adapter, conf=conf, sleep=lambda seconds: None)
        self.outsider = Outsider(adapter())

    def placement(self):
        """Return all that placement has, without generations."""
        query = (
            "/berth/v1/provider_trees?fields=inventories,traits,aggregates,allocations,consumers"
        )
        shown = self.outsider.call("GET", query)
        providers = {row["uuid"]: row for tree in shown["trees"] for row in tree["providers"]}
        for row in providers.values():
            del row["generation"]
            row["traits"].sort()
            row["aggregates"].sort()
        for held in shown.get("consumers", {}).values():
            del held["consumer_generation"]
            for part in held["allocations"].values():
                del part["generation"]
        return providers, shown.get("consumers", {})

    def cache(self):
        """Return what the client knows; the generations are those of placement."""
        known = self.client.cache.tree
        uuids = known.get_provider_uuids()
        for uuid in uuids:
            assert known.data(uuid).generation == self.outsider.generation(uuid)
        return {uuid: known.data(uuid)._replace(generation=None) for uuid in uuids}


@pytest.fixture
def hosts(tmp_path):
    """Return a Host for each way."""
    (tmp_path / "whole").mkdir()
    (tmp_path / "one by one").mkdir()
    with (
        own_service(tmp_path / "whole", True) as first,
        own_service(tmp_path / "one by one", True) as second,
    ):
        yield [Host(first, True), Host(second, False)]


def uuids(chance):
    return str(UUID(int=chance.getrandbits(128), version=4))


def some_inventory(chance):
    names = chance.sample(CLASSES, chance.randint(0, 3))
    return {name: {"total": chance.randint(4, 64)} for name in names}


def edit(chance, tree, root, aggregates, busy):
    """Change a tree at random; inventories of `busy` providers stay, and so do these."""
    for _ in range(chance.randint(0, 3)):
        parent = chance.choice(tree.get_provider_uuids(root))
        uuid = uuids(chance)
        tree.new_child(f"name-{uuid}", parent, uuid)
    for uuid in tree.get_provider_uuids(root):
        match chance.randint(0, 5):
            case 0 if uuid not in busy:
                tree.update_inventory(uuid, some_inventory(chance))
            case 1:
                tree.update_traits(uuid, chance.sample(TRAITS, chance.randint(0, 3)))
            case 2:
                tree.update_aggregates(uuid, chance.sample(aggregates, chance.randint(0, 2)))
    below = tree.get_provider_uuids(root)[1:]
    free = [uuid for uuid in below if busy.isdisjoint(tree.get_provider_uuids(uuid))]
    if free and chance.random() < 0.4:
        tree.remove(chance.choice(free))


def moved(chance, tree, root, allocations):
    """Move what consumers hold of the tree to where the same class is; return the same."""
    members = set(tree.get_provider_uuids(root))
    for consumer in sorted(allocations):
        held = allocations[consumer]["allocations"]
        for provider, part in list(held.items()):
            for name in list(part["resources"]):
                places = sorted(uuid for uuid in members if name in tree.data(uuid).inventory)
                place = chance.choice(places) if places else None
                amount = part["resources"].pop(name)
                if place is None:
                    tree.update_inventory(
                        root, {**tree.data(root).inventory, name: {"total": 1000}}
                    )
                    place = root
                new = held.setdefault(place, {"resources": {}})["resources"]
                new[name] = new.get(name, 0) + amount
            if not part["resources"]:
                held.pop(provider)
    for consumer in allocations:
        held = allocations[consumer]["allocations"]
        for provider in [uuid for uuid, part in held.items() if not part["resources"]]:
            del held[provider]


@pytest.mark.parametrize(
    "seed",
    # both move what several consumers hold
    [0, 2, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, *range(3, 10)))],
)
def test_both_ways_end_at_the_same_placement_and_the_same_cache(hosts, context, seed):
    root = uuids(random.Random(seed))
    for step in range(5):
        for host in hosts:
            take_step(host, context, random.Random(f"{seed} {step}"), root)
        assert hosts[0].placement() == hosts[1].placement()
        assert hosts[0].cache() == hosts[1].cache()
    whole, single = (len(host.adapter.writes) for host in hosts)
    assert whole <= 5 <= single


def take_step(host, context, chance, root):
    """Edit the root's tree at random, with or without a reshape; then somebody takes a place."""
    client, outsider = host.client, host.outsider
    tree = client.get_provider_subtree(context, root, f"root-{root}", with_sharing=True)
    holders = client.get_holders_in_provider_tree(context, root, is_start=chance.random() < 0.5)
    allocations = None
    if chance.random() < 0.5:
        allocations = client.get_allocations_for_provider_tree(context, root)
        assert allocations.keys() == holders.keys()
        edit(chance, tree, root, AGGREGATES, set())
        moved(chance, tree, root, allocations)
    else:
        edit(chance, tree, root, AGGREGATES, set().union(*holders.values()))
    client.update_from_provider_tree(context, tree, allocations)
    assert client.tree_sync.rehearse(tree, None) == []
    places = [
        (uuid, name)
        for uuid in sorted(tree.get_provider_uuids(root))
        if outsider.exists(uuid)
        for name in sorted(outsider.totals(uuid))
    ]
    if places:
        place, name = chance.choice(places)
        body = {
            "allocations": {place: {"resources": {name: 1}}},
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        outsider.call("PUT", f"/allocations/{uuids(chance)}", body)
        client.clear_provider_cache()
        client.trees.load(context, root)
