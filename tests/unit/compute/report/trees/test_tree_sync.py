"""How a tree is synchronized, and what its failures become (compute.md §3.9)."""

import pytest

from compute import exceptions
from compute.report.trees.steps import AddProvider
from tests.unit.compute.report.answers import answer, conflict, listed, refused, row, sent_body


def test_an_inventory_that_cant_be_read_back_after_the_reshape_fails_the_sync(make):
    client = make(answer(204), answer(500))
    client.cache.tree.new_root("n", "u", 0)
    tree = client.cache.tree.subtree("u")
    with pytest.raises(exceptions.ResourceProviderSyncFailed):
        client.update_from_provider_tree(None, tree, {})
    assert not client.cache.tree.exists("u")


def test_a_removed_provider_is_emptied_at_the_generation_it_is_known_at(make):
    client = make(answer(204), answer(200, {"inventories": {}, "resource_provider_generation": 9}))
    client.cache.tree.populate_from_iterable([row("a", None, 4), row("b", "a", 5)])
    tree = client.cache.tree.subtree("a")
    tree.update_inventory("a", {"VCPU": {"total": 1}})
    tree.remove("b")
    client.transport.adapter.answers += [answer(204)]
    client.transport.adapter.answers[1] = answer(
        200, {"inventories": {"VCPU": {"total": 1}}, "resource_provider_generation": 9}
    )
    client.update_from_provider_tree(None, tree, {"consumer": {}})
    assert client.transport.adapter.sent[0][2]["json"] == {
        "inventories": {
            "a": {"inventories": {"VCPU": {"total": 1}}, "resource_provider_generation": 4},
            "b": {"inventories": {}, "resource_provider_generation": 5},
        },
        "allocations": {"consumer": {}},
    }
    assert client.cache.tree.data("a").generation == 9


def test_an_inventory_in_use_passes_as_it_is_and_the_tree_is_read_again(make):
    client = make(refused(code="placement.inventory.inuse", detail="VCPU is in use"))
    client.cache.tree.new_root("n", "u", 0)
    client.cache.tree.update_inventory("u", {"VCPU": {"total": 1}})
    tree = client.cache.tree.subtree("u")
    tree.update_inventory("u", {})
    with pytest.raises(exceptions.InventoryInUse, match="VCPU is in use"):
        client.update_from_provider_tree(None, tree)
    assert not client.cache.tree.exists("u")


@pytest.mark.parametrize("failure", [conflict(), answer(500, text="no")], ids=str)
def test_a_failure_forgets_the_tree_of_a_provider_that_is_forgotten_meanwhile(make, failure):
    client = make()
    client.cache.tree.populate_from_iterable([row("a", None, 4), row("b", "a", 5)])
    tree = client.cache.tree.subtree("a")
    tree.update_inventory("b", {"VCPU": {"total": 1}})

    def put(url, **_):
        client.invalidate_resource_provider("b")
        return failure

    client.transport.adapter.put = put
    with pytest.raises(exceptions.NovaException):
        client.update_from_provider_tree(None, tree)
    assert not client.cache.tree.exists("a")


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.update_inventory("u", {"VCPU": {"total": 1}}),
        lambda tree: tree.update_aggregates("u", ["rack"]),
        lambda tree: tree.update_traits("u", []),
    ],
    ids=["inventory", "aggregates", "traits"],
)
def test_after_a_conflict_the_next_call_writes_at_the_generation_of_then(make, change):
    client = make(conflict())
    client.cache.tree.populate_from_iterable([row("u", None, 4)])
    client.cache.tree.update_traits("u", ["T"])
    tree = client.cache.tree.subtree("u")
    change(tree)
    with pytest.raises(exceptions.ResourceProviderUpdateConflict):
        client.update_from_provider_tree(None, tree)
    assert sent_body(client)["resource_provider_generation"] == 4
    assert tree.expected_generation("u") is None


@pytest.mark.parametrize("allocations", [None, {}])
def test_a_rehearsal_changes_neither_the_cache_nor_the_tree(make, allocations):
    client = make()
    client.cache.tree.populate_from_iterable([row("a", None, 4), row("b", "a", 5)])
    tree = client.cache.tree.subtree("a")
    tree.remove("b")
    tree.new_child("c-name", "a", "c")
    tree.update_inventory("a", {"VCPU": {"total": 1}})
    steps = client.tree_sync.rehearse(tree, allocations)
    assert [type(step).__name__ for step in steps] == (
        ["AddProvider", "RemoveProvider", "SetInventory"]
        if allocations is None
        else ["AddProvider", "Reshape", "RereadInventory", "RereadInventory", "RemoveProvider"]
    )
    assert client.cache.tree.get_provider_uuids() == ["a", "b"]
    assert client.cache.tree.data("a").inventory == {}
    assert (tree.removed, tree.data("c").generation) == ({"b"}, None)
    assert client.transport.adapter.sent == []


def test_a_provider_that_another_thread_forgets_during_an_update_is_a_conflict(make, monkeypatch):
    """Also a provider that shall have nothing: placement may have more of it by now."""
    client = make(listed(), answer(201, row("c", "a")))
    client.cache.tree.populate_from_iterable([row("a", None, 4), row("b", "a", 5)])
    tree = client.cache.tree.subtree("a")
    tree.new_child("c-name", "a", "c")
    apply = AddProvider.apply

    def disturbed(step, parts, context):
        apply(step, parts, context)
        client.invalidate_resource_provider("b")

    monkeypatch.setattr(AddProvider, "apply", disturbed)
    with pytest.raises(exceptions.ResourceProviderUpdateConflict, match="forgotten meanwhile"):
        client.update_from_provider_tree(None, tree)
