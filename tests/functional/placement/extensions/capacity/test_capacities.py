"""How many more fit is what can be claimed (extensions.md 6)."""

import random
import threading
from uuid import uuid4

import pytest

from placement.candidates.budget import OutOfTime
from placement.candidates.search import Search
from tests.functional.placement.service import Service, statements
from tests.functional.placement.small_cloud import expect, holding, numbered
from tests.functional.placement.topology import Cloud

pytestmark = pytest.mark.spread_over_databases

RACK = ["rack"]
SHARES = "MISC_SHARES_VIA_AGGREGATE"


def host(name, aggregates=(), traits=(), **inventories):
    """Return a root; an amount is a total or a whole inventory."""
    stock = {
        key: given if isinstance(given, dict) else {"total": given}
        for key, given in inventories.items()
    }
    return {"name": name, "inventories": stock, "aggregates": aggregates, "traits": list(traits)}


def child(parent, name, traits=(), **inventories):
    return host(name, traits=traits, **inventories) | {"parent": parent}


def disk(name, aggregates, total):
    return host(name, aggregates, [SHARES], DISK_GB=total)


NUMA = [
    host("h", MEMORY_MB=100),
    child("h", "n0", VCPU=5),
    child("h", "n1", VCPU=4),
]
DEVICES = [
    host("h", VCPU=20),
    *(child("h", f"pf{n}", SRIOV_NET_VF=total) for n, total in enumerate([1, 1, 2, 3])),
]
TWO_DISKS = [host("h", DISK_GB=3), child("h", "d", DISK_GB=3)]
APART = "resources1=DISK_GB:1&resources2=DISK_GB:1&group_policy=isolate"
ONE_EACH = {"total": 2, "max_unit": 1}
#: what there is, what is asked for, how many fit
CASES = {
    "the scarcer class": ([host("h", VCPU=8, MEMORY_MB=10)], "resources=VCPU:1,MEMORY_MB:3", 3),
    "several hosts": ([host("g", VCPU=3), host("h", VCPU=5)], "resources=VCPU:2", 3),
    "reserved and ratio": (
        [host("h", VCPU={"total": 5, "reserved": 1, "allocation_ratio": 1.6})],
        "resources=VCPU:2",
        3,
    ),
    "max_unit is of one consumer": (
        [host("h", VCPU={"total": 8, "max_unit": 2})],
        "resources=VCPU:2",
        4,
    ),
    "more than max_unit": ([host("h", VCPU={"total": 8, "max_unit": 2})], "resources=VCPU:3", 0),
    "less than min_unit": ([host("h", VCPU={"total": 8, "min_unit": 2})], "resources=VCPU:1", 0),
    "a step": ([host("h", VCPU={"total": 9, "step_size": 2})], "resources=VCPU:2", 4),
    "no multiple of the step": (
        [host("h", VCPU={"total": 9, "step_size": 2})],
        "resources=VCPU:3",
        0,
    ),
    "NUMA nodes": (NUMA, "resources=MEMORY_MB:10&resources_N=VCPU:2", 4),
    "two NUMA nodes": (
        NUMA,
        "resources=MEMORY_MB:10&resources_N=VCPU:2&resources_M=VCPU:2&group_policy=isolate",
        2,
    ),
    "different NUMA nodes": (NUMA, "resources_N=VCPU:2&resources_M=VCPU:3&group_policy=isolate", 1),
    "two VFs of two PFs": (
        DEVICES,
        "resources_A=SRIOV_NET_VF:1&resources_B=SRIOV_NET_VF:1&group_policy=isolate",
        3,
    ),
    "three VFs of any PFs": (
        DEVICES,
        "resources_A=SRIOV_NET_VF:1&resources_B=SRIOV_NET_VF:1&resources_C=SRIOV_NET_VF:1"
        "&group_policy=none",
        2,
    ),
    "unlike amounts of equal devices": (
        [host("h", VCPU=1), *(child("h", f"pf{n}", SRIOV_NET_VF=4) for n in range(6))],
        "resources_A=SRIOV_NET_VF:1&resources_B=SRIOV_NET_VF:3&group_policy=isolate",
        6,
    ),
    "a device near the node": (
        [*NUMA, child("n0", "g0", VGPU=1), child("n1", "g1", VGPU=4)],
        "resources_N=VCPU:2&resources_G=VGPU:1&same_subtree=_N,_G&group_policy=none",
        3,
    ),
    "a trait of any provider": (
        [*NUMA, child("h", "gold", ["CUSTOM_GOLD"], VGPU=2)],
        "resources=VCPU:1,VGPU:1&required=CUSTOM_GOLD",
        2,
    ),
    "shared storage": (
        [host("g", RACK, VCPU=3), host("h", RACK, VCPU=3), disk("disk", RACK, 40)],
        "resources=VCPU:1,DISK_GB:10",
        4,
    ),
    "a disk of its own, and a shared one": (
        [host("g", RACK, VCPU=3, DISK_GB=20), host("h", RACK, VCPU=3), disk("disk", RACK, 20)],
        "resources=VCPU:1,DISK_GB:10",
        4,
    ),
    "two shared disks": (
        [
            host("f", ["a"], VCPU=2),
            host("g", ["a", "b"], VCPU=3),
            host("h", ["b"], VCPU=3),
            disk("disk1", ["a"], 30),
            disk("disk2", ["b"], 30),
        ],
        "resources=VCPU:1,DISK_GB:10",
        6,
    ),
    "a shared disk near the host, and a trait of it": (
        [
            host("h", RACK, VCPU=3),
            disk("disk", RACK, 30) | {"traits": [SHARES, "CUSTOM_GOLD"]},
        ],
        "resources=VCPU:1&resources_D=DISK_GB:10&required_G=CUSTOM_GOLD&same_subtree=_D,_G"
        "&group_policy=none",
        3,
    ),
    "only shared": (
        [host("g", RACK, VCPU=1), host("h", RACK, VCPU=1), disk("disk", RACK, 35)],
        "resources=DISK_GB:10",
        3,
    ),
    "bins of 5 and 4 for 2 and 1": (
        NUMA,
        "resources_N=VCPU:2&resources_M=VCPU:1&group_policy=none",
        3,
    ),
    "isolated groups, and as much beside one of them": (
        TWO_DISKS,
        f"resources=DISK_GB:1&{APART}",
        2,
    ),
    "isolated groups, and more beside one of them": (TWO_DISKS, f"resources=DISK_GB:2&{APART}", 1),
    "isolated groups, and no room beside any of them": (
        [host("h", VCPU=1), *(child("h", f"d{n}", DISK_GB=ONE_EACH) for n in range(3))],
        f"resources=DISK_GB:1&{APART}",
        2,
    ),
    "isolated groups, and a provider too few beside them": (
        [host("h", DISK_GB=ONE_EACH), child("h", "d", DISK_GB=ONE_EACH)],
        f"resources=DISK_GB:1&{APART}",
        0,
    ),
    "isolated groups that have few providers, and enough beside them": (
        [host("h", DISK_GB=9), child("h", "d", DISK_GB=2)],
        f"resources=DISK_GB:1&{APART}",
        2,
    ),
}


