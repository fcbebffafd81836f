"""A newline after a value: extensions refuse it.

The reference's patterns end with `$`, before which Python lets a newline follow. Berth does so,
too, where the reference decides, and nowhere else.
"""

import pytest

from tests.functional.placement.small_cloud import NEW, ROOT

pytestmark = pytest.mark.spread_over_databases

OWNER = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
TREES, TREE = "/berth/v1/provider_trees", f"/berth/v1/provider_trees/{ROOT}"
CLAIM = {"query": "resources=VCPU:1", "consumers": [{"uuid": NEW} | OWNER]}


@pytest.mark.parametrize(
    "asked",
    [
        f"{TREES}?limit=5%0A",
        f"{TREES}?marker={ROOT}%0A",
        f"{TREES}?uuid=in:{ROOT}%0A",
        "/berth/v1/changes?limit=5%0A",
        "/berth/v1/changes?wait=0%0A",
        "/berth/v1/changes?after=AQ%0A",
        "/berth/v1/suspects?kind=two_roots%0A",
        "/berth/v1/suspects?limit=5%0A",
        "/berth/v1/suspects?marker=two_roots.1.0%0A",
    ],
)
def test_in_a_query_it_is_refused(filled, asked):
    assert filled.get(asked).status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", TREE, {"providers": {f"{ROOT}\n": {"generation": 1}}}),
        ("PUT", TREE, {"remove": {f"{ROOT}\n": 1}}),
        ("PUT", TREE, {"allocations": {f"{NEW}\n": {}}}),
        ("POST", "/berth/v1/allocations/query", {"consumers": [f"{NEW}\n"]}),
        ("POST", "/berth/v1/allocations/query", {"resource_providers": [f"{ROOT}\n"]}),
        ("POST", "/berth/v1/claims", CLAIM | {"strategy": "pack", "by": "VCPU\n"}),
        ("POST", "/berth/v1/claims", CLAIM | {"avoid": [f"{ROOT}\n"]}),
        (
            "POST",
            "/berth/v1/claims",
            CLAIM | {"consumers": [{"uuid": NEW} | OWNER | {"consumer_type": "INSTANCE\n"}]},
        ),
    ],
)
def test_in_a_body_it_is_refused(filled, method, path, body):
    before = filled.tables()
    assert filled.request(method, path, body).status_code == 400
    assert filled.tables() == before


@pytest.mark.parametrize(
    "part", [{"traits": ["CUSTOM_T\n"]}, {"inventories": {"CUSTOM_C\n": {"total": 1}}}]
)
def test_no_name_with_it_is_created(filled, part):
    generation = filled.get(f"/resource_providers/{ROOT}").json["generation"]
    body = {"providers": {ROOT: {"generation": generation} | part}, "create_names": True}
    before = filled.tables()
    assert filled.put(TREE, body).status_code == 400
    assert filled.tables() == before


@pytest.mark.parametrize("path", ["/berth/v1%0A", f"{TREES}%0A", "/berth/v1/changes%0A"])
def test_no_extension_has_a_path_with_it(filled, path):
    assert filled.get(path).status_code == 404
    assert filled.get("/resource_providers%0A").status_code == 200
