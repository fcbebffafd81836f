"""Trees that are written in one request (extensions.md 3): what differs from single requests.

What doesn't differ is tested in test_report_client_tree_sync.py and test_report_client_reshape.py,
where placement takes whole trees and where it doesn't.
"""

from uuid import uuid4

import pytest
import requests
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from compute.maintenance.provider_details import read_tree
from tests.functional.compute.compute_host import MediumFakeDriver

PREFIX = "/berth/v1/provider_trees"


@pytest.fixture
def root(client, context):
    """Return the uuid of a root that the client made."""
    uuid = str(uuid4())
    client.get_provider_tree_and_ensure_root(context, uuid, f"root-{uuid}")
    return uuid


@pytest.fixture
def grown(client, context, root):
    """Return a private tree: the root with something of everything, and a child to create."""
    tree = client.get_provider_tree_and_ensure_root(context, root)
    tree.update_inventory(
        root, {"VCPU": {"total": 8}, f"CUSTOM_{uuid4().hex}".upper(): {"total": 1}}
    )
    tree.update_traits(root, [f"CUSTOM_{uuid4().hex}".upper()])
    tree.update_aggregates(root, [str(uuid4())])
    child = tree.new_child(f"child-{root}", root)
    tree.update_inventory(child, {"VGPU": {"total": 2}})
    return tree


def tree_writes(adapter):
    return [sent for sent in adapter.writes if sent[1].startswith(PREFIX)]


def answered(status, text):
    response = requests.Response()
    response.status_code = status
    response._content = text.encode()
    return response


def is_write(method, url):
    return method == "PUT" and url.startswith(PREFIX)


def children(outsider, root):
    """name → uuid of the root's tree, without the root."""
    found = outsider.call("GET", f"/resource_providers?in_tree={root}")["resource_providers"]
    return {row["name"]: row["uuid"] for row in found if row["uuid"] != root}


def test_each_update_is_one_write(client, context, root, grown, outsider, placement_adapter):
    child = grown.data(f"child-{root}").uuid
    placement_adapter.requests.clear()
    assert client.update_from_provider_tree(context, grown)
    grown.update_inventory(child, {})
    grown.update_traits(root, [])
    assert client.update_from_provider_tree(context, grown)
    grown.remove(child)
    assert client.update_from_provider_tree(context, grown)
    assert not client.update_from_provider_tree(context, grown)
    assert placement_adapter.requests == [("PUT", f"{PREFIX}/{root}", "1.36")] * 3
    assert (children(outsider, root), outsider.traits(root)) == ({}, set())
    assert client.cache.tree.data(root).generation == outsider.generation(root)


def test_children_that_are_due_to_be_read_again_are_read_by_one_request(
    client, context, root, placement_adapter, outsider
):
    children = [outsider.provider(parent=root) for _ in range(3)]
    client.clear_provider_cache()
    client.get_provider_tree_and_ensure_root(context, root)
    outsider.set_traits(children[0], ["CUSTOM_NEW"])
    for child in children:
        client.invalidate_resource_provider(child, cacheonly=True)
    placement_adapter.requests.clear()
    tree = client.get_provider_tree_and_ensure_root(context, root)
    assert [url.partition("?")[0] for _, url, _ in placement_adapter.requests] == [PREFIX]
    assert tree.has_traits(children[0], ["CUSTOM_NEW"])


def test_a_reshape_is_one_write_and_no_request_is_above_1_36(
    client, context, root, grown, outsider, placement_adapter
):
    client.update_from_provider_tree(context, grown)
    consumer = outsider.allocate({root: {"VCPU": 2}})
    client.clear_provider_cache()
    tree = client.get_provider_tree_and_ensure_root(context, root)
    allocations = client.get_allocations_for_provider_tree(context, root)
    child = tree.data(f"child-{root}").uuid
    tree.update_inventory(child, {"VCPU": tree.data(root).inventory["VCPU"]})
    tree.update_inventory(root, {})
    held = allocations[consumer]["allocations"]
    held[child] = held.pop(root)
    placement_adapter.requests.clear()
    client.update_from_provider_tree(context, tree, allocations)
    assert placement_adapter.requests == [("PUT", f"{PREFIX}/{root}", "1.36")]
    assert outsider.allocations(consumer) == {child: {"VCPU": 2}}
    assert client.cache.tree.data(child).generation == outsider.generation(child)


