"""A claim that takes of a sharing provider alone is for a tree all the same."""

import threading

import pytest

from placement.candidates.request import CandidateRequest, Group
from placement.extensions.claims import claim_batch, operation
from placement.operations import allocations
from tests.databases.questions import kind_of
from tests.faults.locks import wait_until_somebody_waits
from tests.faults.running import eventually
from tests.functional.placement.extensions.claims.claiming import (
    ask,
    joint_job,
    make_together,
    stay_in_lines,
)
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import expect, numbered
from tests.functional.placement.topology import Cloud, Copied
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("unhurried")

#: the pool is lent to the tree of a, by its child
TOPOLOGY = [
    {"name": "a", "traits": ["CUSTOM_R"]},
    {"name": "a2", "parent": "a", "aggregates": ["g"], "traits": ["CUSTOM_X"]},
    {"name": "b", "inventories": {"VCPU": {"total": 9}}},
    {
        "name": "pool",
        "inventories": {"DISK_GB": {"total": 9}},
        "traits": ["MISC_SHARES_VIA_AGGREGATE"],
        "aggregates": ["g"],
    },
]
QUERY = "resources=DISK_GB:1&root_required=CUSTOM_R"
#: groups without resources name providers of the tree, of which nothing is taken either
WITHOUT_RESOURCES = (
    "resources=DISK_GB:1&required_X=CUSTOM_X&required_Y=CUSTOM_R"
    "&same_subtree=_X,_Y&group_policy=none"
)
#: a request as QUERY
OF_THE_POOL = CandidateRequest((Group("", {"DISK_GB": 1}),), root_required=frozenset({"CUSTOM_R"}))
CONSUMER = numbered("c", 1)


COPIED = Copied(TOPOLOGY)


@pytest.fixture
def service(new_service):
    return new_service(content=COPIED)


@pytest.fixture
def cloud(service):
    return COPIED.of(service)


@pytest.fixture
def other(service):
    return Service(service.url, placement_database__sync_on_startup=False)


def move(other, cloud):
    body = {"name": "a2", "parent_provider_uuid": cloud.uuids["b"]}
    expect(other.put(f"/resource_providers/{cloud.uuids['a2']}", body), 200)


def take_the_trait(other, cloud):
    expect(other.delete(f"/resource_providers/{cloud.uuids['a']}/traits"), 204)


def delete(other, cloud):
    for name in ("a2", "a"):
        expect(other.delete(f"/resource_providers/{cloud.uuids[name]}"), 204)


CHANGES = [move, take_the_trait, delete]


@pytest.mark.parametrize("change", CHANGES)
def test_it_is_refused_where_no_tree_meets_the_request(service, other, cloud, change):
    expect(ask(service, CONSUMER, query=QUERY), 200)
    change(other, cloud)
    expect(ask(service, numbered("c", 2), query=QUERY), 409)


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_the_tree_before_its_locks_has_it_search_again(
    service, other, cloud, monkeypatch, change
):
    real, done = operation.write, []

    def late(*arguments, **more):
        if not done:
            change(other, cloud)
            done.append(change)
        return real(*arguments, **more)

    monkeypatch.setattr(claim_batch, "write", late)

    expect(ask(service, CONSUMER, query=QUERY), 409)
    assert done


def until_one_waits(service):
    """Wait until a transaction waits for a lock. SQLite shows none: it has one writer at a time."""
    if kind_of(service.url) != "sqlite":
        wait_until_somebody_waits(service.url)


@pytest.mark.parametrize("query", [QUERY, WITHOUT_RESOURCES], ids=["plain", "with groups"])
def test_a_move_of_the_tree_waits_for_it(service, other, cloud, monkeypatch, query):
    real, moving, seen = operation.still_valid, [], []

    def look(*arguments):
        found = real(*arguments)
        moving.append(threading.Thread(target=move, args=(other, cloud)))
        moving[0].start()
        until_one_waits(other)
        seen.append(moving[0].is_alive())
        return found

    monkeypatch.setattr(operation, "still_valid", look)

    expect(ask(service, CONSUMER, query=query), 200)
    moving[0].join(PATIENCE)
    assert seen == [True]
    moved = expect(other.get(f"/resource_providers/{cloud.uuids['a2']}"), 200).json
    assert moved["root_provider_uuid"] == cloud.uuids["b"]


