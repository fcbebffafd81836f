"""Concurrent writers, in several processes and in several threads (architecture.rst D3)."""

import collections
import threading

import pytest

from tests.extent import examples
from tests.functional.placement.processes import COUNT
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import (
    CHILD,
    EMPTY,
    NEW,
    ROOT,
    expect,
    fill,
    holding,
    numbered,
    stock,
)

ROUNDS = examples(6, 12)
#: a write is refused when another one was granted meanwhile, so far fewer are enough
MOST_TRIES = 20 * COUNT * ROUNDS


@pytest.fixture
def service(database_url):
    return Service(database_url)


def in_threads(service, job):
    """Run `job(service, number)` in COUNT threads; return the results by number."""
    answers, ready = {}, threading.Barrier(COUNT)

    def run(number):
        ready.wait()
        answers[number] = job(service, number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [answers[number] for number in range(COUNT)]


# threads share what isn't the database; what each database makes of several is seen with processes
@pytest.fixture(
    params=["processes", pytest.param("threads", marks=pytest.mark.spread_over_databases)]
)
def run_concurrently(request, service):
    """Return a function that runs a job in several processes, or in threads."""
    if request.param == "threads":
        return lambda job: in_threads(service, job)
    started = request.getfixturevalue("processes")
    return lambda job: started.run(job, service.url)


def merged(counters):
    return sum(counters, start=collections.Counter())


def code(response):
    if response.status_code < 400:
        return response.status_code
    return response.status_code, response.json["errors"][0].get("code")


CONFLICT = (409, "placement.concurrent_update")
REFUSED = (409, "placement.undefined_code")


def nothing(service, number):
    return service.get("/resource_classes").status_code


def test_processes_that_start_together_create_one_database(processes, new_database):
    assert processes.run(nothing, new_database(empty=True)) == [200] * COUNT


# Capacity


def take_one_each(service, number):
    """Allocate one VCPU of ROOT for each of many consumers."""
    return collections.Counter(
        code(
            service.put(
                f"/allocations/{numbered('c', number * 1000 + n)}", holding({ROOT: {"VCPU": 1}})
            )
        )
        for n in range(ROUNDS)
    )


def test_capacity_is_allocated_exactly_once(service, run_concurrently):
    total = COUNT * ROUNDS - 10
    expect(service.post("/resource_providers", {"name": "root", "uuid": ROOT}), 200)
    expect(service.put(f"/resource_providers/{ROOT}/inventories", stock(0, VCPU=total)), 200)

    answers = merged(run_concurrently(take_one_each))

    assert answers == {204: total, REFUSED: 10}
    usage = service.get(f"/resource_providers/{ROOT}/usages").json
    assert usage == {"usages": {"VCPU": total}, "resource_provider_generation": 1 + total}


# One consumer


def take_as_the_same(service, number):
    """Create consumers that the other writers create, too."""
    answers = []
    for n in range(ROUNDS):
        wanted = holding({ROOT: {"VCPU": 1 + number}}, project=f"p{number}")
        answers.append(code(service.put(f"/allocations/{numbered('f', n)}", wanted)))
    return answers


def test_one_of_several_writers_creates_a_new_consumer(service, run_concurrently):
    fill(service)
    expect(service.put(f"/resource_providers/{ROOT}/inventories/VCPU", one(5, 1000)), 200)

    answers = run_concurrently(take_as_the_same)

    by_consumer = [sorted(answer, key=str) for answer in zip(*answers, strict=True)]
    assert (
        by_consumer == [[CONFLICT] * (COUNT - 1) + [204]] * ROUNDS
        or by_consumer == [sorted([204] + [CONFLICT] * (COUNT - 1), key=str)] * ROUNDS
    )
    for n, answer in enumerate(zip(*answers, strict=True)):
        winner = answer.index(204)
        held = service.get(f"/allocations/{numbered('f', n)}").json
        assert held["allocations"][ROOT]["resources"] == {"VCPU": 1 + winner}
        assert (held["project_id"], held["consumer_generation"]) == (f"p{winner}", 1)


def one(generation, total):
    return {"resource_provider_generation": generation, "total": total}


def grow_together(service, number):
    """Add a VCPU to one consumer, ROUNDS times, each time based on a read."""
    won = 0
    for _ in range(MOST_TRIES):
        if won == ROUNDS:
            break
        now = service.get(f"/allocations/{NEW}").json
        held = now["allocations"][ROOT]["resources"]["VCPU"]
        wanted = holding({ROOT: {"VCPU": held + 1}}, generation=now["consumer_generation"])
        answer = code(service.put(f"/allocations/{NEW}", wanted))
        assert answer in (204, CONFLICT)
        won += answer == 204
    return won


def test_no_update_of_a_consumer_is_lost(service, run_concurrently):
    fill(service)
    expect(service.put(f"/resource_providers/{ROOT}/inventories/VCPU", one(5, 1000)), 200)
    expect(service.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}})), 204)

    run_concurrently(grow_together)

    held = service.get(f"/allocations/{NEW}").json
    assert held["allocations"][ROOT]["resources"]["VCPU"] == 1 + COUNT * ROUNDS
    assert held["consumer_generation"] == 1 + COUNT * ROUNDS


