"""Whole trees in one read (extensions.md 2), compared with single requests."""

import errno
import itertools
from urllib.parse import quote

import pytest

from placement.extensions.provider_trees import tree_pages
from placement.http import spool
from tests.functional.placement import whole_trees
from tests.functional.placement.service import statements
from tests.functional.placement.small_cloud import CHILD, EMPTY, HOLDER, ROOT, UNKNOWN
from tests.functional.placement.whole_trees import ALL, NAMES, NDJSON, PATH, lines, providers

pytestmark = pytest.mark.spread_over_databases


@pytest.fixture(params=[1, 1000], ids=lambda size: f"pages of {size}")
def page(request, monkeypatch):
    """Set how many trees are read together."""
    monkeypatch.setattr(tree_pages, "TREES_OF_PAGE", request.param)
    monkeypatch.setattr(tree_pages, "CONSUMERS_OF_LINE", request.param)
    return request.param


@pytest.fixture
def cloud(service):
    """Return a service with a random cloud, and the uuids of its providers and consumers."""
    return (service, *whole_trees.fill(service, 7))


def test_every_value_is_that_of_the_single_requests(cloud, page):
    service, made, held = cloud
    body = service.get(f"{PATH}?fields={ALL}&limit=1000").json
    assert providers(body["trees"]) == {
        one: whole_trees.by_single_requests(service, one) for one in made
    }
    assert body["consumers"] == {one: service.get(f"/allocations/{one}").json for one in held}
    in_lines = service.get(f"{PATH}?fields={ALL}", headers_more={"accept": NDJSON})
    trees, consumers, end = lines(in_lines)
    assert (trees, consumers) == (body["trees"], body["consumers"])
    assert end == {"position": body["position"]}


def test_parents_come_before_their_children_and_trees_in_the_order_of_roots(cloud, page):
    service, made, _ = cloud
    trees = service.get(f"{PATH}?fields=&limit=1000").json["trees"]
    assert [tree["root"] for tree in trees] == sorted(tree["root"] for tree in trees)
    for tree in trees:
        seen = {None}
        for one in tree["providers"]:
            assert one["parent_provider_uuid"] in seen
            assert one["root_provider_uuid"] == tree["root"]
            seen.add(one["uuid"])
    assert sum(len(tree["providers"]) for tree in trees) == len(made)


def test_a_tree_is_found_if_the_list_of_providers_has_one_of_it(cloud):
    service, made, _ = cloud
    groups = [
        group
        for one in made
        for group in service.get(f"/resource_providers/{one}/aggregates").json["aggregates"]
    ]
    queries = [
        "",
        f"uuid={made[3]}",
        f"uuid={made[3].upper()}",
        f"in_tree={made[5]}",
        "name=host-11%207",
        "name=nobody",
        "resources=VCPU:2",
        "resources=VCPU:2,DISK_GB:990",
        "resources=CUSTOM_GOLD:1000000000000000000000",
        f"member_of={groups[0]}",
        f"member_of=in:{groups[0]},{groups[-1]}",
        f"member_of={groups[0]}&resources=VCPU:1",
        "required=CUSTOM_T1",
        "required=CUSTOM_T1,!CUSTOM_T2&resources=MEMORY_MB:1",
        "required=in:CUSTOM_T1,COMPUTE_NODE&required=!CUSTOM_T2",
        f"member_of=!{groups[0]}&in_tree={made[0]}",
    ]
    for version, query in itertools.product(("1.14", "1.24", "1.39"), queries):
        listed = service.get(f"/resource_providers?{query}", version=version)
        trees = service.get(f"{PATH}?fields=&{query}", version=version)
        assert listed.status_code == trees.status_code, (version, query)
        if listed.status_code == 200:
            roots = {one["root_provider_uuid"] for one in listed.json["resource_providers"]}
            assert [tree["root"] for tree in trees.json["trees"]] == sorted(roots), query


def detail(response):
    (error,) = response.json["errors"]
    return error["detail"]


REFUSED = [
    "required=CUSTOM_NOBODY",
    "required=",
    "required=in:",
    "required=!in:CUSTOM_A",
    "resources=VCPU",
    "resources=VCPU:0",
    "resources=CUSTOM_NOBODY:1",
    "member_of=x",
    "member_of=a,b",
    "in_tree=x",
    "uuid=x",
    "name=%ff",
]


def test_a_query_is_refused_in_the_words_of_the_list_of_providers(filled):
    for version, query in itertools.product(("1.0", "1.20", "1.39"), REFUSED):
        listed = filled.get(f"/resource_providers?{query}", version=version)
        trees = filled.get(f"{PATH}?{query}", version=version)
        assert (listed.status_code, trees.status_code) == (400, 400), (version, query)
        # what the schema allows is quoted, and that is more here
        ours, theirs = (detail(one).partition("Failed validating")[0] for one in (trees, listed))
        assert ours == theirs, (version, query)
        assert trees.json["errors"][0]["code"] == "placement.undefined_code"


