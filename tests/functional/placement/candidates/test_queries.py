"""Malicious queries end, with an error or a response."""

import itertools

import pytest

from tests import extent
from tests.functional.placement.service import Service
from tests.functional.placement.topology import Cloud

DEVICES = [
    {"name": "host", "inventories": {"VCPU": {"total": 64}}},
    *(
        {"name": f"d{n}", "parent": "host", "inventories": {"SRIOV_NET_VF": {"total": 1}}}
        for n in range(12)
    ),
]
#: all that is tried takes time in proportion: an ordinary run has a quarter of it
MEGABYTE = extent.examples(250_000, 1_000_000)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("queries")
    # longer than the default: these queries end by themselves, however slow a busy machine is
    service = Service(f"sqlite:///{folder}/placement.db", berth__search_time_limit=120)
    Cloud(service).build(DEVICES)
    return service


def ask(service, query, version="1.39"):
    response = service.get(f"/allocation_candidates?{query}", version=version)
    return response.status_code, response.json


def repeated(part, separator="&"):
    """Return the part repeated with running numbers, up to MEGABYTE."""
    parts, length = [], 0
    for number in itertools.count(1):
        text = part.format(n=number)
        length += len(text) + 1
        if length > MEGABYTE:
            return separator.join(parts)
        parts.append(text)
    raise AssertionError("unreachable")


def test_hundreds_of_groups_that_fit_have_candidates(service):
    query = "&".join(f"resources{n}=VCPU:1" for n in range(64))

    status, body = ask(service, f"{query}&group_policy=none")

    assert status == 200
    (candidate,) = body["allocation_requests"]
    (taken,) = candidate["allocations"].values()
    assert taken == {"resources": {"VCPU": 64}}
    assert len(candidate["mappings"]) == 64


@pytest.mark.parametrize("policy", ["none", "isolate"])
def test_hundreds_of_groups_that_dont_fit_have_no_candidates(service, policy):
    query = "&".join(f"resources{n}=SRIOV_NET_VF:1" for n in range(700))

    status, body = ask(service, f"{query}&group_policy={policy}")

    assert (status, body["allocation_requests"]) == (200, [])


def test_a_megabyte_of_groups_ends(service):
    query = repeated("resources{n}=VCPU:1")

    status, body = ask(service, f"{query}&group_policy=none")

    assert (status, body["allocation_requests"]) == (200, [])


def test_a_megabyte_of_unknown_traits_is_rejected(service):
    query = "resources=VCPU:1&required=" + repeated("CUSTOM_{n}", ",")

    assert ask(service, query)[0] == 400


def test_a_megabyte_of_unknown_classes_is_rejected(service):
    assert ask(service, "resources=" + repeated("CUSTOM_{n}:1", ","))[0] == 400


def test_a_megabyte_of_repeated_parameters_ends(service):
    aggregate = "7a4c0b1e-1111-4222-8333-{n:012}"

    status, body = ask(service, "resources=VCPU:1&" + repeated(f"member_of={aggregate}"))

    assert (status, body["allocation_requests"]) == (200, [])


def test_a_megabyte_of_repeated_resources_has_the_last_value(service):
    status, body = ask(service, repeated("resources=VCPU:{n}") + "&resources=VCPU:1")

    assert (status, len(body["allocation_requests"])) == (200, 1)


def test_a_megabyte_of_subtrees_ends(service):
    groups = "resources1=SRIOV_NET_VF:1&resources2=SRIOV_NET_VF:1&group_policy=none"

    status, body = ask(service, f"{groups}&same_subtree=" + repeated("{n}", ","))

    assert status == 400
    assert "Real suffixes" in body["errors"][0]["detail"]


def test_many_equal_subtrees_are_one(service):
    groups = "resources1=SRIOV_NET_VF:1&resources2=VCPU:1&group_policy=none"

    status, body = ask(service, groups + "&same_subtree=1,2" * 500)

    assert (status, len(body["allocation_requests"])) == (200, 12)


def test_a_megabyte_of_nonsense_is_rejected(service):
    assert ask(service, repeated("{n}x=y"))[0] == 400


def test_amounts_beyond_all_inventories_have_no_candidates(service):
    for amount in (2**31, 2**63, 10**40):
        assert ask(service, f"resources=VCPU:{amount}")[1]["allocation_requests"] == []


def test_sums_beyond_all_inventories_have_no_candidates(tmp_path):
    # a cloud of its own: the order of tests is any
    service = Service(f"sqlite:///{tmp_path}/placement.db")
    largest = 2**31 - 1
    Cloud(service).build(
        [
            {"name": "huge", "inventories": {"VCPU": {"total": 1}}},
            {
                "name": "disk",
                "parent": "huge",
                "inventories": {"DISK_GB": {"total": largest, "allocation_ratio": 3.0e38}},
            },
        ]
    )
    query = f"resources=VCPU:1&resources1=DISK_GB:{largest}&group_policy=none"

    one = ask(service, query)
    two = ask(service, f"{query}&resources2=DISK_GB:{largest}")

    assert len(one[1]["allocation_requests"]) == 1
    assert two[1]["allocation_requests"] == []


def test_an_amount_with_too_many_digits_is_rejected(service):
    status, body = ask(service, "resources=VCPU:" + "9" * 10_000)

    assert status == 400
    assert "expected positive integer amount" in body["errors"][0]["detail"]


def test_a_limit_with_too_many_digits_has_no_effect(service):
    status, body = ask(service, "resources=SRIOV_NET_VF:1&limit=" + "9" * 5_000)

    assert (status, len(body["allocation_requests"])) == (200, 12)


def test_the_first_limit_must_be_valid_although_the_schema_checks_the_last(service):
    assert ask(service, "resources=VCPU:1&limit=abc&limit=1")[0] == 400


def test_the_response_is_written_as_by_json_dumps(service):
    import json

    query = "resources=VCPU:1&resources1=SRIOV_NET_VF:1&limit=3"
    for version in ("1.16", "1.25", "1.29", "1.39"):
        asked = query if version >= "1.25" else "resources=VCPU:1"
        text = service.get(f"/allocation_candidates?{asked}", version=version).text
        assert text == json.dumps(json.loads(text))