def grow_inventory_together(service, number):
    """Add one to an inventory, ROUNDS times; return the generations seen."""
    seen, won = [], 0
    path = f"/resource_providers/{ROOT}/inventories/VCPU"
    for _ in range(MOST_TRIES):
        if won == ROUNDS:
            break
        now = service.get(path).json
        seen.append(now["resource_provider_generation"])
        wanted = one(now["resource_provider_generation"], now["total"] + 1)
        answer = code(service.put(path, wanted))
        assert answer in (200, CONFLICT)
        won += answer == 200
    return seen


def test_no_update_of_an_inventory_is_lost(service, run_concurrently):
    fill(service)

    seen = run_concurrently(grow_inventory_together)

    now = service.get(f"/resource_providers/{ROOT}/inventories/VCPU").json
    assert (now["total"], now["resource_provider_generation"]) == (
        8 + COUNT * ROUNDS,
        5 + COUNT * ROUNDS,
    )
    assert all(generations == sorted(generations) for generations in seen)


# The same name at the same time


def create_the_same(service, number):
    """Create the same objects as the other writers; return the statuses of each kind."""
    answers = collections.defaultdict(list)
    for n in range(ROUNDS):
        body = {"name": f"provider {n}", "uuid": numbered("d", number * 1000 + n)}
        answers["name"].append(code(service.post("/resource_providers", body)))
        body = {"name": f"{number} {n}", "uuid": numbered("e", n)}
        answers["uuid"].append(code(service.post("/resource_providers", body)))
        answers["trait"].append(code(service.put(f"/traits/CUSTOM_{n}")))
        answers["class"].append(code(service.put(f"/resource_classes/CUSTOM_{n}")))
        body = {"name": f"CUSTOM_POSTED_{n}"}
        answers["posted class"].append(code(service.post("/resource_classes", body)))
        answers["own class"].append(code(service.put(f"/resource_classes/CUSTOM_{number}_OF_{n}")))
        path = f"/resource_providers/{numbered('e', n)}/aggregates"
        answers["aggregate"].append(code(service.put(path, [numbered("b", n)], version="1.18")))
    return dict(answers)


def test_an_object_that_several_writers_create_is_created_once(service, run_concurrently):
    answers = run_concurrently(create_the_same)

    taken = (409, "placement.duplicate_name")
    totals = {
        kind: merged(collections.Counter(answer[kind]) for answer in answers) for kind in answers[0]
    }
    others = (COUNT - 1) * ROUNDS
    assert totals == {
        "name": {200: ROUNDS, taken: others},
        "uuid": {200: ROUNDS, taken: others},
        "trait": {201: ROUNDS, 204: others},
        "class": {201: ROUNDS, 204: others},
        "posted class": {201: ROUNDS, REFUSED: others},
        "own class": {201: ROUNDS * COUNT},
        "aggregate": {200: ROUNDS * COUNT},
    }
    ids = [row[0] for row in service.ask("SELECT id FROM resource_classes WHERE id >= 10000")]
    assert sorted(ids) == list(range(10000, 10000 + ROUNDS * (2 + COUNT)))


# Parents and children


