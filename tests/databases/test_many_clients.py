"""Many concurrent clients of several processes: nothing is allocated twice, and no client fails."""

import collections
import functools

import pytest

from tests.functional.placement.crowd import FULL, at_once, claims, outcome
from tests.functional.placement.processes import COUNT
from tests.functional.placement.small_cloud import CHILD, ROOT, expect, holding, numbered, stock

CLIENTS = 11
EACH = 2
TOTAL = COUNT * CLIENTS * EACH
PATH = f"/resource_providers/{ROOT}"
#: maximum number of conflicts for one request
PATIENCE = 1000


@pytest.fixture
def root(service):
    expect(service.post("/resource_providers", {"name": "root", "uuid": ROOT}), 200)
    return service


def test_many_clients_get_the_whole_capacity_and_no_more(root, processes):
    room = TOTAL - 20
    expect(root.put(f"{PATH}/inventories", stock(0, VCPU=room)), 200)
    claim = functools.partial(claims, clients=CLIENTS, each=EACH)
    answers = sum(processes.run(claim, root.url), start=collections.Counter())
    used = root.get(f"{PATH}/usages").json["usages"]
    assert (answers, used) == ({204: room, FULL: 20}, {"VCPU": room})
    assert root.ask("SELECT count(*) FROM projects") == [(5,)]


def come_and_go(service, process):
    """Allocate and release, in many clients."""

    def client(number):
        consumer = numbered("c", process * CLIENTS + number)
        found = []
        for _ in range(EACH):
            wanted = holding({ROOT: {"VCPU": 1, "DISK_GB": 3}})
            found.append(outcome(service.put(f"/allocations/{consumer}", wanted)))
            found.append(outcome(service.delete(f"/allocations/{consumer}")))
        return found

    return at_once(client, CLIENTS)


def test_what_many_clients_release_is_free_again(root, processes):
    expect(root.put(f"{PATH}/inventories", stock(0, VCPU=TOTAL, DISK_GB=3 * TOTAL)), 200)
    answers = sum(processes.run(come_and_go, root.url), start=collections.Counter())
    used = root.get(f"{PATH}/usages").json["usages"]
    assert (answers, used) == ({204: 2 * TOTAL}, {"VCPU": 0, "DISK_GB": 0})
    assert root.sizes()["consumers"] == 0


def make_the_same(service, process):
    """Create the same objects concurrently, in many clients."""

    def client(number):
        name = f"p{number % 2}"
        uuid = numbered("d", number % 2)
        return [
            outcome(service.put(f"/traits/CUSTOM_T{number % 2}")),
            outcome(service.put(f"/resource_classes/CUSTOM_C{number % 2}")),
            outcome(service.post("/resource_providers", {"name": name, "uuid": uuid})),
        ]

    return at_once(client, CLIENTS)


def test_an_object_that_many_clients_create_is_created_once(service, processes):
    answers = sum(processes.run(make_the_same, service.url), start=collections.Counter())
    clients = COUNT * CLIENTS
    taken = (409, "placement.duplicate_name", "Conflict")
    assert answers == {201: 4, 204: 2 * clients - 4, 200: 2, taken: clients - 2}


def move_and_claim(service, process):
    """Reshape a provider's inventory to its child and back while other clients allocate."""
    if process:
        return claim_wherever(service, process)
    found = []
    for source, target in [(ROOT, CHILD), (CHILD, ROOT)] * 3:
        found.append(move(service, source, target))
    return collections.Counter(found)


def move(service, source, target):
    """Repeat a reshape after conflicts; return the last response."""
    for _ in range(PATIENCE):
        state = {
            uuid: service.get(f"/resource_providers/{uuid}/inventories").json
            for uuid in (source, target)
        }
        held = service.get(f"/resource_providers/{source}/allocations").json["allocations"]
        body = {
            "inventories": {
                source: {
                    "resource_provider_generation": state[source]["resource_provider_generation"],
                    "inventories": {},
                },
                target: {
                    "resource_provider_generation": state[target]["resource_provider_generation"],
                    "inventories": {"VCPU": {"total": TOTAL}},
                },
            },
            "allocations": {
                uuid: holding({target: {"VCPU": 1}}, given["consumer_generation"], kind="X")
                for uuid, given in held.items()
            },
        }
        answer = outcome(service.post("/reshaper", body))
        if answer != (409, "placement.concurrent_update", "Conflict"):
            break
    return answer


def claim_wherever(service, process):
    def client(number):
        consumer = numbered("c", process * CLIENTS + number)
        for turn in range(PATIENCE):
            uuid = (ROOT, CHILD)[turn % 2]
            wanted = holding({uuid: {"VCPU": 1}}, kind="X")
            answer = outcome(service.put(f"/allocations/{consumer}", wanted))
            if answer != FULL:
                break
        return [answer]

    return at_once(client, 6)


def test_a_reshape_loses_no_concurrent_allocation(root, processes):
    child = {"name": "child", "uuid": CHILD, "parent_provider_uuid": ROOT}
    expect(root.post("/resource_providers", child), 200)
    expect(root.put(f"{PATH}/inventories", stock(0, VCPU=TOTAL)), 200)
    answers = sum(processes.run(move_and_claim, root.url), start=collections.Counter())
    claims = 6 * (COUNT - 1)
    used = root.get(f"{PATH}/usages").json["usages"]
    assert (answers, used) == ({204: 6 + claims}, {"VCPU": claims})