@pytest.fixture
def cloud(service):
    return Cloud(service)


def room(service, query):
    return expect(service.get(f"/berth/v1/capacity?{query}"), 200).json


def claim_best(service, query, before, made=None):
    """Claim the candidate that leaves most room; return the room then, None without candidate.

    Where the room is a bound, the candidate that leaves most may do so.

    :param made: the consumers so far
    """
    shown = expect(service.get(f"/allocation_candidates?{query}"), 200).json
    for candidate in shown["allocation_requests"]:
        consumer = str(uuid4())
        allocations = {uuid: given["resources"] for uuid, given in candidate["allocations"].items()}
        expect(service.put(f"/allocations/{consumer}", holding(allocations)), 204)
        after = room(service, query)
        if before["exact"] and after["exact"]:
            assert after["fits"] < before["fits"]
        if after["fits"] >= before["fits"] - 1:
            if made is not None:
                made.append(consumer)
            return after
        expect(service.delete(f"/allocations/{consumer}"), 204)
    assert not shown["allocation_requests"]
    return None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_many_fit_as_are_claimed_one_after_the_other(cloud, case):
    topology, query, fits = CASES[case]
    cloud.build(topology)
    found = room(cloud.service, query)
    assert (found["fits"], found["exact"]) == (fits, True)

    claimed = 0
    while (after := claim_best(cloud.service, query, found)) is not None:
        found, claimed = after, claimed + 1

    assert claimed == fits
    assert (found["fits"], found["exact"], found["trees"], found["limited_by"]) == (0, True, 0, {})


