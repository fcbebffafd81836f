"""PUT /berth/v1/provider_trees/{root}: a refused change changes nothing and says why."""

import pytest

from tests.functional.placement.extensions.provider_tree_changes.trees import (
    FRESH,
    FRESHER,
    HELD,
    new,
    provider,
    put,
)
from tests.functional.placement.small_cloud import (
    CHILD,
    EMPTY,
    HOLDER,
    NEW,
    OTHER_HOLDER,
    ROOT,
    UNKNOWN,
    holding,
    numbered,
)

pytestmark = pytest.mark.spread_over_databases

#: each is below the one before
DEEP = [numbered("a", 1_000 + number) for number in range(1_001)]
REFUSED = {
    "more levels than one write may add": (
        400,
        "at most 1000 levels of providers",
        ROOT,
        {
            "providers": {
                uuid: new(uuid, uuid, parent)[uuid]
                for uuid, parent in zip(DEEP, (ROOT, *DEEP), strict=False)
            }
        },
    ),
    "an unknown root": (404, f"No resource provider with uuid {UNKNOWN} found", UNKNOWN, {}),
    "a root that is no uuid": (404, "with uuid x found", "x", {}),
    "children of an unknown root": (
        404,
        f"{UNKNOWN} found",
        UNKNOWN,
        {"providers": new(parent=UNKNOWN)},
    ),
    "a tree named by a child": (400, "tree with the root", CHILD, {}),
    "a root that doesn't exist any more": (
        400,
        f"Resource provider {UNKNOWN} in providers not found",
        UNKNOWN,
        {"providers": {UNKNOWN: {"generation": 3}}},
    ),
    "a provider that doesn't exist any more": (
        400,
        f"Resource provider {UNKNOWN} in providers not found",
        ROOT,
        {"providers": {UNKNOWN: {"generation": 3}}},
    ),
    "a removed provider that doesn't exist": (
        400,
        f"Resource provider {UNKNOWN} in remove not found",
        ROOT,
        {"remove": {UNKNOWN: 3}},
    ),
    "a provider both to write and to remove": (
        400,
        f"{CHILD} is both in providers and in remove",
        ROOT,
        {"providers": provider(CHILD), "remove": {CHILD: 2}},
    ),
    "a uuid in two spellings": (
        400,
        f"{CHILD} is named twice",
        ROOT,
        {"remove": {CHILD: 2, CHILD.upper(): 2}},
    ),
    "a generation that moved on": (
        409,
        f"conflict for provider {CHILD}: actual: 2, given: 1",
        ROOT,
        {"providers": {CHILD: {"generation": 1, "traits": []}}},
    ),
    "a removal of a generation that moved on": (
        409,
        f"conflict for provider {CHILD}: actual: 2, given: 1",
        ROOT,
        {"remove": {CHILD: 1}},
    ),
    "a new provider that exists": (
        409,
        f"Conflicting resource provider uuid: {CHILD} already exists",
        ROOT,
        {"providers": new(CHILD)},
    ),
    "a new provider of another tree that exists": (
        409,
        f"Conflicting resource provider uuid: {EMPTY} already exists",
        ROOT,
        {"providers": new(EMPTY)},
    ),
    "a new provider without a name": (
        400,
        f'Unable to create resource provider "", {FRESH}: Object action create failed because: '
        "name is required",
        ROOT,
        {"providers": {FRESH: {"generation": None, "parent_provider_uuid": ROOT}}},
    ),
    "a new provider that is its own parent": (
        400,
        f'"fresh", {FRESH}: Object action create failed because: parent provider UUID cannot be',
        ROOT,
        {"providers": new(parent=FRESH)},
    ),
    "a new provider with an unknown parent": (
        400,
        f"{FRESH}: Object action create failed because: parent provider UUID does not exist.",
        ROOT,
        {"providers": new(parent=UNKNOWN)},
    ),
    "an unknown parent": (
        400,
        f"Unable to save resource provider {CHILD}: Object action create failed because: parent",
        ROOT,
        {"providers": provider(CHILD, parent_provider_uuid=UNKNOWN)},
    ),
    "a circle": (
        400,
        f"Unable to save resource provider {ROOT}: Object action update failed because: creating",
        ROOT,
        {"providers": provider(ROOT, parent_provider_uuid=CHILD)},
    ),
    "its own parent": (
        400,
        f"Unable to save resource provider {CHILD}: Object action update failed because: creating",
        ROOT,
        {"providers": provider(CHILD, parent_provider_uuid=CHILD)},
    ),
    "a circle of new ones": (
        400,
        "Object action create failed because: creating loop",
        ROOT,
        {"providers": new(parent=FRESHER) | new(FRESHER, "fresher", parent=FRESH)},
    ),
    "two roots": (
        400,
        f"{CHILD} would be a second root, beside {ROOT}.",
        ROOT,
        {"providers": provider(CHILD, parent_provider_uuid=None)},
    ),
    "a second new root": (
        400,
        f"{FRESH} would be a second root, beside {ROOT}.",
        ROOT,
        {"providers": new(parent=None)},
    ),
    "a new provider without a parent": (
        400,
        f"{FRESH} would be a second root",
        ROOT,
        {"providers": {FRESH: {"generation": None, "name": "fresh"}}},
    ),
    "a provider of another tree": (
        400,
        f"{EMPTY} would be a second root, beside {ROOT}",
        ROOT,
        {"providers": provider(EMPTY, traits=[])},
    ),
    "a new provider of another tree": (
        400,
        f"{FRESH} would be in the tree with the root {EMPTY}, not in the tree with the root {ROOT}",
        ROOT,
        {"providers": new(parent=EMPTY)},
    ),
    "a move into another tree": (
        400,
        f"{CHILD} would be in the tree with the root {EMPTY}",
        ROOT,
        {"providers": provider(CHILD, parent_provider_uuid=EMPTY)},
    ),
    "a removal in another tree": (400, f"{EMPTY} would be", ROOT, {"remove": {EMPTY: 0}}),
    "a taken name": (
        409,
        "Conflicting resource provider empty already exists",
        ROOT,
        {"providers": provider(CHILD, name="empty")},
    ),
    "a taken name of a new one": (
        409,
        "Conflicting resource provider name: empty already exists",
        ROOT,
        {"providers": new(name="empty")},
    ),
    "two new ones with the same name": (
        409,
        "Conflicting resource provider name: same already exists",
        ROOT,
        {"providers": new(name="same") | new(FRESHER, "same")},
    ),
    "a name of 201 characters": (400, "is too long", ROOT, {"providers": new(name="x" * 201)}),
    "a new child of a removed provider": (
        409,
        f"Unable to delete parent resource provider {CHILD}",
        ROOT,
        {
            "providers": new(parent=CHILD),
            "remove": {CHILD: 2},
            "allocations": {OTHER_HOLDER: holding({}, 1)},
        },
    ),
    "a removed root with children": (
        409,
        f"Unable to delete parent resource provider {ROOT}",
        ROOT,
        {"remove": {ROOT: 5}, "allocations": {HOLDER: holding({}, 2)}},
    ),
    "a removed provider in use": (
        409,
        f"Unable to delete resource provider {CHILD}: Resource provider has allocations",
        ROOT,
        {"remove": {CHILD: 2}},
    ),
    "an allocation from a removed provider": (
        409,
        f"Unable to delete resource provider {CHILD}: Resource provider has allocations",
        ROOT,
        {"remove": {CHILD: 2}, "allocations": {OTHER_HOLDER: holding({CHILD: {"VGPU": 2}}, 1)}},
    ),
    "inventory in use": (
        409,
        f"update conflict: Inventory for 'VCPU, DISK_GB' on resource provider '{ROOT}' in use.",
        ROOT,
        {"providers": provider(ROOT, inventories={"CUSTOM_A": {"total": 4}})},
    ),
    "an inventory without capacity": (
        400,
        f"Unable to update inventory for resource provider {CHILD}: Invalid inventory for 'VGPU'",
        ROOT,
        {"providers": provider(CHILD, inventories={"VGPU": {"total": 2, "reserved": 3}})},
    ),
    "an unknown class": (
        400,
        f"Unknown resource class in inventory for resource provider {CHILD}: "
        "No such resource class CUSTOM_NEW.",
        ROOT,
        {"providers": provider(CHILD, inventories={"CUSTOM_NEW": {"total": 2}})},
    ),
    "an unknown standard class": (
        400,
        "No such resource class FLOPS.",
        ROOT,
        {
            "providers": provider(CHILD, inventories={"FLOPS": {"total": 2}}),
            "create_names": True,
        },
    ),
    "a custom class that can't be": (
        400,
        "Unable to create resource class CUSTOM_é: the name of a custom resource class has",
        ROOT,
        {
            "providers": provider(CHILD, inventories={"CUSTOM_é": {"total": 2}}),
            "create_names": True,
        },
    ),
    "an unknown class in an allocation": (
        400,
        "Unable to allocate inventory No such resource class CUSTOM_NEW.",
        ROOT,
        {"allocations": {NEW: holding({ROOT: {"CUSTOM_NEW": 1}})}},
    ),
    "an unknown class in an allocation, although names are created": (
        400,
        "Unable to allocate inventory No such resource class CUSTOM_NEW.",
        ROOT,
        {
            "providers": provider(CHILD, inventories={"CUSTOM_N": {"total": 2}}),
            "allocations": {NEW: holding({ROOT: {"CUSTOM_NEW": 1}})},
            "create_names": True,
        },
    ),
    "unknown traits": (
        400,
        "No such trait CUSTOM_NEW, HW_NOTHING",
        ROOT,
        {"providers": provider(CHILD, traits=["CUSTOM_NEW", "HW_NOTHING"])},
    ),
    "an unknown standard trait": (
        400,
        "No such trait HW_NOTHING",
        ROOT,
        {"providers": provider(CHILD, traits=["HW_NOTHING", "CUSTOM_N"]), "create_names": True},
    ),
    "a custom trait that can't be": (
        400,
        "Unable to create trait CUSTOM_new: the name of a custom trait has",
        ROOT,
        {"providers": provider(CHILD, traits=["CUSTOM_new"]), "create_names": True},
    ),
    "an aggregate that is no uuid": (
        400,
        "is not a 'uuid'",
        ROOT,
        {"providers": provider(CHILD, aggregates=["x"])},
    ),
    "a consumer's generation that moved on": (
        409,
        "consumer generation conflict - expected 2 but got 1",
        ROOT,
        {"providers": new(), "allocations": {HOLDER: holding(HELD, 1)}},
    ),
    "an allocation from an unknown provider": (
        400,
        f"Allocation for resource provider '{UNKNOWN}' that does not exist.",
        ROOT,
        {"providers": new(), "allocations": {NEW: holding({UNKNOWN: {"VCPU": 1}})}},
    ),
    "more than the new capacity": (
        409,
        f"Unable to allocate inventory: Unable to create allocation for 'VCPU' on resource "
        f"provider '{FRESH}'. The requested amount would exceed the capacity.",
        ROOT,
        {
            "providers": new(inventories={"VCPU": {"total": 1}}, traits=["CUSTOM_N"]),
            "allocations": {NEW: holding({FRESH: {"VCPU": 2}})},
            "create_names": True,
        },
    ),
    "no generation": (400, "'generation' is a required", ROOT, {"providers": {FRESH: {}}}),
    "an unknown key": (400, "Additional properties", ROOT, {"provider": {}}),
    "a key that is no uuid": (400, "On instance['remove']", ROOT, {"remove": {"-" * 36: 1}}),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_refused_change_changes_nothing_and_says_why(case, unchanging):
    status, words, root, body = case
    before = unchanging.tables()
    response = put(unchanging, root, **body)
    assert response.status_code == status, response.text
    error = response.json["errors"][0]
    assert "code" in error
    assert words in " ".join(error["detail"].split())
    assert unchanging.tables() == before
