"""PUT /berth/v1/provider_trees/{root}: the rules hold for the result."""

import json

import pytest

from tests.functional.placement.extensions.provider_tree_changes.trees import (
    FRESH,
    FRESHER,
    HELD,
    done,
    new,
    provider,
    put,
)
from tests.functional.placement.service import statements
from tests.functional.placement.small_cloud import (
    CHILD,
    EMPTY,
    HOLDER,
    NEW,
    OTHER_HOLDER,
    ROOT,
    holding,
    numbered,
)

pytestmark = pytest.mark.spread_over_databases


def shown(service, uuid):
    response = service.get(f"/resource_providers/{uuid}")
    assert response.status_code == 200, response.text
    return {key: value for key, value in response.json.items() if key != "links"}


@pytest.mark.parametrize(
    "body",
    [{}, {"providers": {}}, {"remove": {}}, {"allocations": {}}, {"create_names": True}],
    ids=json.dumps,
)
def test_an_empty_change_changes_nothing(body, filled):
    before = filled.tables()
    assert done(put(filled, **body)) == {}
    assert filled.tables() == before


def test_a_provider_that_is_only_named_is_only_checked(filled):
    before = filled.tables()
    assert done(put(filled, providers=provider(CHILD))) == {CHILD: 2}
    same = provider(CHILD, name="child", parent_provider_uuid=ROOT, traits=[])
    assert done(put(filled, providers=same)) == {CHILD: 2}
    assert filled.tables() == before


def test_what_is_left_out_stays(filled):
    fields = ("inventories", "traits", "aggregates")
    before = [filled.get(f"/resource_providers/{ROOT}/{each}").json for each in fields]
    assert done(put(filled, providers=provider(ROOT, name="renamed"))) == {ROOT: 5}
    assert [filled.get(f"/resource_providers/{ROOT}/{each}").json for each in fields] == before
    assert shown(filled, ROOT)["name"] == "renamed"


def test_a_tree_comes_up_in_any_order_of_the_body(service):
    chain = [numbered("d", number) for number in range(6)]
    parents = dict(zip(chain, [None, *chain], strict=False))
    providers = {}
    for uuid in [chain[3], chain[0], chain[5], chain[1], chain[4], chain[2]]:
        providers |= new(uuid, f"name of {uuid}", parents[uuid])
    assert done(put(service, chain[0], providers=providers)) == dict.fromkeys(chain, 0)
    for uuid in chain:
        found = shown(service, uuid)
        assert (found["parent_provider_uuid"], found["root_provider_uuid"]) == (
            parents[uuid],
            chain[0],
        )


def test_uuids_are_read_in_any_case(service):
    providers = new(ROOT.upper(), "root", None) | new(CHILD, "child", ROOT.upper())
    assert done(put(service, ROOT.upper(), providers=providers)) == {ROOT: 0, CHILD: 0}
    assert shown(service, CHILD)["root_provider_uuid"] == ROOT


def test_parent_and_child_change_places(filled):
    providers = provider(ROOT, parent_provider_uuid=CHILD) | provider(
        CHILD, parent_provider_uuid=None
    )
    assert done(put(filled, CHILD, providers=providers)) == {ROOT: 5, CHILD: 2}
    assert shown(filled, ROOT)["root_provider_uuid"] == CHILD
    assert shown(filled, CHILD)["parent_provider_uuid"] is None
    assert filled.ask("SELECT COUNT(*) FROM resource_providers WHERE root_provider_id = id") == [
        (2,)
    ]


def test_names_are_swapped_and_taken_over(filled):
    providers = provider(ROOT, name="child") | provider(CHILD, name="root")
    assert done(put(filled, providers=providers)) == {ROOT: 5, CHILD: 2}
    assert (shown(filled, ROOT)["name"], shown(filled, CHILD)["name"]) == ("child", "root")
    done(put(filled, providers=provider(CHILD, name="gone") | new(name="root")))
    assert shown(filled, FRESH)["name"] == "root"
    taken = new(FRESHER, "gone") | {FRESH: {"generation": 0, "name": "other"}}
    free = {OTHER_HOLDER: holding({}, 1)}
    done(put(filled, providers=taken, remove={CHILD: 2}, allocations=free))
    assert shown(filled, FRESHER)["name"] == "gone"


def test_a_subtree_comes_from_another_tree(filled):
    done(put(filled, EMPTY, providers=new(parent=EMPTY) | new(FRESHER, "below", FRESH)))
    moved = {FRESH: {"generation": 0, "parent_provider_uuid": CHILD}}
    assert done(put(filled, providers=moved)) == {FRESH: 0}
    for uuid in (FRESH, FRESHER):
        assert shown(filled, uuid)["root_provider_uuid"] == ROOT
    found = filled.get(f"/resource_providers?in_tree={ROOT}").json["resource_providers"]
    assert len(found) == 4