@pytest.mark.parametrize("seed", range(6))
def test_as_many_fit_into_random_clouds_as_are_claimed(cloud, seed):
    chance = random.Random(seed)
    cloud.build(random_cloud(chance))
    for query in random_queries(chance):
        found, made, claimed = room(cloud.service, query), [], 0
        bounds = found["fits"], found.get("upper", found["fits"])
        while (after := claim_best(cloud.service, query, found, made)) is not None:
            found, claimed = after, claimed + 1
        assert bounds[0] <= claimed <= bounds[1]
        for consumer in made:
            expect(cloud.service.delete(f"/allocations/{consumer}"), 204)


def random_cloud(chance):
    """Return two hosts with NUMA nodes, devices and disks, and a disk that they may share."""
    topology = []
    for name in ("g", "h"):
        own = {"MEMORY_MB": chance.randint(2, 9), **chance.choice([{}, {"DISK_GB": 3}])}
        topology.append(host(name, chance.choice([[], RACK]), **own))
        for node in range(chance.randint(1, 2)):
            stock = {"total": chance.randint(1, 5), "max_unit": chance.choice([2, 9])}
            topology.append(child(name, f"{name}{node}", VCPU=stock))
            for device in range(chance.randint(0, 2)):
                total = chance.randint(1, 2)
                topology.append(child(f"{name}{node}", f"{name}{node}-{device}", VGPU=total))
    return [*topology, disk("disk", RACK, chance.randint(1, 6))]


def random_queries(chance):
    some = chance.randint(1, 2)
    policy = chance.choice(["none", "isolate"])
    return [
        f"resources=VCPU:{some},MEMORY_MB:2,DISK_GB:1",
        f"resources_A=VGPU:1&resources_B=VGPU:1&resources=VCPU:{some}&group_policy={policy}",
        f"resources_N=VCPU:{some}&resources_G=VGPU:1&same_subtree=_N,_G&group_policy={policy}",
        f"resources_N=VCPU:1&resources_M=VCPU:2&group_policy={policy}",
    ]


def test_what_is_counted_with_many_trees(cloud):
    cloud.build(
        [
            host("a", RACK, VCPU=10, MEMORY_MB=30),
            host("b", RACK, VCPU=2, MEMORY_MB=90),
            host("c", VCPU=7, MEMORY_MB=5),
            host("d", traits=["CUSTOM_OLD"], VCPU=50, MEMORY_MB=50),
        ]
    )
    body = {
        "requests": {
            "m": {"query": "resources=VCPU:1,MEMORY_MB:10&required=!CUSTOM_OLD"},
            "n": {"query": "resources=VCPU:100"},
        },
        "by": ["root", "aggregate"],
    }

    found = expect(cloud.service.post("/berth/v1/capacity", body), 200).json["requests"]

    rack = cloud.aggregate("rack")
    assert found["m"] == {
        "fits": 5,
        "exact": True,
        "verdict": "some",
        "trees": 2,
        "limited_by": {"MEMORY_MB": 1, "VCPU": 1},
        # of a, b and c, not of d, which has the wrong trait
        "stranded": {"VCPU": 14, "MEMORY_MB": 75},
        "by_aggregate": {
            rack: {
                "fits": 5,
                "exact": True,
                "trees": 2,
                "limited_by": {"MEMORY_MB": 1, "VCPU": 1},
            }
        },
        "by_root": [
            {"uuid": cloud.uuids["a"], "name": "a", "fits": 3, "limited_by": "MEMORY_MB"},
            {"uuid": cloud.uuids["b"], "name": "b", "fits": 2, "limited_by": "VCPU"},
        ],
    }
    assert (found["n"]["fits"], found["n"]["stranded"]) == (0, {"VCPU": 69})
    assert found["n"]["by_aggregate"][rack]["fits"] == 0


