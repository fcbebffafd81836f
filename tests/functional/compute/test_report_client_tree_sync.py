"""update_from_provider_tree without a reshape (compute.md §3.9, scenarios C8–C12 and C25)."""

import logging
import typing
from uuid import uuid4

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from compute.provider_tree import ProviderTree
from compute.report.trees.steps import Step

SHARES = "MISC_SHARES_VIA_AGGREGATE"


@pytest.fixture
def scene(client, context):
    """Four uuids and a cached, so far bare, root."""

    class Scene:
        root, child, grandchild, ssp = (str(uuid4()) for _ in range(4))
        agg1, agg2 = str(uuid4()), str(uuid4())
        trait = f"CUSTOM_{uuid4().hex.upper()}"

        def tree(self):
            return client.get_provider_tree_and_ensure_root(context, self.root)

        def grown(self):
            """root ─ child (aggregates) ─ grandchild (trait); ssp shares a disk."""
            tree = self.tree()
            tree.new_child(f"child-{self.child}", self.root, self.child)
            tree.update_aggregates(self.child, [self.agg1, self.agg2])
            tree.new_child(f"gc-{self.grandchild}", self.child, self.grandchild)
            tree.update_traits(self.grandchild, [self.trait])
            tree.new_root(f"ssp-{self.ssp}", self.ssp)
            tree.update_inventory(self.ssp, {"DISK_GB": {"total": 500}})
            tree.update_traits(self.ssp, [SHARES])
            return tree

        @property
        def everyone(self):
            return self.root, self.child, self.grandchild, self.ssp

    scene = Scene()
    scene.tree()
    return scene


def assert_placement_equals(tree, outsider):
    """Placement shows exactly what the tree says; the tree may leave out what has a default."""
    for uuid in tree.get_provider_uuids():
        data, shown = tree.data(uuid), outsider.shown(uuid)
        assert (shown["name"], shown["parent_provider_uuid"]) == (data.name, data.parent_uuid)
        inventory = outsider.inventory(uuid)
        assert inventory.keys() == data.inventory.keys()
        for resource_class, record in data.inventory.items():
            assert record.items() <= inventory[resource_class].items()
        assert outsider.traits(uuid) == data.traits
        assert outsider.aggregates(uuid) == data.aggregates


def assert_cache_equals(tree, client):
    cache = client.cache.tree
    assert set(cache.get_provider_uuids()) == set(tree.get_provider_uuids())
    for uuid in tree.get_provider_uuids():
        data = tree.data(uuid)
        assert not cache.has_inventory_changed(uuid, data.inventory)
        assert cache.data(uuid)[5:7] == data[5:7]
        assert cache.data(uuid)[:2] == data[:2]
        assert cache.data(uuid).parent_uuid == data.parent_uuid


# C8


def test_c8_an_empty_tree_over_an_empty_cache_sends_nothing(client, context, placement_adapter):
    client.update_from_provider_tree(context, ProviderTree())
    assert placement_adapter.requests == []


@pytest.mark.one_by_one
def test_c8_a_tree_lives_grows_changes_and_goes(
    client, context, scene, outsider, placement_adapter
):
    tree = scene.grown()
    client.update_from_provider_tree(context, tree)
    assert_placement_equals(tree, outsider)
    assert_cache_equals(tree, client)

    tree.update_inventory(scene.root, {"VCPU": {"total": 8}, "CUSTOM_X": {"total": 1}})
    tree.update_aggregates(scene.root, [scene.agg1])
    tree.update_traits(scene.root, ["HW_CPU_X86_AVX", scene.trait])
    tree.update_inventory(scene.child, {"VGPU": {"total": 2, "reserved": 2}})
    tree.update_aggregates(scene.child, [])
    tree.update_traits(scene.grandchild, [])
    tree.update_inventory(scene.ssp, {"DISK_GB": {"total": 600}})
    client.update_from_provider_tree(context, tree)
    assert_placement_equals(tree, outsider)
    assert_cache_equals(tree, client)

    tree.remove(scene.child)
    placement_adapter.requests.clear()
    client.update_from_provider_tree(context, tree)
    assert placement_adapter.requests == [
        ("DELETE", f"/resource_providers/{scene.grandchild}", None),
        ("DELETE", f"/resource_providers/{scene.child}", None),
    ]
    assert_cache_equals(tree, client)

    tree.remove(scene.root)
    tree.remove(scene.ssp)
    client.update_from_provider_tree(context, tree)
    assert client.cache.tree.get_provider_uuids() == []
    assert not any(outsider.exists(uuid) for uuid in scene.everyone)


