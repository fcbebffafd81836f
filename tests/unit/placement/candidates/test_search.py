"""The chain over a snapshot: interleaving, caps, random samples."""

import collections

import pytest

from placement.candidates.request import CandidateRequest, Generation, Group
from placement.candidates.search import search
from tests.unit.placement.candidates.snapshots import child, host

CLASS = "SRIOV_NET_VF"


def request(count=2, limit=None, **more):
    groups = tuple(Group(str(n), {CLASS: 1}) for n in range(count))
    return CandidateRequest(groups, limit=limit, **more)


def two_trees(children=3, units=1):
    providers = {}
    for root in ("a", "b"):
        providers[root] = host(VCPU=4)
        providers |= {f"{root}{n}": child(root, **{CLASS: units}) for n in range(children)}
    return providers


def chosen(found):
    """Each candidate as the uuids of its variables' providers."""
    uuids = found.snapshot.register.uuids
    candidates = []
    for batch in found.batches:
        for number in range(len(batch)):
            slots = batch.family.slots(number)
            candidates.append(tuple(uuids[slots[local]] for local in batch.solution))
    return candidates


def by_root(found):
    return collections.Counter(candidate[0][0] for candidate in chosen(found))


def test_a_limit_is_spread_over_the_trees(clouds):
    found = search(clouds.snapshot(two_trees()), request(limit=4))

    assert by_root(found) == {"a": 2, "b": 2}


def test_a_cap_without_depth_first_is_spread_as_well(clouds):
    generation = Generation(cap=4, depth_first=False)

    found = search(clouds.snapshot(two_trees()), request(), generation)

    assert by_root(found) == {"a": 2, "b": 2}


def test_a_depth_first_cap_empties_one_tree_before_the_next(clouds):
    found = search(clouds.snapshot(two_trees()), request(), Generation(cap=4))

    assert by_root(found) == {"a": 4}


def test_a_tree_that_is_used_up_leaves_its_turns_to_others(clouds):
    providers = two_trees()
    del providers["a2"]

    found = search(clouds.snapshot(providers), request(limit=7))

    assert by_root(found) == {"a": 2, "b": 5}


def test_trees_alike_share_one_search(clouds):
    found = search(clouds.snapshot(two_trees()), request())

    assert len({id(batch.family.solved) for batch in found.batches}) == 1


def test_the_same_seed_chooses_the_same(clouds):
    snapshot = clouds.snapshot(two_trees())

    first, second = (
        chosen(search(snapshot, request(limit=3), Generation(seed="req-1"))) for _ in range(2)
    )

    assert first == second


@pytest.mark.parametrize("count", [1, 2])
def test_every_candidate_is_chosen_about_as_often(clouds, count):
    snapshot = clouds.snapshot(two_trees() | {"c": host(**{CLASS: 9})})
    everything = set(chosen(search(snapshot, request(count))))
    draws = 60 * len(everything)

    seen = collections.Counter(
        candidate
        for number in range(draws)
        for candidate in chosen(search(snapshot, request(count, 1), Generation(seed=str(number))))
    )

    assert set(seen) == everything
    assert max(seen.values()) < 2 * draws / len(everything)
    assert min(seen.values()) > draws / len(everything) / 2


def test_a_sample_of_more_candidates_than_anybody_can_list_is_drawn(clouds):
    snapshot = clouds.snapshot(two_trees(children=40))

    found = search(snapshot, request(40, limit=50), Generation(seed="req-1"))

    assert len(set(chosen(found))) == 50
    assert set(by_root(found)) == {"a", "b"}


def test_candidates_that_several_trees_have_come_once_in_a_sample(clouds):
    sharing = ["MISC_SHARES_VIA_AGGREGATE"]
    providers = {
        "a": (None, {"VCPU": 1}, [], ["x"]),
        "b": (None, {"VCPU": 1}, [], ["x"]),
        "s": (None, {"DISK_GB": 5}, sharing, ["x"]),
        "t": (None, {"DISK_GB": 5}, sharing, ["x"]),
    }
    asked = CandidateRequest((Group("", {"DISK_GB": 1}),), limit=2)

    found = search(clouds.snapshot(providers), asked, Generation(seed="req-1"))

    assert sorted(chosen(found)) == [("s",), ("t",)]


@pytest.mark.parametrize("more", [{}, two_trees()])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("depth_first", [True, False])
def test_a_few_hosts_are_found_without_looking_at_all(
    clouds, monkeypatch, more, limit, depth_first
):
    """A limit takes the first candidates, wherever the hosts with room are."""
    monkeypatch.setattr("placement.candidates.trees._FIRST_SLOTS", 1)
    rooms = (0, 4, 0, 0, 4, 4, 0, 0, 0, 4, 0, 4, 0)
    providers = {f"h{n:02}": host(VCPU=room) for n, room in enumerate(rooms)} | more
    snapshot = clouds.snapshot(providers)
    groups = (Group("", {"VCPU": 2}),)
    everything = chosen(search(snapshot, CandidateRequest(groups)))

    limited = chosen(search(snapshot, CandidateRequest(groups, limit=limit)))
    capped = chosen(search(snapshot, CandidateRequest(groups), Generation(limit, depth_first)))

    assert limited == capped == everything[:limit]
