"""The report client reads and ensures providers (compute.md §3.6, scenarios C1–C5)."""

from uuid import uuid4

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from compute.report.trees import providers

SHARES = "MISC_SHARES_VIA_AGGREGATE"


def paths(requests):
    return [f"{method} {url}" for method, url, _ in requests]


def contents(tree):
    return [tree.data(uuid) for uuid in tree.get_provider_uuids()]


# C1


def test_c1_an_unknown_provider_has_no_tree(client, context):
    assert client.get_providers_in_tree(context, str(uuid4())) == []


@pytest.mark.one_by_one
def test_c1_ensuring_an_unknown_root_takes_a_look_and_a_creation(
    client, context, placement_adapter, outsider
):
    uuid = str(uuid4())
    tree = client.get_provider_tree_and_ensure_root(context, uuid)
    assert placement_adapter.requests == [
        ("GET", f"/resource_providers?in_tree={uuid}", "1.14"),
        ("POST", "/resource_providers", "1.20"),
    ]
    assert outsider.shown(uuid)["name"] == uuid
    assert tree.data(uuid) == (uuid, uuid, 0, None, {}, set(), set(), {})


def test_a_root_is_created_under_the_name_given(client, context, outsider):
    uuid, name = str(uuid4()), f"host-{uuid4()}"
    client.get_provider_tree_and_ensure_root(context, uuid, name=name)
    assert outsider.shown(uuid)["name"] == name


def test_an_existing_provider_keeps_its_name_and_parent(client, context, outsider):
    root = outsider.provider()
    child = outsider.provider(name=f"child-{root}", parent=root)
    tree = client.get_provider_tree_and_ensure_root(context, child, name="another")
    assert tree.get_provider_uuids() == [root, child]
    assert tree.data(child).name == f"child-{root}"


def test_a_child_can_be_ensured_below_a_parent_that_isnt_cached(client, context, outsider):
    root, child = outsider.provider(inventory={"VCPU": {"total": 4}}), str(uuid4())
    tree = client.get_provider_tree_and_ensure_root(context, child, parent_provider_uuid=root)
    assert tree.get_provider_uuids() == [root, child]
    assert tree.data(root).inventory["VCPU"]["total"] == 4


def test_a_name_that_is_taken_is_a_failed_creation(client, context, outsider):
    name = f"taken-{uuid4()}"
    outsider.provider(name=name)
    with pytest.raises(exceptions.ResourceProviderCreationFailed, match=name):
        client.get_provider_tree_and_ensure_root(context, str(uuid4()), name=name)


def test_a_provider_that_somebody_else_creates_meanwhile_is_read(
    client, context, outsider, placement_adapter
):
    uuid = str(uuid4())

    def somebody_is_quicker(method, url):
        if method == "POST":
            outsider.provider(uuid=uuid, inventory={"VCPU": {"total": 4}})

    placement_adapter.before = somebody_is_quicker
    tree = client.get_provider_tree_and_ensure_root(context, uuid)
    assert tree.data(uuid).inventory["VCPU"]["total"] == 4


# C2, C3


@pytest.fixture
def known(client, context, outsider, placement_adapter):
    """Make a tree with a sharing provider that the client has read; forget the requests."""
    aggregate = str(uuid4())
    root = outsider.provider(inventory={"VCPU": {"total": 4}}, aggregates=[aggregate])
    child = outsider.provider(parent=root, traits=["HW_CPU_X86_AVX"])
    sharing = outsider.provider(
        inventory={"DISK_GB": {"total": 500}}, traits=[SHARES], aggregates=[aggregate]
    )
    client.get_provider_tree_and_ensure_root(context, root)
    read = list(placement_adapter.requests)
    placement_adapter.requests.clear()
    return root, child, sharing, aggregate, read


@pytest.mark.one_by_one
def test_a_known_tree_is_read_provider_by_provider(known):
    root, child, sharing, aggregate, read = known

    def associations(uuid):
        return [
            ("GET", f"/resource_providers/{uuid}/inventories", None),
            ("GET", f"/resource_providers/{uuid}/aggregates", "1.19"),
            ("GET", f"/resource_providers/{uuid}/traits", "1.6"),
        ]

    assert read == [
        ("GET", f"/resource_providers?in_tree={root}", "1.14"),
        *associations(root),
        ("GET", f"/resource_providers?member_of=in:{aggregate}&required={SHARES}", "1.18"),
        *associations(sharing),
        *associations(child),
    ]


def test_c2_within_the_timer_nothing_is_sent_and_the_copy_is_another(
    client, context, known, placement_adapter
):
    first = client.get_provider_tree_and_ensure_root(context, known[0])
    second = client.get_provider_tree_and_ensure_root(context, known[0])
    assert placement_adapter.requests == []
    assert first is not second
    assert contents(first) == contents(second)
    first.remove(known[0])
    assert second.exists(known[0])
    assert client.cache.tree.exists(known[0])