def test_the_same_tree_again_sends_nothing(client, context, scene, placement_adapter):
    tree = scene.grown()
    client.update_from_provider_tree(context, tree)
    placement_adapter.requests.clear()
    client.update_from_provider_tree(context, tree)
    client.update_from_provider_tree(context, scene.tree())
    assert placement_adapter.requests == []


@pytest.mark.one_by_one
def test_requests_are_those_of_the_worked_trace(client, context, scene, placement_adapter):
    custom_class = f"CUSTOM_{uuid4().hex.upper()}"
    tree = scene.tree()
    tree.update_inventory(
        scene.root, {"VCPU": {"total": 8}, "MEMORY_MB": {"total": 64}, custom_class: {"total": 1}}
    )
    tree.update_traits(scene.root, [scene.trait, "HW_CPU_X86_AVX"])
    tree.update_aggregates(scene.root, [scene.agg1])
    tree.new_child(f"c1-{scene.child}", scene.root, scene.child)
    tree.update_inventory(scene.child, {"VGPU": {"total": 1}})
    tree.new_root(f"ssp-{scene.ssp}", scene.ssp)
    tree.update_inventory(scene.ssp, {"DISK_GB": {"total": 500}})
    tree.update_traits(scene.ssp, [SHARES])
    tree.update_aggregates(scene.ssp, [scene.agg1])
    placement_adapter.requests.clear()
    client.update_from_provider_tree(context, tree)
    cn, c1, ssp = (f"/resource_providers/{u}" for u in (scene.root, scene.child, scene.ssp))
    traits = ",".join(sorted([scene.trait, "HW_CPU_X86_AVX"]))
    assert placement_adapter.requests == [
        ("GET", f"/resource_providers?in_tree={scene.child}", "1.14"),
        ("POST", "/resource_providers", "1.20"),
        ("GET", f"/resource_providers?in_tree={scene.ssp}", "1.14"),
        ("POST", "/resource_providers", "1.20"),
        ("PUT", f"{ssp}/inventories", "1.26"),
        ("PUT", f"{ssp}/aggregates", "1.19"),
        ("GET", f"/traits?name=in:{SHARES}", "1.6"),
        ("PUT", f"{ssp}/traits", "1.6"),
        ("PUT", f"{c1}/inventories", "1.26"),
        ("PUT", f"/resource_classes/{custom_class}", "1.7"),
        ("PUT", f"{cn}/inventories", "1.26"),
        ("PUT", f"{cn}/aggregates", "1.19"),
        ("GET", f"/traits?name=in:{traits}", "1.6"),
        ("PUT", f"/traits/{scene.trait}", "1.6"),
        ("PUT", f"{cn}/traits", "1.6"),
    ]


def test_new_providers_get_their_generation_written_into_the_tree(client, context, scene, outsider):
    tree = scene.grown()
    assert tree.data(scene.child).generation is None
    client.update_from_provider_tree(context, tree)
    assert tree.data(scene.child).generation == outsider.generation(scene.child)


def test_a_provider_found_to_exist_is_read_and_keeps_what_it_has_beside_what_is_wanted(
    client, context, scene, outsider
):
    name = f"child-{scene.child}"
    outsider.provider(name, uuid=scene.child, parent=scene.root, traits=["HW_CPU_X86_AVX"])
    tree = scene.grown()
    client.update_from_provider_tree(context, tree)
    assert outsider.traits(scene.child) == {"HW_CPU_X86_AVX"}
    assert outsider.aggregates(scene.child) == {scene.agg1, scene.agg2}
    assert_placement_equals(tree, outsider)


def test_an_operators_child_that_neither_tree_knows_stays(client, context, scene, outsider):
    theirs = outsider.provider(parent=scene.root)
    client.update_from_provider_tree(context, scene.grown())
    assert outsider.exists(theirs)


def test_renaming_and_moving_are_ignored_with_a_warning(
    client, context, scene, outsider, placement_adapter, caplog
):
    client.update_from_provider_tree(context, scene.grown())
    tree = scene.tree()
    tree.remove(scene.grandchild)
    tree.new_child("renamed and moved", scene.root, scene.grandchild)
    tree.update_traits(scene.grandchild, [scene.trait])
    placement_adapter.requests.clear()
    with caplog.at_level(logging.WARNING):
        client.update_from_provider_tree(context, tree)
    assert "not supported" in caplog.text
    assert placement_adapter.requests == []
    assert outsider.shown(scene.grandchild)["parent_provider_uuid"] == scene.child


# C9–C12


def test_c9_an_impossible_class_fails_the_sync_and_forgets_that_tree(
    client, context, scene, outsider
):
    tree = scene.grown()
    tree.update_inventory(scene.grandchild, {"MOTSUC_BANDWIDTH": {"total": 1}})
    with pytest.raises(exceptions.ResourceProviderSyncFailed):
        client.update_from_provider_tree(context, tree)
    assert client.cache.tree.get_provider_uuids() == [scene.ssp]
    assert list(client.cache.read_at) == [scene.ssp]
    assert outsider.inventory(scene.grandchild) == {}