def test_a_missing_root_comes_with_the_rest_of_its_tree(
    client, context, outsider, placement_adapter
):
    root = str(uuid4())
    tree = client.get_provider_subtree(context, root, f"root-{root}")
    assert not outsider.exists(root)
    tree.new_child(f"child-{root}", root)
    client.update_from_provider_tree(context, tree)
    assert [method for method, _, _ in placement_adapter.requests] == ["GET", "PUT"]
    assert list(children(outsider, root)) == [f"child-{root}"]


# A lost answer


@pytest.mark.parametrize("again", ["the same tree", "a fresh tree"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_write_that_got_lost_is_no_success_and_the_next_try_ends_well(
    client, context, root, grown, outsider, placement_adapter, when, again
):
    before = outsider.generation(root)

    def lost(method, url):
        if is_write(method, url):
            raise ksa_exc.ConnectFailure("gone")

    setattr(placement_adapter, when, lost)
    with pytest.raises(ksa_exc.ConnectFailure):
        client.update_from_provider_tree(context, grown)
    setattr(placement_adapter, when, None)
    stored = outsider.generation(root) != before
    assert stored == (when == "after") == bool(children(outsider, root))
    wanted = grown
    if again == "a fresh tree":
        # a driver that gives its children new uuids finds them by their names
        wanted = client.get_provider_tree_and_ensure_root(context, root)
        if not wanted.exists(f"child-{root}"):
            wanted.new_child(f"child-{root}", root)
        for name in (f"root-{root}", f"child-{root}"):
            wanted.update_inventory(name, grown.data(name).inventory)
            wanted.update_traits(name, grown.data(name).traits)
            wanted.update_aggregates(name, grown.data(name).aggregates)
    for _ in range(2):
        try:
            client.update_from_provider_tree(context, wanted)
            break
        except exceptions.ResourceProviderUpdateConflict:
            assert (when, again) == ("after", "the same tree")
    assert outsider.traits(root) == grown.data(root).traits
    assert outsider.aggregates(root) == grown.data(root).aggregates
    assert outsider.totals(children(outsider, root)[f"child-{root}"]) == {"VGPU": 2}
    assert client.tree_sync.rehearse(wanted, None) == []


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (lambda: answered(500, "out of order"), exceptions.ReshapeUnanswered),
        (lambda: answered(503, "Nothing was changed."), exceptions.ReshapeFailed),
        (lambda: answered(400, "{}"), exceptions.ReshapeFailed),
        (ksa_exc.ConnectFailure, exceptions.ReshapeUnanswered),
        (ksa_exc.EndpointNotFound, exceptions.ReshapeFailed),
    ],
    ids=["500", "not done", "400", "lost", "never sent"],
)
def test_a_reshape_that_fails_changes_nothing(
    client, context, root, grown, outsider, placement_adapter, failure, kind
):
    def fail(method, url):
        if not is_write(method, url):
            return None
        outcome = failure()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    placement_adapter.before = fail
    with pytest.raises(exceptions.ReshapeFailed) as failed:
        client.update_from_provider_tree(context, grown, {})
    assert type(failed.value) is kind
    assert children(outsider, root) == {}
    assert outsider.totals(root) == {}


# Others


def test_a_child_that_another_made_at_the_same_moment_keeps_what_it_has(
    client, context, root, outsider, placement_adapter
):
    child, theirs, ours = str(uuid4()), str(uuid4()), str(uuid4())
    tree = client.get_provider_tree_and_ensure_root(context, root)
    tree.new_child(f"child-{child}", root, child)
    tree.add_aggregates(child, ours)

    def made_by_another(method, url):
        if is_write(method, url) and not outsider.exists(child):
            outsider.provider(f"child-{child}", root, {"VGPU": {"total": 1}}, uuid=child)
            outsider.set_aggregates(child, [theirs])

    placement_adapter.before = made_by_another
    client.update_from_provider_tree(context, tree)
    assert outsider.aggregates(child) == {ours, theirs}
    assert outsider.totals(child) == {"VGPU": 1}
    assert client.cache.tree.data(child).generation == outsider.generation(child)


def test_a_root_that_another_made_at_the_same_moment_keeps_what_it_has(
    client, context, outsider, placement_adapter
):
    root = str(uuid4())
    tree = client.get_provider_subtree(context, root, f"root-{root}")
    outsider.provider(f"root-{root}", uuid=root, traits=["CUSTOM_GOLD"])
    tree.add_traits(root, "HW_CPU_X86_AVX")
    client.update_from_provider_tree(context, tree)
    assert outsider.traits(root) == {"CUSTOM_GOLD", "HW_CPU_X86_AVX"}