@pytest.fixture
def clock(monkeypatch):
    """`clock(seconds)` moves the time of the cache on by that much.

    Somebody sets the machine's clock back by a day as soon as anything was read.
    """
    import time

    passed = [0]

    class Later:
        @staticmethod
        def monotonic():
            return time.monotonic() + passed[0]

        @staticmethod
        def time():
            return time.time() - 86_400

    monkeypatch.setattr("compute.report.trees.cache.time", Later)
    return lambda seconds: passed.__setitem__(0, seconds)


@pytest.mark.one_by_one
def test_c3_after_the_timer_the_tree_is_read_again(
    client, context, known, placement_adapter, clock, outsider
):
    outsider.set_traits(known[0], ["CUSTOM_NEW"])
    clock(301)
    tree = client.get_provider_tree_and_ensure_root(context, known[0])
    assert tree.has_traits(known[0], ["CUSTOM_NEW"])
    assert paths(placement_adapter.requests) == paths(known[-1])


def test_c3_a_refresh_period_of_zero_means_never_again(
    client, context, known, placement_adapter, clock, compute_conf
):
    compute_conf.set_override("resource_provider_association_refresh", 0, group="compute")
    clock(10**9)
    client.get_provider_tree_and_ensure_root(context, known[0])
    assert placement_adapter.requests == []


@pytest.mark.one_by_one
def test_c3_a_cleared_cache_is_read_again(client, context, known, placement_adapter):
    client.clear_provider_cache()
    client.get_provider_tree_and_ensure_root(context, known[0])
    assert paths(placement_adapter.requests) == paths(known[-1])


@pytest.mark.one_by_one
def test_only_the_stale_member_of_a_fresh_tree_is_read_again(
    client, context, known, placement_adapter
):
    client.invalidate_resource_provider(known[1], cacheonly=True)
    client.get_provider_tree_and_ensure_root(context, known[0])
    assert paths(placement_adapter.requests) == [
        f"GET /resource_providers/{known[1]}/{what}"
        for what in ("inventories", "aggregates", "traits")
    ]


def test_a_provider_deleted_behind_our_back_is_made_again(client, context, outsider, clock):
    uuid = str(uuid4())
    client.get_provider_tree_and_ensure_root(context, uuid)
    outsider.call("DELETE", f"/resource_providers/{uuid}")
    clock(301)
    tree = client.get_provider_tree_and_ensure_root(context, uuid)
    assert tree.exists(uuid)
    assert outsider.exists(uuid)


@pytest.mark.one_by_one
def test_a_read_that_breaks_off_leaves_nothing_that_passes_for_fresh(
    client, context, known, placement_adapter, clock
):
    root, child = known[:2]
    clock(301)

    def fail(method, url):
        if url.endswith(f"{child}/inventories"):
            raise ksa_exc.ConnectFailure("gone")

    placement_adapter.before = fail
    with pytest.raises(ksa_exc.ConnectFailure):
        client.get_provider_tree_and_ensure_root(context, root)
    placement_adapter.before = None
    clock(302)
    tree = client.get_provider_tree_and_ensure_root(context, root)
    assert tree.has_traits(child, ["HW_CPU_X86_AVX"])


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("inventories", exceptions.ResourceProviderRetrievalFailed),
        ("aggregates", exceptions.ResourceProviderAggregateRetrievalFailed),
        ("traits", exceptions.ResourceProviderTraitRetrievalFailed),
        ("required=", exceptions.ResourceProviderRetrievalFailed),
        ("in_tree=", exceptions.ResourceProviderRetrievalFailed),
    ],
)
def test_a_read_that_is_refused_is_never_taken_for_nothing(
    new_adapter, new_client, context, known, what, error
):
    client = new_client()
    unauthorised = new_adapter()
    unauthorised.additional_headers["x-roles"] = "nobody"

    def refuse(method, url):
        if what in url:
            return unauthorised.get(url)
        return None

    client.transport.adapter.before = refuse
    with pytest.raises(error):
        client.get_provider_tree_and_ensure_root(context, known[0])


# C4, C5