def test_c10_an_impossible_trait_fails_the_sync_and_changes_no_traits(
    client, context, scene, outsider
):
    client.update_from_provider_tree(context, scene.grown())
    tree = scene.tree()
    tree.update_traits(scene.root, ["HW_CPU_X86_AVX", "MOTSUC_FOO"])
    with pytest.raises(exceptions.ResourceProviderSyncFailed):
        client.update_from_provider_tree(context, tree)
    assert outsider.traits(scene.root) == set()
    assert client.cache.tree.get_provider_uuids() == [scene.ssp]


def test_c11_a_trait_changed_behind_our_back_conflicts_once_and_is_then_overwritten(
    client, context, scene, outsider
):
    client.update_from_provider_tree(context, scene.grown())
    tree = scene.tree()
    tree.update_traits(scene.ssp, [SHARES, "STORAGE_DISK_SSD"])
    outsider.set_traits(scene.ssp, [SHARES, "HW_CPU_X86_AVX"])
    with pytest.raises(exceptions.ResourceProviderUpdateConflict):
        client.update_from_provider_tree(context, tree)
    assert not client.cache.tree.exists(scene.ssp)
    assert client.cache.tree.exists(scene.root)
    client.update_from_provider_tree(context, tree)
    assert outsider.traits(scene.ssp) == {SHARES, "STORAGE_DISK_SSD"}


def test_an_aggregate_conflict_forgets_the_whole_tree(client, context, scene, outsider):
    client.update_from_provider_tree(context, scene.grown())
    tree = scene.tree()
    tree.update_aggregates(scene.child, [scene.agg1])
    outsider.set_traits(scene.child, ["HW_CPU_X86_AVX"])
    with pytest.raises(exceptions.ResourceProviderUpdateConflict):
        client.update_from_provider_tree(context, tree)
    assert client.cache.tree.get_provider_uuids() == [scene.ssp]


def test_a_conflict_is_the_normal_path_and_no_warning(client, context, scene, outsider, caplog):
    tree = scene.tree()
    tree.update_inventory(scene.root, {"VCPU": {"total": 8}})
    outsider.set_traits(scene.root, ["HW_CPU_X86_AVX"])
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(exceptions.ResourceProviderUpdateConflict),
    ):
        client.update_from_provider_tree(context, tree)
    assert caplog.records == []


def test_c12_a_placement_lost_amid_a_delete_is_a_client_exception(
    client, context, scene, outsider, placement_adapter
):
    client.update_from_provider_tree(context, scene.grown())
    tree = scene.tree()
    tree.remove(scene.ssp)

    def lost(method, url):
        raise ksa_exc.EndpointNotFound()

    placement_adapter.before = lost
    with pytest.raises(ksa_exc.ClientException):
        client.update_from_provider_tree(context, tree)
    assert outsider.exists(scene.ssp)


def test_a_provider_in_use_fails_the_sync_and_stays(client, context, scene, outsider):
    client.update_from_provider_tree(context, scene.grown())
    outsider.allocate({scene.ssp: {"DISK_GB": 1}})
    tree = scene.tree()
    tree.remove(scene.ssp)
    with pytest.raises(exceptions.ResourceProviderSyncFailed):
        client.update_from_provider_tree(context, tree)
    assert outsider.exists(scene.ssp)


@pytest.mark.one_by_one
@pytest.mark.parametrize("what", ["inventories", "aggregates", "traits", "resource_classes"])
def test_a_placement_lost_amid_the_flush_is_never_taken_for_success(
    client, context, scene, placement_adapter, what
):
    tree = scene.tree()
    tree.update_inventory(scene.root, {"CUSTOM_X": {"total": 1}})
    tree.update_aggregates(scene.root, [scene.agg1])
    tree.update_traits(scene.root, ["HW_CPU_X86_AVX"])

    def lost(method, url):
        if what in url:
            raise ksa_exc.ConnectFailure("gone")

    placement_adapter.before = lost
    with pytest.raises((ksa_exc.ConnectFailure, exceptions.PlacementAPIConnectFailure)):
        client.update_from_provider_tree(context, tree)


# Sub-trees (compute.md §2.9)


