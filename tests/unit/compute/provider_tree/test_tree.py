"""ProviderTree (compute.md §2): its shape, lookups, and what counts as a change."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest

from compute.provider_tree import ProviderSubTree, ProviderTree
from tests.unit.compute.provider_tree.provider_trees import VCPU, example


@pytest.fixture
def tree():
    return example()


# Adding and removing


def test_t1_a_child_without_a_uuid_gets_one_made_up():
    tree = ProviderTree()
    tree.new_root("cn", "cn-uuid")
    uuid = tree.new_child("c1", "cn")
    assert str(UUID(uuid)) == uuid
    assert len(uuid) == 36
    assert tree.data("c1").parent_uuid == "cn-uuid"


def test_new_root_returns_its_uuid(tree):
    assert tree.new_root("other", "other-uuid") == "other-uuid"


@pytest.mark.parametrize("uuid", ["cn-uuid", "pf0-uuid", "numa1"])
def test_t2_a_root_may_not_take_a_uuid_that_is_someones_uuid_or_name(tree, uuid):
    with pytest.raises(ValueError, match=f"Provider {uuid} already exists"):
        tree.new_root("fresh", uuid)


def test_a_root_needs_a_uuid(tree):
    with pytest.raises(ValueError, match="needs a uuid"):
        tree.new_root("fresh", None)


@pytest.mark.parametrize("taken", ["pf0-uuid", "ssp"])
def test_t2_a_child_may_not_take_a_uuid_that_is_someones_uuid_or_name(tree, taken):
    with pytest.raises(ValueError, match="already exists"):
        tree.new_child("fresh", "cn", uuid=taken)


def test_t2_a_child_without_a_uuid_needs_a_name_unused_in_the_whole_forest(tree):
    with pytest.raises(ValueError, match="Provider pf0 already exists"):
        tree.new_child("pf0", "ssp")


def test_a_child_with_a_uuid_may_repeat_a_name(tree):
    tree.new_child("pf0", "ssp", uuid="second-pf0")
    assert tree.data("second-pf0").name == "pf0"


def test_t2_a_child_needs_a_parent_that_exists(tree):
    with pytest.raises(ValueError, match="No such provider nope"):
        tree.new_child("fresh", "nope")


def test_t5_removing_a_provider_removes_all_below_it(tree):
    tree.remove("numa0")
    assert tree.get_provider_uuids() == ["cn-uuid", "numa1-uuid", "ssp-uuid"]
    assert not tree.exists("pf0")
    with pytest.raises(ValueError, match="No such provider numa0"):
        tree.remove("numa0")


def test_removing_a_root_frees_its_name_and_uuid(tree):
    tree.remove("cn")
    tree.new_root("cn", "cn-uuid")
    assert tree.get_provider_uuids("cn") == ["cn-uuid"]


def test_two_roots_of_one_name_are_both_removable(tree):
    tree.new_root("cn", "second-cn")
    assert tree.data("cn").uuid == "second-cn"
    tree.remove("cn-uuid")
    assert tree.data("cn").uuid == "second-cn"
    tree.remove("second-cn")
    assert not tree.exists("cn")


def test_the_older_of_two_namesake_roots_is_found_again_when_the_newer_goes(tree):
    tree.new_root("cn", "second-cn")
    tree.remove("second-cn")
    assert tree.data("cn").uuid == "cn-uuid"


# Order and lookup


def test_t3_uuids_come_depth_first_and_parents_before_children():
    tree = ProviderTree()
    expected = []
    for root in ("r2", "r1"):
        expected.append(tree.new_root(root, f"{root}u"))
        for child in (f"{root}b", f"{root}a"):
            expected.append(tree.new_child(child, root, f"{child}u"))
            for grandchild in (f"{child}y", f"{child}x"):
                expected.append(tree.new_child(grandchild, child, f"{grandchild}u"))
    assert tree.get_provider_uuids() == expected


def test_uuids_of_one_provider_are_it_and_all_below(tree):
    assert tree.get_provider_uuids("numa0") == ["numa0-uuid", "pf0-uuid"]


def test_t4_uuids_of_the_whole_tree_of_a_grandchild_start_at_its_root(tree):
    assert tree.get_provider_uuids_in_tree("pf0") == [
        "cn-uuid",
        "numa0-uuid",
        "pf0-uuid",
        "numa1-uuid",
    ]


def test_names_and_uuids_are_compared_literally(tree):
    assert not tree.exists("CN-UUID")
    assert not tree.exists("Cn")


def test_a_root_hides_a_child_of_the_same_name(tree):
    tree.new_child("double", "cn", uuid="the-child")
    tree.new_root("double", "the-root")
    assert tree.data("double").uuid == "the-root"


def test_among_namesakes_the_first_in_walk_order_wins(tree):
    tree.new_child("double", "numa1", uuid="later-in-the-walk")
    tree.new_child("double", "numa0", uuid="earlier-in-the-walk")
    assert tree.data("double").uuid == "earlier-in-the-walk"


def test_a_name_that_is_another_providers_uuid_goes_by_walk_order(tree):
    tree.new_child("early", "numa0", uuid="contested")
    tree.new_child("contested", "numa1", uuid="late")
    assert tree.data("contested").uuid == "contested"
    tree.remove("early")
    assert tree.data("contested").uuid == "late"


def test_roots_are_kept_by_uuid_and_by_name(tree):
    assert list(tree.roots_by_uuid) == ["cn-uuid", "ssp-uuid"]
    assert list(tree.roots_by_name) == ["cn", "ssp"]
    assert [root.uuid for root in tree.roots] == ["cn-uuid", "ssp-uuid"]


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("data", ()),
        ("get_provider_uuids", ()),
        ("get_provider_uuids_in_tree", ()),
        ("has_inventory", ()),
        ("has_inventory_changed", ({},)),
        ("update_inventory", ({},)),
        ("has_traits", ([],)),
        ("have_traits_changed", ([],)),
        ("update_traits", ([],)),
        ("add_traits", ("X",)),
        ("remove_traits", ("X",)),
        ("in_aggregates", ([],)),
        ("have_aggregates_changed", ([],)),
        ("update_aggregates", ([],)),
        ("add_aggregates", ()),
        ("remove_aggregates", ()),
        ("update_resources", ({},)),
        ("remove", ()),
        ("subtree", ()),
    ],
)
def test_t9_a_missing_provider_is_a_value_error(tree, method, arguments):
    with pytest.raises(ValueError, match="No such provider nope"):
        getattr(tree, method)("nope", *arguments)


def test_exists_never_raises(tree):
    assert tree.exists("cn")
    assert not tree.exists("nope")
    assert not tree.exists(None)


# Inventory


def test_inventory_is_absent_until_there_is_some(tree):
    assert not tree.has_inventory("cn")
    tree.update_inventory("cn", {"VCPU": VCPU})
    assert tree.has_inventory("cn")
    tree.update_inventory("cn", {})
    assert not tree.has_inventory("cn")


@pytest.mark.parametrize(
    ("wanted", "changed"),
    [
        ({"VCPU": {"total": 8}}, False),
        ({"VCPU": {}}, False),
        ({"VCPU": {"total": 8.0, "allocation_ratio": 16}}, False),
        ({"VCPU": {**VCPU, "reserved": 1}}, True),
        ({"VCPU": {**VCPU, "new_field": None}}, True),
        ({"VCPU": VCPU, "MEMORY_MB": {"total": 1}}, True),
        ({"MEMORY_MB": VCPU}, True),
        ({}, True),
    ],
)
def test_t6_inventory_changes_by_other_classes_new_fields_and_other_values(tree, wanted, changed):
    tree.update_inventory("cn", {"VCPU": VCPU})
    assert tree.has_inventory_changed("cn", wanted) is changed
    assert tree.update_inventory("cn", wanted) is changed
    assert tree.data("cn").inventory == (wanted if changed else {"VCPU": VCPU})


def test_none_is_no_inventory(tree):
    with pytest.raises(TypeError):
        tree.update_inventory("cn", None)


@pytest.mark.parametrize(
    ("update", "value"),
    [
        ("update_inventory", {"VCPU": VCPU}),
        ("update_traits", ["T"]),
        ("update_aggregates", ["A"]),
    ],
)
def test_t7_a_generation_is_stored_even_without_a_change(tree, update, value):
    assert getattr(tree, update)("cn", value) is True
    assert tree.data("cn").generation == 3
    assert getattr(tree, update)("cn", value, generation=11) is False
    assert tree.data("cn").generation == 11
    assert getattr(tree, update)("cn", value) is False
    assert tree.data("cn").generation == 11
    getattr(tree, update)("cn", value, generation=0)
    assert tree.data("cn").generation == 0


def test_t8_what_was_passed_in_and_what_was_given_out_can_be_edited_freely(tree):
    inventory, traits, aggregates, resources = {"VCPU": dict(VCPU)}, {"T"}, {"A"}, {"PMEM": {"r1"}}
    tree.update_inventory("cn", inventory)
    tree.update_traits("cn", traits)
    tree.update_aggregates("cn", aggregates)
    tree.update_resources("cn", resources)
    before = tree.data("cn")
    for mine in (inventory, tree.data("cn").inventory):
        mine["VCPU"]["total"] = 99
        mine["MEMORY_MB"] = {}
    for mine in (traits, tree.data("cn").traits, aggregates, tree.data("cn").aggregates):
        mine.add("X")
    for mine in (resources, tree.data("cn").resources):
        mine["PMEM"].add("r2")
    assert tree.data("cn") == before


def test_provider_data_is_a_named_tuple_in_the_documented_order(tree):
    assert tree.data("numa0")._asdict() == {
        "uuid": "numa0-uuid",
        "name": "numa0",
        "generation": None,
        "parent_uuid": "cn-uuid",
        "inventory": {},
        "traits": set(),
        "aggregates": set(),
        "resources": {},
    }
    with pytest.raises(AttributeError):
        tree.data("cn").name = "x"


def test_t13_a_sharing_provider_has_the_class_and_the_trait(tree):
    tree.update_inventory("ssp", {"DISK_GB": {"total": 500}})
    assert not tree.has_sharing_provider("DISK_GB")
    tree.add_traits("ssp", "MISC_SHARES_VIA_AGGREGATE")
    assert tree.has_sharing_provider("DISK_GB")
    assert not tree.has_sharing_provider("VCPU")


def test_resources_are_replaced_when_they_differ(tree):
    assert tree.update_resources("cn", {"PMEM": {1, 2}}) is True
    assert tree.update_resources("cn", {"PMEM": {2, 1}}) is False
    assert tree.update_resources("cn", {}) is True
    assert tree.data("cn").generation == 3


# Traits and aggregates


@pytest.mark.parametrize(
    ("kind", "has"), [("traits", "has_traits"), ("aggregates", "in_aggregates")]
)
def test_t10_traits_and_aggregates_are_sets(tree, kind, has):
    update, changed = getattr(tree, f"update_{kind}"), getattr(tree, f"have_{kind}_changed")
    add, remove = getattr(tree, f"add_{kind}"), getattr(tree, f"remove_{kind}")
    assert update("cn", ["B", "A", "A"]) is True
    assert update("cn", ["A", "B"]) is False
    assert changed("cn", ("B", "A", "B")) is False
    assert changed("cn", []) is True
    assert getattr(tree, has)("cn", []) is True
    assert getattr(tree, has)("cn", ["A", "B"]) is True
    assert getattr(tree, has)("cn", ["A", "C"]) is False
    add("cn", "C", "A")
    remove("cn", "B", "never there")
    assert getattr(tree.data("cn"), kind) == {"A", "C"}
    assert tree.data("cn").generation == 3


@pytest.mark.parametrize("method", ["add_traits", "remove_traits"])
def test_t9_no_traits_for_a_missing_provider_go_unnoticed(tree, method):
    assert getattr(tree, method)("nope") is None


# Copies and threads


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_t12_copies_are_equal_independent_and_under_the_same_lock(tree, copied):
    tree.update_inventory("pf0", {"SRIOV_NET_VF": {"total": 4}})
    tree.update_traits("pf0", ["T"])
    tree.update_resources("cn", {"PMEM": {"r"}})
    twin = copied(tree)
    assert twin.get_provider_uuids() == tree.get_provider_uuids()
    assert [twin.data(u) for u in twin.get_provider_uuids()] == [
        tree.data(u) for u in tree.get_provider_uuids()
    ]
    assert twin.lock is tree.lock
    twin.remove("numa0")
    twin.add_traits("cn", "ONLY_IN_THE_COPY")
    assert tree.exists("pf0")
    assert not tree.has_traits("cn", ["ONLY_IN_THE_COPY"])


def test_t14_threads_add_read_and_copy_at_once():
    tree = ProviderTree()
    tree.new_root("cn", "cn-uuid")
    barrier = threading.Barrier(20)

    def work(number):
        barrier.wait()
        for step in range(10):
            uuid = tree.new_child(f"child-{number}-{step}", "cn")
            tree.update_inventory(uuid, {"VCPU": VCPU})
            assert copy.deepcopy(tree).has_inventory(uuid)
            assert tree.has_sharing_provider("VCPU") is False
            assert uuid in tree.get_provider_uuids_in_tree(uuid)

    with ThreadPoolExecutor(20) as pool:
        for done in [pool.submit(work, number) for number in range(20)]:
            done.result()
    assert len(tree.get_provider_uuids()) == 1 + 20 * 10


# Sub-trees


def test_a_subtree_is_an_independent_copy_of_one_root(tree):
    tree.update_inventory("pf0", {"SRIOV_NET_VF": {"total": 4}})
    scope = tree.subtree("cn")
    assert isinstance(scope, ProviderSubTree)
    assert scope.scope_rp_uuid == "cn-uuid"
    assert scope.get_provider_uuids() == tree.get_provider_uuids("cn")
    assert scope.data("pf0") == tree.data("pf0")
    scope.remove("cn")
    assert tree.exists("cn")
    assert scope.lock is tree.lock


def test_only_a_root_has_a_subtree(tree):
    with pytest.raises(ValueError, match="Provider numa0 is not a root"):
        tree.subtree("numa0")


def test_a_subtree_constructed_by_hand_is_empty_and_its_scope_is_read_only():
    scope = ProviderSubTree("cn-uuid")
    assert scope.get_provider_uuids() == []
    with pytest.raises(AttributeError):
        scope.scope_rp_uuid = "other"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_a_copied_subtree_keeps_its_scope(tree, copied):
    twin = copied(tree.subtree("cn"))
    assert isinstance(twin, ProviderSubTree)
    assert twin.scope_rp_uuid == "cn-uuid"
    assert twin.exists("pf0")


def test_sharing_providers_of_the_members_aggregates_can_come_along(tree):
    for uuid, aggregate in (("ssp", "agg1"), ("other", "agg2"), ("plain", "agg1")):
        if not tree.exists(uuid):
            tree.new_root(uuid, f"{uuid}-uuid")
        tree.update_aggregates(uuid, [aggregate])
    tree.add_traits("ssp", "MISC_SHARES_VIA_AGGREGATE")
    tree.add_traits("other", "MISC_SHARES_VIA_AGGREGATE")
    tree.new_child("below-ssp", "ssp")
    tree.update_aggregates("pf0", ["agg1"])
    scope = tree.subtree_with_sharing("cn")
    assert scope.get_provider_uuids() == [*tree.get_provider_uuids("cn"), "ssp-uuid"]
    assert scope.data("ssp") == tree.data("ssp")


def test_thousands_of_roots_are_found_without_a_walk():
    tree = ProviderTree()
    nodes = [(f"node-{number}", str(uuid4())) for number in range(3000)]
    for name, uuid in nodes:
        tree.new_root(name, uuid)
    tree._walk = None  # finding must not need it
    for name, uuid in nodes:
        assert tree.data(name).uuid == uuid
        assert tree.get_provider_uuids_in_tree(uuid) == [uuid]


def test_who_shares_is_looked_for_again_when_traits_or_providers_change(tree):
    tree.update_aggregates("cn", ["agg"])
    pool = tree.new_root("pool", "uuid-pool")
    tree.update_aggregates(pool, ["agg"])
    seen = []
    for change in (
        lambda: None,
        lambda: tree.add_traits(pool, "MISC_SHARES_VIA_AGGREGATE"),
        lambda: tree.remove_traits(pool, "MISC_SHARES_VIA_AGGREGATE"),
        lambda: tree.update_traits(pool, ["MISC_SHARES_VIA_AGGREGATE"]),
        lambda: tree.remove(pool),
    ):
        change()
        seen.append(tree.subtree_with_sharing("cn").exists("pool"))
    assert seen == [False, True, False, True, False]


def test_the_provider_itself_is_found_for_those_who_look_inside(tree):
    found = tree._find_with_lock("pf0")
    root = tree._find_with_lock("pf0", return_root=True)

    assert (found.uuid, found.parent_uuid, root.uuid) == ("pf0-uuid", "numa0-uuid", "cn-uuid")


def test_a_provider_that_is_not_there_is_not_found_inside_either(tree):
    with pytest.raises(ValueError, match="No such provider nope"):
        tree._find_with_lock("nope")
