"""The report client writes one provider's properties (compute.md §3.7, scenarios C6 and C7)."""

from uuid import uuid4

import pytest

from compute import exceptions

VCPU = {"VCPU": {"total": 4}}


@pytest.fixture
def provider(client, context, outsider, placement_adapter):
    """Make a cached provider with 4 VCPU."""
    uuid = outsider.provider(inventory=VCPU)
    client.get_provider_tree_and_ensure_root(context, uuid)
    placement_adapter.requests.clear()
    return uuid


def custom(prefix):
    return f"CUSTOM_{prefix}_{uuid4().hex.upper()}"


# Inventory


def test_c6_inventory_of_a_provider_that_isnt_cached_is_a_value_error(
    client, context, outsider, placement_adapter
):
    with pytest.raises(ValueError, match="No such provider"):
        client.set_inventory_for_provider(context, outsider.provider(), VCPU)
    assert placement_adapter.requests == []


def test_c6_the_inventory_that_is_there_already_sends_nothing(
    client, context, provider, placement_adapter
):
    client.set_inventory_for_provider(context, provider, VCPU)
    assert placement_adapter.requests == []


def test_c6_a_new_custom_class_is_created_before_the_inventory(
    client, context, provider, placement_adapter, outsider
):
    name = custom("FOO")
    client.set_inventory_for_provider(context, provider, {name: {"total": 2}})
    assert placement_adapter.requests == [
        ("PUT", f"/resource_classes/{name}", "1.7"),
        ("PUT", f"/resource_providers/{provider}/inventories", "1.26"),
    ]
    assert outsider.totals(provider) == {name: 2}
    assert client.cache.tree.data(provider).inventory == outsider.inventory(provider)
    assert client.cache.tree.data(provider).generation == outsider.generation(provider)


def test_c6_a_custom_name_that_cant_be_is_an_invalid_resource_class(client, context, provider):
    with pytest.raises(exceptions.InvalidResourceClass, match=r"CUSTOM_BOGU\$\$"):
        client.set_inventory_for_provider(context, provider, {"CUSTOM_BOGU$$": {"total": 1}})


def test_c6_an_unknown_standard_class_is_a_failed_update(client, context, provider):
    with pytest.raises(exceptions.ResourceProviderUpdateFailed, match="/inventories"):
        client.set_inventory_for_provider(context, provider, {"NOT_A_CLASS": {"total": 1}})


def test_a_total_of_zero_is_refused_by_placement(client, context, provider):
    with pytest.raises(exceptions.ResourceProviderUpdateFailed):
        client.set_inventory_for_provider(context, provider, {"VCPU": {"total": 0}})


def test_c6_a_change_behind_our_back_is_a_conflict_until_read_again(
    client, context, provider, outsider
):
    outsider.set_traits(provider, ["HW_CPU_X86_AVX"])
    with pytest.raises(exceptions.ResourceProviderUpdateConflict) as conflict:
        client.set_inventory_for_provider(context, provider, {"VCPU": {"total": 8}})
    assert conflict.value.kwargs["uuid"] == provider
    client.associations.refresh_and_get_inventory(context, provider)
    client.set_inventory_for_provider(context, provider, {"VCPU": {"total": 8}})
    assert outsider.totals(provider) == {"VCPU": 8}


@pytest.mark.parametrize("nothing", [None, {}])
def test_no_inventory_clears_it(client, context, provider, outsider, nothing):
    client.set_inventory_for_provider(context, provider, nothing)
    assert outsider.inventory(provider) == {}


def test_c6_a_class_in_use_cant_be_dropped(client, context, provider, outsider):
    outsider.allocate({provider: {"VCPU": 1}})
    client.associations.refresh_and_get_inventory(context, provider)
    with pytest.raises(exceptions.InventoryInUse, match="in use"):
        client.set_inventory_for_provider(context, provider, {})
    assert outsider.totals(provider) == {"VCPU": 4}


def test_c7_all_of_an_inventory_may_be_reserved(client, context, provider, outsider):
    client.set_inventory_for_provider(context, provider, {"VCPU": {"total": 4, "reserved": 4}})
    assert outsider.inventory(provider)["VCPU"]["reserved"] == 4


# Traits


def test_missing_custom_traits_are_created_before_they_are_set(
    client, context, provider, placement_adapter, outsider
):
    name = custom("TRAIT")
    assert client.set_traits_for_provider(context, provider, [name, "HW_CPU_X86_AVX"]) is True
    assert placement_adapter.requests == [
        ("GET", f"/traits?name=in:{name},HW_CPU_X86_AVX", "1.6"),
        ("PUT", f"/traits/{name}", "1.6"),
        ("PUT", f"/resource_providers/{provider}/traits", "1.6"),
    ]
    assert outsider.traits(provider) == {name, "HW_CPU_X86_AVX"}
    assert client.cache.tree.data(provider).generation == outsider.generation(provider)