@pytest.mark.parametrize(
    ("is_same_tree", "kind"),
    [
        (True, exceptions.ResourceProviderCreationConflict),
        (False, exceptions.ResourceProviderCreationFailed),
    ],
)
def test_a_name_that_another_provider_has_changes_nothing(
    client, context, root, grown, outsider, is_same_tree, kind
):
    taken = outsider.provider(f"child-{root}", root if is_same_tree else None)
    with pytest.raises(exceptions.ResourceProviderCreationFailed) as failed:
        client.update_from_provider_tree(context, grown)
    assert type(failed.value) is kind
    assert outsider.totals(root) == {}
    tree = client.get_provider_tree_and_ensure_root(context, root)
    assert tree.exists(taken) == is_same_tree


def test_the_name_that_is_taken_is_told_although_it_begins_like_another_one(
    client, context, root, grown, outsider
):
    longer = f"child-{root}0"
    outsider.provider(longer)
    grown.new_child(longer, root)
    with pytest.raises(exceptions.ResourceProviderCreationFailed) as failed:
        client.update_from_provider_tree(context, grown)
    # another tree has the name, so there is nothing to wait for
    assert type(failed.value) is exceptions.ResourceProviderCreationFailed
    assert longer in str(failed.value)


def test_a_provider_that_others_changed_or_deleted_is_removed_all_the_same(
    client, context, root, outsider, placement_adapter
):
    changed, gone = outsider.provider(parent=root), outsider.provider(parent=root)
    client.clear_provider_cache()
    tree = client.get_provider_tree_and_ensure_root(context, root)
    outsider.set_traits(changed, ["HW_CPU_X86_AVX"])
    outsider.call("DELETE", f"/resource_providers/{gone}")
    tree.remove(changed)
    tree.remove(gone)
    client.update_from_provider_tree(context, tree)
    assert children(outsider, root) == {}
    assert client.cache.tree.get_provider_uuids(root) == [root]


def test_a_trait_that_comes_before_the_reshape_conflicts_and_stays(
    client, context, root, outsider, placement_adapter
):
    tree = client.get_provider_tree_and_ensure_root(context, root)
    tree.add_traits(root, "HW_CPU_X86_AVX")
    outsider.set_traits(root, ["CUSTOM_GOLD"])
    with pytest.raises(exceptions.PlacementReshapeConflict):
        client.update_from_provider_tree(context, tree, {})
    tree = client.get_provider_tree_and_ensure_root(context, root)
    tree.add_traits(root, "HW_CPU_X86_AVX")
    client.update_from_provider_tree(context, tree)
    assert outsider.traits(root) == {"CUSTOM_GOLD", "HW_CPU_X86_AVX"}


def test_a_provider_that_somebody_renamed_keeps_its_new_name(client, context, root, outsider):
    tree = client.get_provider_tree_and_ensure_root(context, root)
    outsider.call("PUT", f"/resource_providers/{root}", {"name": f"renamed-{root}"})
    tree.update_traits(root, ["HW_CPU_X86_AVX"])
    client.update_from_provider_tree(context, tree)
    assert outsider.traits(root) == {"HW_CPU_X86_AVX"}
    assert outsider.shown(root)["name"] == f"renamed-{root}"


def test_a_root_that_vanished_isnt_created_again(client, context, root, outsider):
    tree = client.get_provider_tree_and_ensure_root(context, root)
    outsider.call("DELETE", f"/resource_providers/{root}")
    client.clear_provider_cache()
    tree.update_traits(root, ["HW_CPU_X86_AVX"])
    with pytest.raises(exceptions.ResourceProviderVanished):
        client.update_from_provider_tree(context, tree)
    assert not outsider.exists(root)


def test_a_tree_that_is_forgotten_while_it_is_written_is_a_conflict(
    client, context, root, grown, outsider, placement_adapter
):
    client.update_from_provider_tree(context, grown)
    grown.update_inventory(root, {"VCPU": {"total": 9}})
    placement_adapter.after = lambda *sent: client.clear_provider_cache(init=True)
    with pytest.raises(exceptions.ResourceProviderUpdateConflict, match="forgotten meanwhile"):
        client.update_from_provider_tree(context, grown)
    assert outsider.totals(root) == {"VCPU": 9}


def test_a_root_that_vanishes_before_the_write_fails_the_sync(client, context, root, outsider):
    tree = client.get_provider_tree_and_ensure_root(context, root)
    outsider.call("DELETE", f"/resource_providers/{root}")
    tree.update_traits(root, ["HW_CPU_X86_AVX"])
    with pytest.raises(exceptions.ResourceProviderSyncFailed):
        client.update_from_provider_tree(context, tree)
    assert client.takes_whole_trees(context)
    assert not client.cache.tree.exists(root)