def bear_and_delete(service, number):
    """Delete providers in one writer, create children of them in the others."""
    answers = []
    for n in range(ROUNDS):
        parent = numbered("d", n)
        if number == 0:
            answers.append(code(service.delete(f"/resource_providers/{parent}")))
        else:
            child = {
                "name": f"{number} {n}",
                "uuid": numbered("e", number * 1000 + n),
                "parent_provider_uuid": parent,
            }
            answers.append(code(service.post("/resource_providers", child)))
    return answers


def test_a_parent_is_deleted_or_gets_children_but_not_both(service, run_concurrently):
    for n in range(ROUNDS):
        body = {"name": f"parent {n}", "uuid": numbered("d", n)}
        expect(service.post("/resource_providers", body), 200)

    deleted, *born = run_concurrently(bear_and_delete)

    refused = (409, "placement.resource_provider.cannot_delete_parent")
    for n, answer in enumerate(deleted):
        children = [answers[n] for answers in born]
        assert answer in (204, refused)
        assert (200 in children) == (answer == refused), (answer, children)
        assert set(children) <= {200, (400, "placement.undefined_code")}
    orphans = service.ask(
        "SELECT * FROM resource_providers WHERE parent_provider_id NOT IN "
        "(SELECT id FROM resource_providers)"
    )
    assert orphans == []


def move_and_bear(service, number):
    """Move a tree to and fro in one writer, add children to it in the others."""
    for n in range(ROUNDS):
        if number == 0:
            root = {"name": "child", "parent_provider_uuid": ROOT if n % 2 else EMPTY}
            expect(service.put(f"/resource_providers/{CHILD}", root), 200)
        else:
            child = {"name": f"{number} {n}", "parent_provider_uuid": CHILD}
            expect(service.post("/resource_providers", child), 200)


def test_a_child_created_during_a_move_moves_with_its_tree(service, run_concurrently):
    fill(service)
    run_concurrently(move_and_bear)
    torn = service.ask(
        "SELECT child.name FROM resource_providers child JOIN resource_providers parent "
        "ON child.parent_provider_id = parent.id "
        "WHERE child.root_provider_id != parent.root_provider_id"
    )
    assert torn == []


# Many consumers and providers at once


def swap(service, number):
    """Swap allocations of pairs of consumers, in opposite orders, until ROUNDS swaps succeeded."""
    first, second = numbered("c", 1), numbered("c", 2)
    order = [first, second] if number % 2 else [second, first]
    won = 0
    for _ in range(MOST_TRIES):
        if won == ROUNDS:
            break
        now = {consumer: service.get(f"/allocations/{consumer}").json for consumer in order}
        wanted = {}
        for mine, other in (order, order[::-1]):
            held = now[other]["allocations"]
            allocations = {uuid: given["resources"] for uuid, given in held.items()}
            wanted[mine] = holding(allocations, now[mine]["consumer_generation"])
        answer = code(service.post("/allocations", wanted))
        assert answer in (204, CONFLICT)
        won += answer == 204
    return won


def test_consumers_that_swap_in_opposite_orders_lose_nothing(service, run_concurrently):
    for name, uuid in (("root", ROOT), ("empty", EMPTY)):
        expect(service.post("/resource_providers", {"name": name, "uuid": uuid}), 200)
        expect(service.put(f"/resource_providers/{uuid}/inventories", stock(0, VCPU=3)), 200)
    expect(service.put(f"/allocations/{numbered('c', 1)}", holding({ROOT: {"VCPU": 3}})), 204)
    expect(service.put(f"/allocations/{numbered('c', 2)}", holding({EMPTY: {"VCPU": 3}})), 204)

    run_concurrently(swap)

    held = service.ask("SELECT consumer_id, used FROM allocations ORDER BY consumer_id")
    assert held == [(numbered("c", 1), 3), (numbered("c", 2), 3)]
    generations = service.ask("SELECT generation FROM consumers")
    assert generations == [(1 + COUNT * ROUNDS,)] * 2


# Reshapes


def reshape_and_claim(service, number):
    """Move VCPU with its allocations in one writer; allocate VCPU in the others."""
    return _reshape_to_and_fro(service) if number == 0 else _claim(service, number)


