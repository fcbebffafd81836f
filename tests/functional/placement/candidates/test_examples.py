"""The 179 cases of candidate-examples.yaml on the application."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests import leftovers
from tests.functional.placement.service import Service
from tests.functional.placement.topology import Cloud

pytestmark = pytest.mark.spread_over_databases

CASES = yaml.load(
    Path(__file__).parents[3].joinpath("candidate-examples.yaml").read_text(encoding="utf-8"),
    getattr(yaml, "CSafeLoader", yaml.SafeLoader),
)

#: a uuid that no provider has
NOBODY = "7a4c0b1e-1111-4222-8333-9d5e6f708192"


@pytest.fixture(scope="module")
def cloud_of(module_databases):
    """Return a function that gives the cloud of a case; those with the same providers share it."""
    clouds = {}

    def found(case):
        key = json.dumps([case.get(name) for name in ("topology", "allocations", "config")])
        if key not in clouds:
            with leftovers.lasting():
                clouds[key] = build(case, module_databases())
        return clouds[key]

    return found


def build(case, database_url):
    options = {f"placement__{name}": value for name, value in case.get("config", {}).items()}
    service = Service(database_url, **options)
    return Cloud(service).build(case["topology"], case.get("allocations", ()))


def query_of(case, cloud):
    def uuid_of(match):
        kind, name = match.groups()
        return cloud.uuids.get(name, NOBODY) if kind == "rp" else cloud.aggregate(name)

    return re.sub(r"\$\{(rp|agg)\.([^}]*)\}", uuid_of, case["query"])


def expected_candidates(expect):
    mappings = expect.get("mappings")
    return Counter(
        (
            frozenset(
                (part["provider"], frozenset(part["resources"].items())) for part in candidate
            ),
            None
            if mappings is None
            else frozenset((s, frozenset(names)) for s, names in mappings[number].items()),
        )
        for number, candidate in enumerate(expect["candidates"])
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_response_is_as_the_example_says(case, cloud_of):
    cloud = cloud_of(case)
    expect = case["expect"]

    response = cloud.service.get(
        f"/allocation_candidates?{query_of(case, cloud)}", version=case["microversion"]
    )
    status, headers, body = response.status_code, response.headers, response.json

    assert status == expect.get("status", 200), body
    if status != 200:
        error = body["errors"][0]
        for fragment in expect.get("error_contains", ()):
            assert query_of({"query": fragment}, cloud) in error["detail"]
        assert error.get("code") == expect.get("code", error.get("code"))
        return
    assert expect.get("headers_present", []) == [
        name for name in expect.get("headers_present", []) if name in headers
    ]
    assert not [name for name in expect.get("headers_absent", []) if name in headers]
    found = cloud.candidates(body, case["microversion"])
    wanted = expected_candidates(expect)
    if expect.get("subset"):
        check_subset(cloud, expect, body, found, wanted)
    else:
        assert found == wanted
        names = cloud.names()
        assert {names[key] for key in body["provider_summaries"]} == set(expect["summaries"])
    for name, summary in expect.get("detail", {}).items():
        assert readable(body["provider_summaries"][cloud.uuids[name]], cloud) == readable(
            summary, cloud
        )


def check_subset(cloud, expect, body, found, wanted):
    assert found.total() == expect["count"]
    assert found <= wanted
    names = cloud.names()
    used = {names[key] for c in body["allocation_requests"] for key in c["allocations"]}
    shown = {names[key] for key in body["provider_summaries"]}
    assert used <= shown
    assert {name[:2] for name in used} == {name[:2] for name in shown}
    if "per_root" in expect:
        roots = Counter(min(name for name, _ in taken)[:2] for taken, _ in found.elements())
        assert sorted(roots.values()) == expect["per_root"]


def readable(summary, cloud):
    names = cloud.names() | {None: None}
    shown = dict(summary)
    for kin in ("parent", "root"):
        if f"{kin}_provider_uuid" in shown:
            shown[kin] = names[shown.pop(f"{kin}_provider_uuid")]
    if "traits" in shown:
        shown["traits"] = sorted(shown["traits"])
    return shown