@pytest.fixture
def locked(service, cloud):
    """Lock the tree of a from another connection; yield a function that ends that."""
    ready, enough = threading.Event(), threading.Event()

    def hold(connection):
        allocations.lock(connection, [], [cloud.uuids["a"]])
        ready.set()
        enough.wait(PATIENCE)

    holder = threading.Thread(target=service.database.write, args=(hold,))
    holder.start()
    assert ready.wait(PATIENCE)
    yield enough.set
    enough.set()
    holder.join(PATIENCE)


def claiming(service, answers, number, query=QUERY):
    """Return a thread that claims and notes the status."""

    def claim():
        answers.append(ask(service, numbered("c", number), query=query).status_code)

    thread = threading.Thread(target=claim)
    thread.start()
    return thread


def test_it_waits_for_whoever_has_its_tree(service, locked):
    """What others have locked for a moment is no reason to refuse it."""
    answers = []
    threads = [claiming(service, answers, number) for number in range(4)]
    until_one_waits(service)
    assert answers == []
    locked()
    for thread in threads:
        thread.join(PATIENCE)
    assert answers == [200] * 4


@pytest.mark.parametrize("database_kind", ["postgresql", "mariadb"], indirect=True)
def test_other_claims_do_not_wait_with_it(service, locked):
    waiting, others = [], []
    threads = [claiming(service, waiting, 0)]
    until_one_waits(service)
    for number in range(1, 4):
        claiming(service, others, number, "resources=VCPU:1").join(PATIENCE)
    assert (waiting, others) == ([], [200] * 3)
    locked()
    threads[0].join(PATIENCE)
    assert waiting == [200]


@pytest.mark.parametrize("database_kind", ["postgresql", "mariadb"], indirect=True)
def test_those_that_wait_hold_one_connection_and_are_made_together(
    service, cloud, locked, monkeypatch
):
    stay_in_lines(monkeypatch)
    answers, plans = [], counted_plans(monkeypatch)
    threads = [claiming(service, answers, 0)]
    until_one_waits(service)
    lines = service.running.searching.parts.claims
    threads += [claiming(service, answers, number) for number in range(1, 6)]
    # the first of them has its turn
    eventually(lambda: lines.waiting(cloud.uuids["a"]) == 5, lambda: str(answers))
    # another is who has locked the tree; there is none between two waits
    assert service.database.kept.counts()[0] <= 2
    before = len(plans)
    locked()
    for thread in threads:
        thread.join(PATIENCE)
    assert answers == [200] * 6
    assert lines.waiting(cloud.uuids["a"]) == 0
    assert [len(plan.requests) for plan in plans[before:]] == [5]


@pytest.mark.parametrize("database_kind", ["postgresql", "mariadb"], indirect=True)
def test_who_comes_while_a_line_is_there_joins_it_without_a_try(
    service, cloud, locked, monkeypatch
):
    answers, plans = [], counted_plans(monkeypatch)
    threads = [claiming(service, answers, 0)]
    until_one_waits(service)
    # one that didn't wait for the lock, and one that waits
    assert len(plans) == 2
    threads.append(claiming(service, answers, 1))
    lines = service.running.searching.parts.claims
    eventually(lambda: lines.waiting(cloud.uuids["a"]) == 1, lambda: str(answers))
    assert len(plans) == 2
    locked()
    for thread in threads:
        thread.join(PATIENCE)
    assert answers == [200] * 2


@pytest.mark.parametrize("database_kind", ["postgresql", "mariadb"], indirect=True)
def test_a_claim_whose_client_left_leaves_the_line(service, cloud, locked, monkeypatch):
    answers, left = [], threading.Event()
    threads = [claiming(service, answers, 0)]
    until_one_waits(service)
    is_abandoned = property(lambda budget: left.is_set())
    monkeypatch.setattr("placement.candidates.budget.Budget.is_abandoned", is_abandoned)
    threads.append(claiming(service, answers, 1))
    lines = service.running.searching.parts.claims
    eventually(lambda: lines.waiting(cloud.uuids["a"]) == 1, lambda: str(answers))
    left.set()
    threads[1].join(PATIENCE)
    assert answers == [503]
    assert lines.waiting(cloud.uuids["a"]) == 0
    left.clear()
    locked()
    threads[0].join(PATIENCE)
    assert answers == [503, 200]