def test_a_child_becomes_a_root_with_its_subtree(filled):
    done(put(filled, providers=new(parent=CHILD)))
    done(put(filled, CHILD, providers=provider(CHILD, parent_provider_uuid=None)))
    assert shown(filled, FRESH)["root_provider_uuid"] == CHILD
    assert shown(filled, CHILD)["parent_provider_uuid"] is None


def test_a_tree_comes_below_a_new_root(filled):
    providers = (
        new(parent=None) | provider(ROOT, parent_provider_uuid=FRESH) | new(FRESHER, "leaf", CHILD)
    )
    assert done(put(filled, FRESH, providers=providers)) == {FRESH: 0, FRESHER: 0, ROOT: 5}
    for uuid in (ROOT, CHILD, FRESHER):
        assert shown(filled, uuid)["root_provider_uuid"] == FRESH


def test_moves_obey_the_microversion(filled):
    moved = new(parent=ROOT)
    done(put(filled, version="1.0", providers=moved))
    moved = {FRESH: {"generation": 0, "parent_provider_uuid": CHILD}}
    assert put(filled, version="1.36", providers=moved).status_code == 400
    assert done(put(filled, version="1.37", providers=moved)) == {FRESH: 0}
    root = {FRESH: {"generation": 0, "parent_provider_uuid": None}}
    assert put(filled, FRESH, version="1.36", providers=root).status_code == 400


def test_before_1_26_an_inventory_must_not_be_full(filled):
    full = provider(CHILD, inventories={"VGPU": {"total": 2, "reserved": 2}})
    assert put(filled, version="1.25", providers=full).status_code == 400
    assert done(put(filled, version="1.26", providers=full)) == {CHILD: 3}


@pytest.mark.parametrize("version", ["1.0", "1.27", "1.30", "1.33"])
def test_consumers_have_their_generation_at_every_version(version, filled):
    wanted = holding(HELD, 1)
    del wanted["consumer_type"]
    refused = put(filled, version=version, allocations={HOLDER: wanted})
    assert refused.status_code == 409, refused.text
    assert done(
        put(filled, version=version, allocations={HOLDER: wanted | {"consumer_generation": 2}})
    ) == {ROOT: 6}


def test_the_children_of_a_removed_provider_move_in_the_same_request(filled):
    done(put(filled, providers=new(parent=CHILD)))
    generations = done(
        put(
            filled,
            providers={FRESH: {"generation": 0, "parent_provider_uuid": ROOT}},
            remove={CHILD: 2},
            allocations={OTHER_HOLDER: holding({}, 1)},
        )
    )
    assert generations == {FRESH: 0}
    assert filled.get(f"/resource_providers/{CHILD}").status_code == 404


def test_parents_and_children_are_removed_together(filled):
    emptied = {HOLDER: holding({}, 2), OTHER_HOLDER: holding({}, 1)}
    assert done(put(filled, remove={ROOT: 5, CHILD: 2}, allocations=emptied)) == {}
    assert len(filled.get("/resource_providers").json["resource_providers"]) == 1
    sizes = filled.sizes()
    assert (sizes["inventories"], sizes["allocations"], sizes["consumers"]) == (0, 0, 0)
    assert sizes["resource_provider_traits"] == sizes["resource_provider_aggregates"] == 0


def test_a_reshape_moves_inventory_and_allocations(filled):
    generations = done(
        put(
            filled,
            providers=provider(ROOT, inventories={"DISK_GB": {"total": 100}})
            | new(parent=CHILD, inventories={"VCPU": {"total": 8}}),
            allocations={HOLDER: holding({ROOT: {"DISK_GB": 10}, FRESH: {"VCPU": 4}}, 2)},
        )
    )
    assert generations == {ROOT: 6, FRESH: 1}
    held = filled.get(f"/allocations/{HOLDER}").json
    assert held["consumer_generation"] == 3
    assert {uuid: found["resources"] for uuid, found in held["allocations"].items()} == {
        ROOT: {"DISK_GB": 10},
        FRESH: {"VCPU": 4},
    }


def test_a_sharing_provider_is_named_in_allocations_only(filled):
    shared = {"DISK_GB": {"total": 10}}
    done(put(filled, EMPTY, providers=provider(EMPTY, inventories=shared)))
    wanted = holding({ROOT: {"VCPU": 1}, EMPTY: {"DISK_GB": 3}})
    assert done(put(filled, allocations={NEW: wanted})) == {ROOT: 6, EMPTY: 2}