def test_clearing_traits_is_a_put_of_none(client, context, provider, placement_adapter, outsider):
    client.set_traits_for_provider(context, provider, ["HW_CPU_X86_AVX"])
    placement_adapter.requests.clear()
    client.set_traits_for_provider(context, provider, [])
    assert placement_adapter.requests == [("PUT", f"/resource_providers/{provider}/traits", "1.6")]
    assert outsider.traits(provider) == set()


def test_the_traits_that_are_there_already_send_nothing(
    client, context, provider, placement_adapter
):
    assert client.set_traits_for_provider(context, provider, []) is True
    assert placement_adapter.requests == []


def test_a_standard_trait_that_isnt_one_cant_be_created(client, context, provider, outsider):
    with pytest.raises(exceptions.TraitCreationFailed, match="MOTSUC_FOO"):
        client.set_traits_for_provider(context, provider, ["MOTSUC_FOO"])
    assert outsider.traits(provider) == set()


def test_traits_of_a_changed_provider_conflict(client, context, provider, outsider):
    outsider.set_aggregates(provider, [str(uuid4())])
    with pytest.raises(exceptions.ResourceProviderUpdateConflict):
        client.set_traits_for_provider(context, provider, ["HW_CPU_X86_AVX"])


def test_traits_go_with_the_generation_the_caller_read(client, context, provider, outsider):
    outsider.set_traits(provider, ["HW_CPU_X86_AVX"])
    current = client.get_provider_traits(context, provider)
    client.set_traits_for_provider(context, provider, [], generation=current.generation)
    assert outsider.traits(provider) == set()


def test_traits_without_a_cached_provider_need_a_generation(client, context, outsider):
    uuid = outsider.provider()
    with pytest.raises(ValueError, match="No such provider"):
        client.set_traits_for_provider(context, uuid, ["HW_CPU_X86_AVX"])
    client.set_traits_for_provider(context, uuid, ["HW_CPU_X86_AVX"], generation=0)
    assert outsider.traits(uuid) == {"HW_CPU_X86_AVX"}
    assert not client.cache.tree.exists(uuid)


# Aggregates


def test_aggregates_are_set_with_the_cached_generation(
    client, context, provider, placement_adapter, outsider
):
    aggregate = str(uuid4())
    assert client.set_aggregates_for_provider(context, provider, [aggregate]) is True
    assert placement_adapter.requests == [
        ("PUT", f"/resource_providers/{provider}/aggregates", "1.19")
    ]
    assert outsider.aggregates(provider) == {aggregate}
    assert client.cache.tree.data(provider).generation == outsider.generation(provider)
    client.set_aggregates_for_provider(context, provider, [aggregate])
    assert len(placement_adapter.requests) == 1


def test_aggregates_are_sent_if_the_cache_is_of_another_age(
    client, context, provider, outsider, placement_adapter
):
    outsider.set_aggregates(provider, [str(uuid4())])
    generation = outsider.generation(provider)
    client.set_aggregates_for_provider(context, provider, [], generation=generation)
    assert outsider.aggregates(provider) == set()


def test_without_the_cache_aggregates_need_a_generation_and_no_provider(client, context, outsider):
    uuid, aggregate = outsider.provider(), str(uuid4())
    with pytest.raises(ValueError, match="generation"):
        client.set_aggregates_for_provider(context, uuid, [aggregate], use_cache=False)
    client.set_aggregates_for_provider(context, uuid, [aggregate], use_cache=False, generation=0)
    assert outsider.aggregates(uuid) == {aggregate}
    assert not client.cache.tree.exists(uuid)


def test_conflicting_aggregates_forget_the_provider_and_what_is_below_it(client, context, outsider):
    root = outsider.provider()
    child = outsider.provider(parent=root)
    grandchild = outsider.provider(parent=child)
    client.get_provider_tree_and_ensure_root(context, root)
    outsider.set_traits(child, ["HW_CPU_X86_AVX"])
    with pytest.raises(exceptions.ResourceProviderUpdateConflict):
        client.set_aggregates_for_provider(context, child, [str(uuid4())])
    assert client.cache.tree.get_provider_uuids() == [root]
    assert child not in client.cache.read_at
    assert not client.cache.tree.exists(grandchild)


def test_aggregates_that_are_no_uuids_are_a_failed_update(client, context, provider):
    with pytest.raises(exceptions.ResourceProviderUpdateFailed):
        client.set_aggregates_for_provider(context, provider, ["not a uuid"])