def test_c4_sharing_providers_of_the_members_aggregates_come_along_as_roots(
    client, context, outsider, compute_conf
):
    compute_conf.set_override("sharing_providers_max_uuids_per_request", 1, group="compute")
    disk1, disk2, disk3, ip, bandwidth = (str(uuid4()) for _ in range(5))
    cn = outsider.provider(aggregates=[disk1, disk2])
    pf1, pf2 = (outsider.provider(parent=cn, aggregates=[ip]) for _ in range(2))
    ss1, ss2, ss3, sip, sbw = (
        outsider.provider(traits=[SHARES], aggregates=[aggregate])
        for aggregate in (disk1, disk2, disk3, ip, bandwidth)
    )
    tree = client.get_provider_tree_and_ensure_root(context, cn)
    assert set(tree.get_provider_uuids()) == {cn, pf1, pf2, ss1, ss2, sip}
    assert set(tree.roots_by_uuid) == {cn, ss1, ss2, sip}
    assert tree.data(sip).traits == {SHARES}
    assert not any(tree.exists(uuid) for uuid in (ss3, sbw))


def test_c5_sharing_providers_that_are_children_elsewhere_are_lone_roots(client, context, outsider):
    agg1, agg2, agg3 = (str(uuid4()) for _ in range(3))
    shared_root = outsider.provider()
    ssp = outsider.provider(parent=shared_root, traits=[SHARES], aggregates=[agg1])
    bw1 = outsider.provider(parent=shared_root, traits=[SHARES], aggregates=[agg2])
    bw2 = outsider.provider(traits=[SHARES], aggregates=[agg3])
    cn1 = outsider.provider()
    numa2 = outsider.provider(parent=cn1, aggregates=[agg1])
    pf4 = outsider.provider(parent=numa2, aggregates=[agg2])
    cn2 = outsider.provider(aggregates=[agg3])
    tree = client.get_provider_tree_and_ensure_root(context, cn1)
    assert set(tree.get_provider_uuids()) == {cn1, numa2, pf4, ssp, bw1}
    assert set(tree.roots_by_uuid) == {cn1, ssp, bw1}
    assert not any(tree.exists(uuid) for uuid in (shared_root, bw2, cn2))


def test_a_lone_sharing_root_moves_below_its_parent_when_its_own_tree_is_read(
    client, context, outsider
):
    aggregate = str(uuid4())
    shared_root = outsider.provider()
    ssp = outsider.provider(parent=shared_root, traits=[SHARES], aggregates=[aggregate])
    cn = outsider.provider(aggregates=[aggregate])
    client.get_provider_tree_and_ensure_root(context, cn)
    tree = client.get_provider_tree_and_ensure_root(context, shared_root)
    assert tree.get_provider_uuids(shared_root) == [shared_root, ssp]
    assert set(tree.roots_by_uuid) == {cn, shared_root}


# Sub-trees (compute.md §2.9)


def test_a_subtree_holds_one_root_and_with_sharing_its_sharing_providers(client, context, known):
    root, child, sharing = known[:3]
    client.get_provider_tree_and_ensure_root(context, str(uuid4()))
    alone = client.get_provider_subtree_and_ensure_root(context, root)
    assert alone.scope_rp_uuid == root
    assert alone.get_provider_uuids() == [root, child]
    shared = client.get_provider_subtree_and_ensure_root(context, root, with_sharing=True)
    assert shared.get_provider_uuids() == [root, child, sharing]


# One provider


def test_names_come_from_the_cache_or_from_placement(client, context, known, placement_adapter):
    name = client.get_resource_provider_name(context, known[0])
    assert placement_adapter.requests == []
    client.clear_provider_cache()
    assert client.get_resource_provider_name(context, known[0]) == name
    assert paths(placement_adapter.requests) == [f"GET /resource_providers/{known[0]}"]


def test_an_unknown_uuid_has_no_name(client, context):
    with pytest.raises(exceptions.ResourceProviderNotFound):
        client.get_resource_provider_name(context, str(uuid4()))


def test_a_provider_is_found_by_an_awkward_name(client, context, outsider):
    name = f"Rack 5&6/ä? #{uuid4()}"
    uuid = outsider.provider(name=name)
    assert client.get_provider_by_name(context, name)["uuid"] == uuid


def test_an_unknown_name_is_not_found(client, context):
    with pytest.raises(exceptions.ResourceProviderNotFound, match="nobody"):
        client.get_provider_by_name(context, "nobody")


def test_traits_are_read_with_the_generation(client, context, outsider):
    uuid = outsider.provider(traits=["HW_CPU_X86_AVX"])
    assert client.get_provider_traits(context, uuid) == providers.TraitInfo({"HW_CPU_X86_AVX"}, 1)


def test_traits_of_nobody_cant_be_read(client, context):
    with pytest.raises(exceptions.ResourceProviderTraitRetrievalFailed):
        client.get_provider_traits(context, str(uuid4()))


def test_those_that_exist_are_found_among_many_and_loaded_with_their_trees(
    client, context, outsider
):
    root = outsider.provider()
    child = outsider.provider(parent=root)
    unknown = [str(uuid4()) for _ in range(3)]
    assert client.trees.load_existing(context, [child, *unknown]) == {child}
    assert client.cache.tree.get_provider_uuids() == [root, child]