@pytest.mark.one_by_one
def test_a_subtree_leaves_everything_outside_its_scope_alone(
    client, context, scene, outsider, placement_adapter
):
    client.update_from_provider_tree(context, scene.grown())
    neighbour = str(uuid4())
    client.get_provider_tree_and_ensure_root(context, neighbour)
    subtree = client.get_provider_subtree_and_ensure_root(context, scene.root)
    subtree.remove(scene.grandchild)
    subtree.update_inventory(scene.root, {"VCPU": {"total": 8}})
    placement_adapter.requests.clear()
    client.update_from_provider_tree(context, subtree)
    assert placement_adapter.writes == [
        ("DELETE", f"/resource_providers/{scene.grandchild}", None),
        ("PUT", f"/resource_providers/{scene.root}/inventories", "1.26"),
    ]
    assert outsider.exists(neighbour)
    assert outsider.exists(scene.ssp)


def test_a_sharing_provider_in_a_subtree_can_be_edited_but_not_removed(
    client, context, scene, outsider
):
    tree = scene.grown()
    tree.update_aggregates(scene.ssp, [scene.agg1])
    client.update_from_provider_tree(context, tree)
    subtree = client.get_provider_subtree_and_ensure_root(context, scene.root, with_sharing=True)
    subtree.update_inventory(scene.ssp, {"DISK_GB": {"total": 900}})
    client.update_from_provider_tree(context, subtree)
    assert outsider.totals(scene.ssp) == {"DISK_GB": 900}
    subtree.remove(scene.ssp)
    client.update_from_provider_tree(context, subtree)
    assert outsider.exists(scene.ssp)


# The plan (architecture.rst D9)


def test_a_plan_says_what_would_be_done_and_does_nothing(client, context, scene, placement_adapter):
    tree = scene.tree()
    tree.new_child("c1", scene.root, scene.child)
    tree.update_traits(scene.child, ["HW_CPU_X86_AVX"])
    tree.update_inventory(scene.root, {"VCPU": {"total": 8}})
    tree.update_aggregates(scene.root, [scene.agg1])
    placement_adapter.requests.clear()
    assert [str(step) for step in client.tree_sync.rehearse(tree, None)] == [
        f"create provider c1 ({scene.child}) below {scene.root}",
        f"set traits of {scene.child} to ['HW_CPU_X86_AVX']",
        f"set inventory of {scene.root} to {{'VCPU': {{'total': 8}}}}",
        f"set aggregates of {scene.root} to ['{scene.agg1}']",
    ]
    assert placement_adapter.requests == []


def test_the_plan_of_a_reshape_moves_inventory_at_once_and_removes_afterwards(
    client, context, scene
):
    client.update_from_provider_tree(context, scene.grown())
    tree = scene.tree()
    tree.remove(scene.grandchild)
    tree.update_inventory(scene.root, {"VCPU": {"total": 8}})
    assert [str(step) for step in client.tree_sync.rehearse(tree, {})] == [
        "reshape 3 providers and the allocations of 0 consumers",
        *(f"read the inventory of {uuid}" for uuid in tree.get_provider_uuids()),
        f"delete provider {scene.grandchild}",
    ]


def test_the_plan_for_an_unchanged_tree_is_empty(client, context, scene):
    client.update_from_provider_tree(context, scene.grown())
    assert client.tree_sync.rehearse(scene.tree(), None) == []


def test_a_run_takes_the_steps_of_the_rehearsal_and_leaves_none(
    client, context, scene, outsider, steps_taken
):
    tree = scene.grown()
    rehearsed = client.tree_sync.rehearse(tree, None)
    client.update_from_provider_tree(context, tree)
    assert [str(step) for step in steps_taken] == [str(step) for step in rehearsed] != []
    assert client.tree_sync.rehearse(tree, None) == []
    assert outsider.exists(scene.grandchild)


def test_a_rehearsed_reshape_of_new_providers_can_be_run(client, context, scene, steps_taken):
    tree = scene.grown()
    rehearsed = client.tree_sync.rehearse(tree, {})
    client.update_from_provider_tree(context, tree, {})
    assert [str(step) for step in steps_taken] == [str(step) for step in rehearsed] != []
    assert client.tree_sync.rehearse(tree, None) == []


@pytest.fixture
def steps_taken(monkeypatch):
    """Return the steps that the client applied, in their order."""
    taken = []
    for kind in typing.get_args(Step):
        monkeypatch.setattr(kind, "apply", _noting(kind.apply, taken))
    return taken


def _noting(apply, taken):
    def noted(step, parts, context):
        taken.append(step)
        apply(step, parts, context)

    return noted


# C25


@pytest.mark.one_by_one
def test_c25_no_request_is_above_1_36(client, context, scene, placement_adapter):
    client.update_from_provider_tree(context, scene.grown())
    client.update_from_provider_tree(context, scene.tree(), {})
    versions = {version for _, _, version in placement_adapter.requests if version}
    assert max(tuple(map(int, version.split("."))) for version in versions) <= (1, 36)
    assert [version for _, url, version in placement_adapter.requests if url == "/reshaper"] == [
        "1.30"
    ]
