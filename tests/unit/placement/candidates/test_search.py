"""The chain over a snapshot: interleaving, caps, random samples."""

import collections
import itertools
from types import SimpleNamespace

import pytest

from placement.candidates import sampling
from placement.candidates.budget import Budget
from placement.candidates.request import CandidateRequest, Generation, Group
from placement.candidates.search import keep_answer, known_answer, search
from placement.errors import SearchUnfinished
from tests.endless import endless
from tests.unit.placement.candidates.snapshots import child, host

CLASS = "SRIOV_NET_VF"


def looks(count):
    """Make a budget of so many looks at the clock."""
    return Budget(count, None, clock=itertools.count().__next__)


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


def test_the_indexes_of_a_snapshot_are_part_of_what_it_takes(clouds, monkeypatch):
    whole = clouds.snapshot(two_trees())
    taken = whole.nbytes
    monkeypatch.setattr("placement.candidates.cloud.snapshot._INDEXED", 0)
    assert taken > whole.nbytes


def test_a_limit_is_spread_over_the_trees(clouds):
    found = search(clouds.snapshot(two_trees()), request(limit=4), endless())

    assert by_root(found) == {"a": 2, "b": 2}


def test_a_cap_without_depth_first_is_spread_as_well(clouds):
    generation = Generation(cap=4, depth_first=False)

    found = search(clouds.snapshot(two_trees()), request(), endless(), generation)

    assert by_root(found) == {"a": 2, "b": 2}


def test_a_depth_first_cap_empties_one_tree_before_the_next(clouds):
    found = search(clouds.snapshot(two_trees()), request(), endless(), Generation(cap=4))

    assert by_root(found) == {"a": 4}


def test_a_tree_that_is_used_up_leaves_its_turns_to_others(clouds):
    providers = two_trees()
    del providers["a2"]

    found = search(clouds.snapshot(providers), request(limit=7), endless())

    assert by_root(found) == {"a": 2, "b": 5}


def test_trees_alike_share_one_search(clouds):
    found = search(clouds.snapshot(two_trees()), request(), endless())

    assert len({id(batch.family.solutions) for batch in found.batches}) == 1


def test_a_random_choice_is_one_of_what_the_cap_allows(clouds):
    snapshot = clouds.snapshot(two_trees())
    listed = chosen(search(snapshot, request(), endless(), Generation(cap=2)))

    seen = {
        candidate
        for number in range(20)
        for candidate in chosen(
            search(snapshot, request(limit=1), endless(), Generation(cap=2, seed=str(number)))
        )
    }

    assert seen == set(listed)


def test_the_same_seed_chooses_the_same(clouds):
    snapshot = clouds.snapshot(two_trees())

    first, second = (
        chosen(search(snapshot, request(limit=3), endless(), Generation(seed="req-1")))
        for _ in range(2)
    )

    assert first == second