def test_names_are_created_once(filled):
    providers = {
        uuid: {
            "generation": generation,
            "traits": ["CUSTOM_ONE", "CUSTOM_TWO", "CUSTOM_T"],
            "inventories": {"CUSTOM_X": {"total": 1}, "CUSTOM_Y": {"total": 1}},
        }
        for uuid, generation in ((CHILD, 2), (FRESH, None))
    }
    providers[FRESH] |= {"name": "fresh", "parent_provider_uuid": ROOT}
    free = {OTHER_HOLDER: holding({}, 1)}
    done(put(filled, providers=providers, allocations=free, create_names=True))
    for path in (CHILD, FRESH):
        found = filled.get(f"/resource_providers/{path}/traits").json["traits"]
        assert sorted(found) == ["CUSTOM_ONE", "CUSTOM_T", "CUSTOM_TWO"]
    assert filled.get("/resource_classes/CUSTOM_Y").status_code == 200


def test_traits_are_taken_and_given_as_each_provider_needs(filled):
    names = [f"CUSTOM_{number}" for number in range(5)]

    def write(generation, **wanted):
        providers = {
            uuid: {"generation": generation, "traits": [names[n] for n in wanted[which]]}
            for uuid, which in ((FRESH, "one"), (FRESHER, "two"))
        }
        if generation is None:
            for uuid, each in providers.items():
                each |= {"name": uuid, "parent_provider_uuid": ROOT}
        return done(put(filled, providers=providers, create_names=True))

    def found(uuid):
        listed = filled.get(f"/resource_providers/{uuid}/traits").json["traits"]
        return sorted(names.index(name) for name in listed)

    assert write(None, one=[0, 1, 2], two=[1, 2, 3]) == {FRESH: 1, FRESHER: 1}
    assert write(1, one=[1, 2, 4], two=[0, 2, 3]) == {FRESH: 2, FRESHER: 2}
    assert (found(FRESH), found(FRESHER)) == ([1, 2, 4], [0, 2, 3])
    assert write(2, one=[1, 2, 4], two=[]) == {FRESH: 2, FRESHER: 3}
    assert (found(FRESH), found(FRESHER)) == ([1, 2, 4], [])


NAMES = {
    "200 letters": "x" * 200,
    "200 beyond the basic plane": "\U0001f600" * 200,
    "quotes": "a'b\"c`d\\e%s%(x)s{uuid}{0}:x?",
    "markup": "<script>alert(1)</script>&amp;",
    "blanks": " \t\n ",
    "mixed directions": "\u202eabc\u202d",
    "a uuid": CHILD,
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_is_any_text(name, filled):
    assert done(put(filled, providers=new(name=name))) == {FRESH: 0}
    assert shown(filled, FRESH)["name"] == name
    again = put(filled, providers=new(FRESHER, name))
    assert (again.status_code, again.json["errors"][0]["code"]) == (
        409,
        "placement.duplicate_name",
    )
    swapped = {FRESH: {"generation": 0, "name": "child"}} | provider(CHILD, name=name)
    assert done(put(filled, providers=swapped)) == {FRESH: 0, CHILD: 2}
    assert shown(filled, CHILD)["name"] == name


def test_a_body_that_is_too_long_is_refused(new_service):
    service = new_service(berth__max_body_size=2000)
    response = put(service, providers=new(ROOT, "x" * 2000, None))
    assert (response.status_code, response.json["errors"][0]["code"]) == (
        413,
        "placement.undefined_code",
    )


def test_a_policy_of_the_operator_decides(new_service, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text('"berth:provider_trees:update": "role:operator"\n')
    service = new_service(oslo_policy__policy_file=str(policy))
    assert put(service, providers=new(ROOT, "root", None)).status_code == 403


def test_the_search_sees_the_whole_tree_at_once(service):
    """The snapshot follows the feed: a tree that is written, moved and removed."""
    query = "/allocation_candidates?resources=VCPU:1&required=CUSTOM_FAST&in_tree="

    def roots(uuid):
        found = service.get(query + uuid)
        if found.status_code == 400:
            return []
        return sorted(found.json["provider_summaries"])

    done(put(service, ROOT, providers=new(ROOT, "root", None)))
    service.write("PUT", "/traits/CUSTOM_FAST")
    assert roots(ROOT) == []
    fast = {"inventories": {"VCPU": {"total": 1}}, "traits": ["CUSTOM_FAST"]}
    done(put(service, ROOT, providers=new(parent=ROOT, **fast)))
    assert FRESH in roots(ROOT)
    done(put(service, EMPTY, providers=new(EMPTY, "empty", None)))
    moved = {FRESH: {"generation": 1, "parent_provider_uuid": EMPTY}}
    done(put(service, EMPTY, providers=moved))
    assert (roots(ROOT), FRESH in roots(EMPTY)) == ([], True)
    done(put(service, EMPTY, remove={FRESH: 1}))
    assert roots(EMPTY) == []


def test_the_change_is_one_transaction(filled):
    with statements(filled.database) as found:
        done(put(filled, providers=new() | provider(CHILD, name="x")))
    assert found.count("COMMIT") == 1