# Another placement answers


@pytest.mark.parametrize("status", [403, 404, 405, 413])
def test_where_the_write_isnt_taken_the_steps_are_taken_one_by_one(
    client, context, root, grown, outsider, placement_adapter, status
):
    placement_adapter.before = lambda method, url: (
        answered(status, '{"errors": []}') if is_write(method, url) else None
    )
    client.update_from_provider_tree(context, grown)
    assert len(tree_writes(placement_adapter)) == 1
    assert list(children(outsider, root)) == [f"child-{root}"]
    assert outsider.traits(root) == grown.data(root).traits


# How many requests


@pytest.fixture
def fifty(host):
    """Return a driver of a host with fifty providers."""

    class Fifty(MediumFakeDriver):
        def update_provider_tree(self, tree, nodename, allocations=None):
            super().update_provider_tree(tree, nodename, allocations)
            for number in range(49):
                name = f"{nodename}_{number}"
                if not tree.exists(name):
                    tree.new_child(name, nodename)
                tree.update_inventory(name, {"VGPU": {"total": 4}})
                tree.update_traits(name, [f"CUSTOM_SLOT_{number}"])

    return Fifty


def test_the_first_start_of_a_host_costs_two_requests_and_so_does_the_next_one(
    host, outsider, fifty
):
    host.start(fifty)
    assert [method for method, _, _ in host.adapter.requests] == ["GET", "PUT"]
    assert len(children(outsider, host.uuid)) == 49
    host.start(fifty)
    assert [method for method, _, _ in host.adapter.requests] == ["GET", "GET"]
    host.update()
    assert len(host.adapter.requests) == 2


def test_a_start_that_moves_fifty_providers_and_twenty_consumers_costs_three_requests(
    host, outsider, fifty
):
    class Nesting(fifty):
        def update_provider_tree(self, tree, nodename, allocations=None):
            super().update_provider_tree(tree, nodename, allocations)
            first, root = tree.data(f"{nodename}_0").uuid, tree.data(nodename).uuid
            moved = tree.data(nodename).inventory
            if "VCPU" in outsider.totals(root) and allocations is None:
                raise exceptions.ReshapeNeeded()
            tree.update_inventory(first, {"VCPU": moved.pop("VCPU")})
            tree.update_inventory(root, moved)
            for body in (allocations or {}).values():
                held = body["allocations"]
                held[first] = {"resources": {"VCPU": held[root]["resources"].pop("VCPU")}}

    host.start()
    consumers = [outsider.allocate({host.uuid: {"VCPU": 1, "MEMORY_MB": 64}}) for _ in range(20)]
    host.start(Nesting)
    assert [method for method, _, _ in host.adapter.requests] == ["GET", "GET", "PUT"]
    assert all(len(outsider.allocations(consumer)) == 2 for consumer in consumers)
    host.start(Nesting)
    assert len(host.adapter.requests) <= 2
    assert host.adapter.writes == []


# nova-manage


def test_a_tree_is_shown_and_audited_by_one_request_each(
    client, context, root, grown, outsider, placement_adapter
):
    client.update_from_provider_tree(context, grown)
    consumer = outsider.allocate({root: {"VCPU": 3}})
    child = children(outsider, root)[f"child-{root}"]
    placement_adapter.requests.clear()
    shown = read_tree(client, context, root)
    held = client.whole_trees.held_of_each(context, [root, child])
    assert [method for method, _, _ in placement_adapter.requests] == ["GET", "POST"]
    assert [one.uuid for one in shown] == [root, child]
    assert shown[0].holders == {consumer: {"VCPU": 3}}
    assert shown[0].used == {"VCPU": 3}
    assert {uuid: set(consumers) for uuid, consumers in held.items()} == {
        root: {consumer},
        child: set(),
    }


def test_a_rehearsal_asks_in_one_request_which_of_its_new_providers_exist(
    client, context, outsider, placement_adapter
):
    there = outsider.provider()
    client.get_provider_subtree(context, there, "there")
    sent = len(placement_adapter.requests)
    wanted = [there, *(str(uuid4()) for _ in range(99))]
    assert client.trees.load_existing(context, wanted) == {there}
    asked = [url.partition("?")[2][:8] for _, url, _ in placement_adapter.requests[sent:]]
    assert asked == ["uuid=in:", "in_tree="]