def test_trees_share_what_they_share_once(cloud):
    cloud.build([host("g", RACK, VCPU=9), host("h", RACK, VCPU=9), disk("disk", RACK, 50)])
    body = {
        "requests": {"m": {"query": "resources=VCPU:1,DISK_GB:10"}},
        "by": ["root", "aggregate"],
    }

    found = expect(cloud.service.post("/berth/v1/capacity", body), 200).json["requests"]["m"]

    assert (found["fits"], found["limited_by"]) == (5, {"DISK_GB": 2})
    assert [tree["fits"] for tree in found["by_root"]] == [5, 5]
    assert [one["fits"] for one in found["by_aggregate"].values()] == [5]


@pytest.mark.parametrize("gone", ["disk", "g"])
def test_without_a_tree_all_its_providers_are_gone(cloud, gone):
    cloud.build(
        [
            host("g", RACK, VCPU=2),
            child("g", "disk of g", [SHARES], DISK_GB=10) | {"aggregates": RACK},
            host("h", RACK, VCPU=9),
            disk("disk", RACK, 30),
        ]
    )
    body = {
        "requests": {"m": {"query": "resources=VCPU:1,DISK_GB:10"}},
        "without": [cloud.uuids[gone]],
    }

    found = expect(cloud.service.post("/berth/v1/capacity", body), 200).json["requests"]["m"]

    assert found["fits"] == {"disk": 1, "g": 3}[gone]


def test_a_bound_stands_beside_what_is_not_exact(cloud):
    nodes = [child("h", f"n{number}", VCPU=4) for number in range(30)]
    cloud.build([host("h", MEMORY_MB=1), *nodes])
    query = "resources_A=VCPU:2&resources_B=VCPU:3&group_policy=none"
    body = {"requests": {"m": {"query": query}}, "by": ["root"]}

    found = expect(cloud.service.post("/berth/v1/capacity", body), 200).json["requests"]["m"]

    # twenty nodes have the threes, ten have two twos each
    assert found["exact"] is False
    assert found["fits"] <= 20 < found["upper"] <= 24
    (tree,) = found["by_root"]
    assert (tree["fits"], tree["upper"]) == (found["fits"], found["upper"])


def test_many_devices_are_no_long_search(new_service):
    # one second, and no search for better results
    service = new_service(berth__search_time_limit=1, berth__explain_budget_ms=1)
    devices = [child("h", f"pf{number}", SRIOV_NET_VF=4) for number in range(120)]
    Cloud(service).build([host("h", MEMORY_MB=200), *devices])
    groups = [f"resources_{n}=SRIOV_NET_VF:{n}" for n in (1, 2, 3)]

    apart = room(service, f"{'&'.join(groups)}&group_policy=isolate")
    together = "resources=MEMORY_MB:1&same_subtree=_1,_2&group_policy=none"
    of_one = room(service, f"{'&'.join(groups[:2])}&{together}")

    assert (apart["fits"], apart["exact"]) == (80, True)
    assert (of_one["fits"], of_one["exact"]) == (120, True)