def counted_plans(monkeypatch):
    """Return a list that gets each plan that is written."""
    real, plans = claim_batch.write, []

    def counted(database, snapshot, plan, *more):
        plans.append(plan)
        return real(database, snapshot, plan, *more)

    monkeypatch.setattr(claim_batch, "write", counted)
    return plans


def test_such_claims_are_made_together(service, cloud, monkeypatch):
    plans = counted_plans(monkeypatch)
    jobs = [joint_job(service, number, OF_THE_POOL) for number in range(3)]
    make_together(jobs)
    assert all(job.results for job in jobs)
    assert [len(plan.requests) for plan in plans] == [3]


@pytest.mark.parametrize("database_kind", ["postgresql", "mariadb"], indirect=True)
def test_one_whose_tree_is_locked_is_left_out_of_those(service, locked):
    jobs = [joint_job(service, 0, OF_THE_POOL), joint_job(service, 1)]
    make_together(jobs)
    assert [bool(job.results) for job in jobs] == [False, True]


# Changes of the tree between the search and its locks


@pytest.fixture
def planned(service, cloud, monkeypatch):
    """Return a function: what it is given happens between the next plan and its write."""
    real, changes = claim_batch.write, []

    def late(*arguments, **more):
        while changes:
            changes.pop()()
        return real(*arguments, **more)

    monkeypatch.setattr(claim_batch, "write", late)
    return changes.append


def set_traits(other, cloud, name, *traits):
    path = f"/resource_providers/{cloud.uuids[name]}/traits"
    now = expect(other.get(path), 200).json
    body = {"resource_provider_generation": now["resource_provider_generation"]}
    expect(other.put(path, body | {"traits": list(traits)}), 200)


def test_a_candidate_that_is_one_still_is_stored_without_another_search(
    service, other, cloud, planned, monkeypatch
):
    plans = counted_plans(monkeypatch)
    expect(other.put("/traits/CUSTOM_Z"), 201)
    planned(lambda: set_traits(other, cloud, "a", "CUSTOM_R", "CUSTOM_Z"))
    expect(ask(service, CONSUMER, query=QUERY), 200)
    assert len(plans) == 1


def test_mappings_are_those_of_the_tree_as_it_is_when_they_are_stored(
    service, other, cloud, planned
):
    """Another provider serves a group when the claim is stored: a repetition says the same."""
    query = "resources1=VGPU:1&resources2=VGPU:1&required2=CUSTOM_X&group_policy=isolate"
    devices = Cloud(service).build(
        [
            {"name": "c", "inventories": {"VCPU": {"total": 9}}},
            *(
                {"name": name, "parent": "c", "inventories": {"VGPU": {"total": 1}}, "traits": own}
                for name, own in (("c1", []), ("c2", ["CUSTOM_X"]))
            ),
        ]
    )
    c1, c2 = devices.uuids["c1"], devices.uuids["c2"]

    def swap():
        set_traits(other, devices, "c1", "CUSTOM_X")
        set_traits(other, devices, "c2")

    planned(swap)
    first = expect(ask(service, CONSUMER, query=query), 200).json
    assert first["consumers"][CONSUMER]["mappings"] == {"1": [c2], "2": [c1]}
    assert expect(ask(service, CONSUMER, query=query), 200).json == first


def test_a_group_that_lost_its_trait_is_searched_again(service, other, cloud, planned):
    planned(lambda: set_traits(other, cloud, "a2"))
    expect(ask(service, CONSUMER, query=WITHOUT_RESOURCES), 409)


def test_a_pool_that_is_lent_no_more_is_searched_again(service, other, cloud, planned):
    path = f"/resource_providers/{cloud.uuids['pool']}/aggregates"

    def end():
        now = expect(other.get(path), 200).json["resource_provider_generation"]
        expect(other.put(path, {"aggregates": [], "resource_provider_generation": now}), 200)

    planned(end)
    expect(ask(service, CONSUMER, query=QUERY), 409)