#: how a sample is drawn: by number, blindly, by searches in a random order
WAYS = {
    "counted": {},
    "blindly": {"_STATES": 0, "_STATES_EACH": 0},
    "searched": {"_STATES": 0, "_STATES_EACH": 0, "_MISSES": 0, "_MISSES_EACH": 0},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("limit", [1, 5, 11, 12, 13])
def test_a_sample_has_as_many_candidates_as_are_asked_for_however_it_is_drawn(
    clouds, monkeypatch, way, limit
):
    for name, value in WAYS[way].items():
        monkeypatch.setattr(sampling, name, value)

    found = chosen(
        search(
            clouds.snapshot(two_trees()), request(limit=limit), endless(), Generation(seed="req-1")
        )
    )

    assert len(found) == len(set(found)) == min(limit, 12)


@pytest.mark.parametrize("way", ["blindly", "searched"])
def test_every_candidate_has_its_chance_however_it_is_drawn(clouds, monkeypatch, way):
    for name, value in WAYS[way].items():
        monkeypatch.setattr(sampling, name, value)
    snapshot = clouds.snapshot(two_trees())

    seen = collections.Counter(
        candidate
        for number in range(600)
        for candidate in chosen(
            search(snapshot, request(limit=1), endless(), Generation(seed=str(number)))
        )
    )

    assert len(seen) == 12
    assert max(seen.values()) < 100
    assert min(seen.values()) > 25


@pytest.mark.parametrize("count", [1, 2])
def test_every_candidate_is_chosen_about_as_often(clouds, count):
    snapshot = clouds.snapshot(two_trees() | {"c": host(**{CLASS: 9})})
    everything = set(chosen(search(snapshot, request(count), endless())))
    draws = 60 * len(everything)

    seen = collections.Counter(
        candidate
        for number in range(draws)
        for candidate in chosen(
            search(snapshot, request(count, 1), endless(), Generation(seed=str(number)))
        )
    )

    assert set(seen) == everything
    assert max(seen.values()) < 2 * draws / len(everything)
    assert min(seen.values()) > draws / len(everything) / 2


def test_a_sample_of_more_candidates_than_anybody_can_list_is_drawn(clouds):
    snapshot = clouds.snapshot(two_trees(children=40))

    found = search(snapshot, request(40, limit=50), endless(), Generation(seed="req-1"))

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

    found = search(clouds.snapshot(providers), asked, endless(), Generation(seed="req-1"))

    assert sorted(chosen(found)) == [("s",), ("t",)]


@pytest.mark.parametrize("more", [{}, two_trees()])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("depth_first", [True, False])
def test_a_few_hosts_are_found_without_looking_at_all(
    clouds, monkeypatch, more, limit, depth_first
):
    """A limit takes the first candidates, wherever the hosts with room are."""
    monkeypatch.setattr("placement.candidates.trees.tree_problems._FIRST_SLOTS", 1)
    rooms = (0, 4, 0, 0, 4, 4, 0, 0, 0, 4, 0, 4, 0)
    providers = {f"h{n:02}": host(VCPU=room) for n, room in enumerate(rooms)} | more
    snapshot = clouds.snapshot(providers)
    groups = (Group("", {"VCPU": 2}),)
    everything = chosen(search(snapshot, CandidateRequest(groups), endless()))

    limited = chosen(search(snapshot, CandidateRequest(groups, limit=limit), endless()))
    capped = chosen(
        search(snapshot, CandidateRequest(groups), endless(), Generation(limit, depth_first))
    )

    assert limited == capped == everything[:limit]


@pytest.mark.parametrize("seed", [None, "req-1"])
def test_a_search_that_is_ended_answers_what_it_has_found_if_there_is_a_limit(clouds, seed):
    snapshot = clouds.snapshot(two_trees(children=12))

    found = search(snapshot, request(6, limit=10**6), looks(count=20), Generation(seed=seed))

    assert not found.finished
    assert len(set(chosen(found))) == len(found) > 0


@pytest.mark.parametrize("generation", [Generation(), Generation(seed="req-1"), Generation(10**6)])
def test_without_a_limit_it_answers_nothing(clouds, generation):
    snapshot = clouds.snapshot(two_trees(children=12))

    with pytest.raises(SearchUnfinished):
        search(snapshot, request(6), looks(count=20), generation)


@pytest.mark.parametrize("seed", [None, "req-1"])
def test_nothing_is_never_said_to_be_there_unless_it_is_proven(clouds, seed):
    snapshot = clouds.snapshot(two_trees())

    with pytest.raises(SearchUnfinished):
        search(snapshot, request(limit=1), looks(count=1), Generation(seed=seed))


def test_what_a_search_keeps_grows_with_its_limit_alone(clouds):
    few, many = endless(), endless()
    snapshot = clouds.snapshot(two_trees(children=40))
    search(snapshot, request(2, limit=100), few)

    search(snapshot, request(20, limit=100), many)

    assert 0 < few.kept < many.kept < 20 * few.kept


def test_candidates_that_several_trees_have_do_not_count_twice_against_the_bound(clouds):
    sharing = ["MISC_SHARES_VIA_AGGREGATE"]
    providers = {f"h{n}": (None, {"VCPU": 1}, [], ["x"]) for n in range(50)}
    providers |= {f"s{n}": (None, {"DISK_GB": 9}, sharing, ["x"]) for n in range(5)}
    groups = tuple(Group(str(n), {"DISK_GB": 1}) for n in range(2))

    found = search(clouds.snapshot(providers), CandidateRequest(groups), Budget(None, 60_000))

    assert len(found) == 25


class Remembering:
    """A snapshot without inventories."""

    def __init__(self):
        self.columns, self._memo = {}, {}

    def remembered(self, name, make):
        return self._memo.setdefault(name, make())


class Answered(list):
    """So many candidates, found in a part of one tree."""

    def __init__(self, count, finished):
        super().__init__(range(count))
        self.finished, self.snapshot = finished, Remembering()
        cloud = SimpleNamespace(size=1)
        self.trees = SimpleNamespace(by_usage=False, cloud=cloud, in_whole=lambda slots: slots)


@pytest.mark.parametrize(("count", "finished"), [(2, True), (2, False), (0, True)])
def test_an_answer_is_kept_if_there_is_one_and_it_is_whole(count, finished):
    found = Answered(count, finished)
    keep_answer("question", found, [b"text"])

    known = known_answer(found.snapshot, "question")

    assert known == ((2, [b"text"]) if count and finished else None)