def test_pages_have_every_tree_once(cloud):
    service, _, _ = cloud
    whole = service.get(f"{PATH}?fields=").json["trees"]
    for limit, form in itertools.product((1, 2, 3, len(whole)), ("application/json", NDJSON)):
        found, marker = [], None
        while True:
            query = f"{PATH}?fields=&limit={limit}" + (f"&marker={marker}" if marker else "")
            response = service.get(query, headers_more={"accept": form})
            end = response.json if form != NDJSON else lines(response)[2]
            trees = response.json["trees"] if form != NDJSON else lines(response)[0]
            assert len(trees) <= limit
            found += trees
            marker = end.get("marker")
            if marker is None:
                break
            assert marker == trees[-1]["root"]
        assert found == whole


def test_without_a_limit_lines_are_all_and_a_value_has_a_page(cloud, monkeypatch):
    service, _, _ = cloud
    monkeypatch.setattr("placement.extensions.provider_trees.handler.TREES_OF_PAGE", 2)
    body = service.get(f"{PATH}?fields=").json
    assert (len(body["trees"]), body["marker"]) == (2, body["trees"][1]["root"])
    trees, _, end = lines(service.get(f"{PATH}?fields=", headers_more={"accept": NDJSON}))
    assert len(trees) > 2
    assert "marker" not in end


def test_a_tree_that_is_moved_or_deleted_between_pages_is_not_missed_elsewhere(filled):
    first = filled.get(f"{PATH}?fields=&limit=1").json
    assert first["marker"] == ROOT
    # the tree of the marker becomes a part of another one, which then is all there is
    move = {"name": "root", "parent_provider_uuid": EMPTY}
    filled.write("PUT", f"/resource_providers/{ROOT}", move)
    rest = filled.get(f"{PATH}?fields=&limit=1&marker={ROOT}").json
    assert [one["uuid"] for one in rest["trees"][0]["providers"]] == [EMPTY, ROOT, CHILD]
    move = {"name": "root", "parent_provider_uuid": None}
    filled.write("PUT", f"/resource_providers/{ROOT}", move)
    assert filled.delete(f"/resource_providers/{EMPTY}").status_code == 204
    assert filled.get(f"{PATH}?marker={ROOT}").json["trees"] == []
    assert filled.get(f"{PATH}?marker={EMPTY}").json["trees"] == []


def test_old_allocations_without_a_consumer_are_left_out_but_are_usage(filled):
    with filled.database.transaction() as connection:
        connection.plain.exec_driver_sql(f"DELETE FROM consumers WHERE uuid = '{HOLDER}'")
    body = filled.get(f"{PATH}?uuid={ROOT}&fields={ALL}").json
    assert body["trees"][0]["providers"][0] == whole_trees.by_single_requests(filled, ROOT)
    assert body["trees"][0]["providers"][0]["usages"]["VCPU"] == 4
    assert HOLDER not in body["consumers"]


def test_a_circle_in_the_tables_hides_no_provider(filled):
    with filled.database.transaction() as connection:
        statement = "UPDATE resource_providers SET parent_provider_id = id WHERE uuid = '{}'"
        connection.plain.exec_driver_sql(statement.format(CHILD))
    body = filled.get(f"{PATH}?uuid={ROOT}&fields=").json
    assert [one["uuid"] for one in body["trees"][0]["providers"]] == [ROOT, CHILD]


def test_an_odd_name_is_found_and_shown_as_it_is(service):
    for name in NAMES:
        service.write("POST", "/resource_providers", {"name": name})
        (tree,) = service.get(f"{PATH}?fields=&name={quote(name, safe='')}").json["trees"]
        assert tree["providers"][0]["name"] == name


def test_the_number_of_statements_does_not_grow(service):
    counts = []
    for seed, size in ((1, 3), (2, 20)):
        whole_trees.fill(service, seed, size, size)
        for form in ("application/json", NDJSON):
            with statements(service.database) as found:
                service.get(f"{PATH}?fields={ALL}", headers_more={"accept": form})
            counts.append(len(found))
    assert counts[:2] == counts[2:]


def test_many_uuids(cloud):
    service, made, _ = cloud
    many = ",".join([*made[:2], *(UNKNOWN[:-4] + f"{number:04}" for number in range(1500))])
    found = providers(service.get(f"{PATH}?uuid=in:{many}").json["trees"])
    assert {*made[:2]} <= found.keys()


def test_a_full_disk_is_told(filled, monkeypatch):
    class Full:
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            pass

        def seek(self, *place):
            pass

        truncate = seek

    monkeypatch.setattr(spool.tempfile, "SpooledTemporaryFile", lambda *given: Full())
    response = filled.unjudged().get(PATH)
    assert response.status_code == 507
    assert "can't store the answer in a temporary file: No space left" in detail(response)