def _reshape_to_and_fro(service):
    answers = collections.Counter()
    source, target = ROOT, CHILD
    while answers[204] < ROUNDS and answers.total() < MOST_TRIES:
        held = service.get(f"/resource_providers/{source}/allocations").json
        target_generation = _generation(service, target)
        moved = {}
        for consumer in held["allocations"]:
            now = service.get(f"/allocations/{consumer}").json
            allocations = {
                (target if uuid == source else uuid): given["resources"]
                for uuid, given in now["allocations"].items()
            }
            if allocations:
                moved[consumer] = holding(allocations, now["consumer_generation"])
        body = {
            "inventories": {
                source: stock(held["resource_provider_generation"]),
                target: stock(target_generation, VCPU=1000),
            },
            "allocations": moved,
        }
        answer = code(service.post("/reshaper", body))
        answers[answer] += 1
        if answer == 204:
            source, target = target, source
    return answers


def _generation(service, uuid):
    return service.get(f"/resource_providers/{uuid}").json["generation"]


def _claim(service, number):
    answers = collections.Counter()
    for n in range(ROUNDS):
        consumer = numbered("c", number * 1000 + n)
        # VCPU may have moved before the request, so try both
        for provider in (ROOT, CHILD):
            answer = code(service.put(f"/allocations/{consumer}", holding({provider: {"VCPU": 2}})))
            answers[answer] += 1
            if answer == 204:
                break
    return answers


def test_a_reshape_moves_concurrent_allocations_too(service, run_concurrently):
    expect(service.post("/resource_providers", {"name": "root", "uuid": ROOT}), 200)
    child = {"name": "child", "uuid": CHILD, "parent_provider_uuid": ROOT}
    expect(service.post("/resource_providers", child), 200)
    expect(service.put(f"/resource_providers/{ROOT}/inventories", stock(0, VCPU=1000)), 200)

    reshaper, *claims = run_concurrently(reshape_and_claim)

    claimed = merged(claims)
    in_use = (409, "placement.inventory.inuse")
    assert reshaper[204] == ROUNDS
    assert set(reshaper) <= {204, CONFLICT, in_use}
    assert set(claimed) <= {204, REFUSED}
    held = service.ask("SELECT count(*), sum(used) FROM allocations")
    assert held == [(claimed[204], 2 * claimed[204] or None)]
    homeless = service.ask(
        "SELECT * FROM allocations a LEFT JOIN inventories i "
        "ON a.resource_provider_id = i.resource_provider_id "
        "AND a.resource_class_id = i.resource_class_id WHERE i.id IS NULL"
    )
    assert homeless == []


# Names that others use


def use_and_delete(service, number):
    """Delete traits and classes in one writer, assign them to providers in the others."""
    answers = collections.Counter()
    path = f"/resource_providers/{numbered('d', number)}"
    for n in range(ROUNDS):
        name = f"CUSTOM_{n}"
        if number == 0:
            answers[code(service.delete(f"/traits/{name}"))] += 1
            answers[code(service.delete(f"/resource_classes/{name}"))] += 1
            continue
        generation = _generation(service, numbered("d", number))
        traits = {"traits": [name], "resource_provider_generation": generation}
        answers[code(service.put(f"{path}/traits", traits))] += 1
        body = {"resource_class": name, "total": 1}
        answers[code(service.post(f"{path}/inventories", body))] += 1
    return answers


def test_names_are_deleted_or_used_but_not_both(service, run_concurrently):
    for number in range(1, COUNT):
        body = {"name": str(number), "uuid": numbered("d", number)}
        expect(service.post("/resource_providers", body), 200)
    for n in range(ROUNDS):
        expect(service.put(f"/traits/CUSTOM_{n}"), 201)
        expect(service.put(f"/resource_classes/CUSTOM_{n}"), 201)

    deleted, *used = run_concurrently(use_and_delete)

    assert set(deleted) <= {204, REFUSED}
    assert set(merged(used)) <= {200, 201, (400, "placement.undefined_code")}
    nameless = service.ask(
        "SELECT trait_id FROM resource_provider_traits WHERE trait_id NOT IN "
        "(SELECT id FROM traits) UNION SELECT resource_class_id FROM inventories "
        "WHERE resource_class_id NOT IN (SELECT id FROM resource_classes)"
    )
    assert nameless == []