def test_a_request_that_uses_up_its_share_costs_the_others_nothing(cloud, monkeypatch):
    """Bounds are told of the request that is given up; equal requests are counted once."""
    cloud.build([host("h", VCPU=12, MEMORY_MB=80), child("h", "d", VCPU=2)])
    searched, search = [], Search.anchors

    def anchors(self):
        searched.append(self.request)
        if self.request.demand == {"VCPU": 4, "MEMORY_MB": 10}:
            raise OutOfTime
        return search(self)

    monkeypatch.setattr(Search, "anchors", anchors)
    queries = ["resources=VCPU:1", "resources=VCPU:4,MEMORY_MB:10", "resources=VCPU:1"]
    requests = {f"{number}": {"query": query} for number, query in enumerate(queries)}
    body = {"requests": requests, "by": ["aggregate", "root"]}

    rooms = expect(cloud.service.post("/berth/v1/capacity", body), 200)

    counted, unknown, again = rooms.json["requests"].values()
    assert len(searched) == 2
    assert (counted["fits"], counted["exact"], counted["verdict"]) == (14, True, "some")
    assert again == counted
    assert unknown == {
        "fits": 0,
        "exact": False,
        "upper": 3,
        "trees": 0,
        "limited_by": {},
        "stranded": {},
        "verdict": "unknown",
        # whoever asks for these gets them
        "by_aggregate": {},
        "by_root": [],
    }


def test_an_overfull_provider_takes_nothing_from_the_others(cloud):
    cloud.build([host("g", VCPU=8), host("h", VCPU=8)])
    service = cloud.service
    expect(service.put(f"/allocations/{uuid4()}", holding({cloud.uuids["g"]: {"VCPU": 8}})), 204)
    stock = {"inventories": {"VCPU": {"total": 2}}, "resource_provider_generation": 2}
    expect(service.put(f"/resource_providers/{cloud.uuids['g']}/inventories", stock), 200)

    assert room(service, "resources=VCPU:1")["fits"] == 8
    assert room(service, "resources=VCPU:1")["stranded"] == {}


def test_huge_numbers_are_borne(cloud):
    cloud.build([host("h", VCPU={"total": 2**31 - 1, "allocation_ratio": 1e30})])

    assert room(cloud.service, "resources=VCPU:1")["fits"] >= 2**31 - 1
    assert room(cloud.service, "resources=VCPU:99999999999999999999")["fits"] == 0


def test_versions_before_nested_providers_see_one_provider_at_a_time(cloud):
    cloud.build([host("h", VCPU=4), child("h", "c", VGPU=2), host("g", VCPU=2, VGPU=2)])
    query = "/berth/v1/capacity?resources=VCPU:1,VGPU:1"

    answers = [cloud.service.get(query, version=f"1.{minor}").json for minor in (28, 29)]

    assert [answer["fits"] for answer in answers] == [2, 4]


def test_names_of_trees_are_read_at_once(cloud):
    cloud.build([host(f"h{number}", VCPU=1) for number in range(9)])
    body = {
        "requests": {str(n): {"query": f"resources=VCPU:{n}"} for n in range(1, 4)},
        "by": ["root"],
    }
    room(cloud.service, "resources=VCPU:1")

    with statements(cloud.service.database) as seen:
        expect(cloud.service.post("/berth/v1/capacity", body), 200)

    assert len([text for text in seen if "name" in text]) == 1


def test_as_many_are_granted_as_fit_while_others_claim(new_database):
    service = Service(new_database())
    Cloud(service).build([host(f"h{number}", VCPU=5) for number in range(3)])
    fits = room(service, "resources=VCPU:2")["fits"]
    granted, seen = [], []

    def claim(number):
        for attempt in range(4):
            consumer = numbered("d", number * 10 + attempt)
            wanted = [{"uuid": consumer, "project_id": "p", "user_id": "u"}]
            wanted[0]["consumer_type"] = "INSTANCE"
            body = {"query": "resources=VCPU:2", "consumers": wanted}
            granted.append(service.post("/berth/v1/claims", body).status_code)
            seen.append(room(service, "resources=VCPU:2")["fits"])

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert granted.count(200) == fits == 6
    assert set(granted) == {200, 409}
    assert all(0 <= left < fits for left in seen)
    assert room(service, "resources=VCPU:2")["fits"] == 0
