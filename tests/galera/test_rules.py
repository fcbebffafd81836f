"""Rules that span rows hold across nodes, which don't share row locks (architecture.rst D3)."""

import concurrent.futures

import pytest

from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import expect, holding, numbered, stock

ROUNDS = 15


@pytest.fixture
def services(urls):
    """Return a service on each node."""
    return [Service(url) for url in urls]


@pytest.fixture
def race(services):
    """Return a function that sends concurrent requests to two nodes and returns the statuses."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:

        def race(*requests):
            running = [
                pool.submit(service.request, *request)
                for service, request in zip(services, requests, strict=False)
            ]
            return [answer.result().status_code for answer in running]

        yield race


def provider(service, number, **more):
    uuid = numbered("a", number)
    expect(service.post("/resource_providers", {"name": uuid, "uuid": uuid, **more}), 200)
    return uuid


def test_two_trees_do_not_become_each_others_children(services, race):
    for turn in range(ROUNDS):
        one, two = provider(services[0], 2 * turn), provider(services[0], 2 * turn + 1)
        statuses = race(
            ("PUT", f"/resource_providers/{one}", {"name": one, "parent_provider_uuid": two}),
            ("PUT", f"/resource_providers/{two}", {"name": two, "parent_provider_uuid": one}),
        )
        assert sorted(statuses) == [200, 400]


def test_a_class_in_use_is_not_deleted(services, race):
    for turn in range(ROUNDS):
        name, uuid = f"CUSTOM_C{turn}", provider(services[0], turn)
        expect(services[0].put(f"/resource_classes/{name}"), 201)
        deleted, used = race(
            ("DELETE", f"/resource_classes/{name}"),
            ("PUT", f"/resource_providers/{uuid}/inventories", stock(0, **{name: 1})),
        )
        assert (deleted, used) in [(204, 400), (409, 200)]


def test_a_trait_in_use_is_not_deleted(services, race):
    for turn in range(ROUNDS):
        name, uuid = f"CUSTOM_T{turn}", provider(services[0], turn)
        expect(services[0].put(f"/traits/{name}"), 201)
        deleted, used = race(
            ("DELETE", f"/traits/{name}"),
            (
                "PUT",
                f"/resource_providers/{uuid}/traits",
                {"traits": [name], "resource_provider_generation": 0},
            ),
        )
        assert (deleted, used) in [(204, 400), (409, 200)]


def test_a_provider_with_allocations_is_not_deleted(services, race):
    for turn in range(ROUNDS):
        uuid = provider(services[0], turn)
        expect(services[0].put(f"/resource_providers/{uuid}/inventories", stock(0, VCPU=1)), 200)
        deleted, held = race(
            ("DELETE", f"/resource_providers/{uuid}"),
            ("PUT", f"/allocations/{numbered('c', turn)}", holding({uuid: {"VCPU": 1}})),
        )
        assert (deleted, held) in [(204, 400), (409, 204)]


def test_a_provider_with_children_is_not_deleted(services, race):
    for turn in range(ROUNDS):
        uuid, child = provider(services[0], 2 * turn), numbered("a", 2 * turn + 1)
        body = {"name": child, "uuid": child, "parent_provider_uuid": uuid}
        deleted, made = race(
            ("DELETE", f"/resource_providers/{uuid}"), ("POST", "/resource_providers", body)
        )
        assert (deleted, made) in [(204, 400), (409, 200)]


def tree(root, providers, **more):
    """Return the write of a tree, of providers that are all of generation 0."""
    wanted = {uuid: {"generation": 0, **change} for uuid, change in providers.items()}
    return "PUT", f"/berth/v1/provider_trees/{root}", {"providers": wanted, **more}


def test_two_trees_that_take_each_other_do_not_become_a_circle(services, race):
    for turn in range(ROUNDS):
        one, two = provider(services[0], 2 * turn), provider(services[0], 2 * turn + 1)
        statuses = race(
            tree(one, {two: {"parent_provider_uuid": one}}),
            tree(two, {one: {"parent_provider_uuid": two}}),
        )
        assert sorted(statuses) == [200, 400]


def test_what_a_write_of_a_tree_relies_on_does_not_change_meanwhile(services, race):
    """Each write expects a provider as it was that the other one changes."""
    aggregate = {"aggregates": [numbered("b", 1)]}
    for turn in range(ROUNDS):
        root = provider(services[0], 3 * turn)
        one, two = (
            provider(services[0], 3 * turn + number, parent_provider_uuid=root) for number in (1, 2)
        )
        statuses = race(
            tree(root, {one: {}, two: aggregate}),
            tree(root, {two: {}, one: aggregate}),
        )
        assert sorted(statuses) == [200, 409]


def test_a_tree_is_created_once(services, race):
    for turn in range(ROUNDS):
        root, child = numbered("a", 2 * turn), numbered("a", 2 * turn + 1)
        providers = {
            root: {"generation": None, "name": root, "traits": [f"CUSTOM_T{turn}"]},
            child: {"generation": None, "name": child, "parent_provider_uuid": root},
        }
        statuses = race(*[tree(root, providers, create_names=True)] * 2)
        assert sorted(statuses) == [200, 409]


def test_a_removed_tree_gets_no_child(services, race):
    for turn in range(ROUNDS):
        root, child = provider(services[0], 2 * turn), numbered("a", 2 * turn + 1)
        new = {child: {"generation": None, "name": child, "parent_provider_uuid": root}}
        removed, made = race(tree(root, {}, remove={root: 0}), tree(root, new))
        assert (removed, made) in [(200, 404), (409, 200)]


def test_a_provider_that_a_tree_loses_is_not_allocated(services, race):
    for turn in range(ROUNDS):
        root = provider(services[0], 2 * turn)
        child = provider(services[0], 2 * turn + 1, parent_provider_uuid=root)
        expect(services[0].put(f"/resource_providers/{child}/inventories", stock(0, VCPU=1)), 200)
        removed, held = race(
            tree(root, {}, remove={child: 1}),
            ("PUT", f"/allocations/{numbered('c', turn)}", holding({child: {"VCPU": 1}})),
        )
        assert (removed, held) in [(200, 400), (409, 204)]


def claim(consumer, tree):
    owner = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
    body = {"query": f"resources=VCPU:1&in_tree={tree}", "consumers": [{"uuid": consumer, **owner}]}
    return "POST", "/berth/v1/claims", body


def test_the_last_place_is_claimed_once(services, race):
    for turn in range(ROUNDS):
        uuid = provider(services[0], turn)
        path = f"/resource_providers/{uuid}/inventories"
        expect(services[0].put(path, stock(0, VCPU=1)), 200)
        one, two = numbered("c", 2 * turn), numbered("c", 2 * turn + 1)
        assert sorted(race(claim(one, uuid), claim(two, uuid))) == [200, 409]


def test_a_claim_that_is_sent_to_two_nodes_is_made_once(services, race):
    for turn in range(ROUNDS):
        uuid = provider(services[0], turn)
        path = f"/resource_providers/{uuid}/inventories"
        expect(services[0].put(path, stock(0, VCPU=5)), 200)
        twice = claim(numbered("c", turn), uuid)
        assert race(twice, twice) == [200, 200]
        usages = expect(services[0].get(f"/resource_providers/{uuid}/usages"), 200).json
        assert usages["usages"] == {"VCPU": 1}
