"""All kinds of concurrent writes to a few trees, by independent clients.

Some providers are older than their parents, so that the order of ids isn't the order in the trees.
"""

import itertools
import random
from collections.abc import Callable, Iterable, Iterator

from tests.databases.questions import ask, kind_of
from tests.faults.running import Answer, Client
from tests.functional.placement.small_cloud import numbered, stock

#: in the order of their creation
LEAF, MIDDLE, ROOT, OTHER_ROOT = (numbered("d", number) for number in range(1, 5))
CLASSES = {"VCPU": 10_000, "CUSTOM_THING": 10_000}
TRAITS = ("CUSTOM_X", "CUSTOM_Y", "HW_CPU_X86_AVX")
AGGREGATES = tuple(numbered("e", number) for number in range(3))

#: one operation of a writer, with a number that no other one has; yields the statuses
Step = Callable[[Client, random.Random, int], Iterator[int]]


def make(client: Client) -> None:
    """Create OTHER_ROOT, and ROOT with MIDDLE below and LEAF below that; all with inventories."""
    _well(client.put("/resource_classes/CUSTOM_THING"))
    for trait in TRAITS[:2]:
        _well(client.put(f"/traits/{trait}"))
    for uuid in (LEAF, MIDDLE, ROOT, OTHER_ROOT):
        _well(client.post("/resource_providers", {"name": uuid, "uuid": uuid}))
        _well(client.put(f"/resource_providers/{uuid}/inventories", stock(0, **CLASSES)))
    _well(_put_below(client, MIDDLE, ROOT))
    _well(_put_below(client, LEAF, MIDDLE))


def claim(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    """Allocate for a new consumer from a parent and its child, then delete the allocations."""
    consumer = numbered("c", number)
    wanted = {uuid: {"VCPU": 1} for uuid in chance.sample([ROOT, MIDDLE, LEAF], 2)}
    yield _hold(client, consumer, wanted)
    yield client.delete(f"/allocations/{consumer}").status


def claim_together(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    """Write two consumers, which all writers share, in one request."""
    body = {}
    for consumer in chance.sample([numbered("f", n) for n in range(3)], 2):
        uuid = chance.choice([ROOT, MIDDLE, LEAF])
        now = client.get(f"/allocations/{consumer}").body
        body[consumer] = held(now.get("consumer_generation"), {uuid: {"CUSTOM_THING": 1}})
    yield client.post("/allocations", body).status


def find_and_claim(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    """Claim for two new consumers, wherever there is room, then delete the allocations."""
    owner = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
    consumers = [numbered(letter, number) for letter in "89"]
    body = {
        "query": "resources=VCPU:1,CUSTOM_THING:1",
        "consumers": [{"uuid": uuid, **owner} for uuid in consumers],
        "strategy": chance.choice(["first", "random", "spread", "pack"]),
    }
    yield client.post("/berth/v1/claims", body).status
    for uuid in consumers:
        yield client.delete(f"/allocations/{uuid}").status


def keep_parent(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    """Write a child with its current parent."""
    yield _put_below(client, MIDDLE, ROOT).status


def rename(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    """Rename a child, with its current parent."""
    body = {"name": f"{MIDDLE} {number}", "parent_provider_uuid": ROOT}
    yield client.put(f"/resource_providers/{MIDDLE}", body).status


def change_parent(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    """Move a child within its tree or to another, or make it a root."""
    yield _put_below(client, LEAF, chance.choice([MIDDLE, ROOT, OTHER_ROOT, None])).status


def move_tree(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    """Move a provider with its descendants."""
    yield _put_below(client, MIDDLE, OTHER_ROOT).status
    yield _put_below(client, MIDDLE, ROOT).status


def come_and_go(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    """Create a provider below another one, write its inventory and delete it."""
    uuid = numbered("b", number)
    parent = chance.choice([MIDDLE, LEAF, ROOT])
    body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": parent}
    path = f"/resource_providers/{uuid}"
    yield client.post("/resource_providers", body).status
    yield client.put(f"{path}/inventories", stock(0, **CLASSES)).status
    yield client.put(f"{path}/traits", _traits(1, TRAITS)).status
    yield client.delete(path).status


def change_inventories(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    path = f"/resource_providers/{chance.choice([ROOT, MIDDLE, LEAF])}/inventories"
    generation = client.get(path).body["resource_provider_generation"]
    yield client.put(path, stock(generation, **CLASSES)).status


def change_traits(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    path = f"/resource_providers/{chance.choice([ROOT, MIDDLE, LEAF])}/traits"
    generation = client.get(path).body["resource_provider_generation"]
    yield client.put(path, _traits(generation, chance.sample(TRAITS, 2))).status


def change_aggregates(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    path = f"/resource_providers/{chance.choice([ROOT, MIDDLE, LEAF])}/aggregates"
    generation = client.get(path).body["resource_provider_generation"]
    wanted = [*chance.sample(AGGREGATES, 2), numbered("e", 1000 + number)]
    body = {"aggregates": wanted, "resource_provider_generation": generation}
    yield client.put(path, body).status


def reshape(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    """Move inventories of a parent and its child, and write a new consumer, in one reshape."""
    stocks = {}
    for uuid in (LEAF, MIDDLE):
        now = client.get(f"/resource_providers/{uuid}/inventories").body
        stocks[uuid] = stock(now["resource_provider_generation"], **CLASSES)
    wanted = {ROOT: {"VCPU": 1}, LEAF: {"CUSTOM_THING": 1}}
    allocations = {numbered("a", number): held(None, wanted)}
    yield client.post("/reshaper", {"inventories": stocks, "allocations": allocations}).status


def write_tree(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    """Write the whole tree in one request, with a new child in use; then remove the child."""
    fresh, consumer, name = numbered("b", number), numbered("a", number), f"CUSTOM_N{number % 7}"
    places = {LEAF: chance.choice([MIDDLE, ROOT]), MIDDLE: ROOT}
    providers: dict[str, dict] = {
        uuid: {
            "generation": client.get(f"/resource_providers/{uuid}").body["generation"],
            "name": chance.choice([uuid, f"{uuid} {number}"]),
            "parent_provider_uuid": parent,
            "traits": chance.sample(TRAITS, 2),
        }
        for uuid, parent in places.items()
    }
    providers[fresh] = {
        "generation": None,
        "name": fresh,
        "parent_provider_uuid": ROOT,
        "inventories": {name: {"total": 2}, "CUSTOM_THING": {"total": 2}},
        "traits": [name],
        "aggregates": chance.sample(AGGREGATES, 2),
    }
    holding = held(None, {ROOT: {"VCPU": 1}, fresh: {"CUSTOM_THING": 1}})
    body = {"providers": providers, "allocations": {consumer: holding}, "create_names": True}
    path = f"/berth/v1/provider_trees/{ROOT}"
    written = client.put(path, body)
    yield written.status
    if written.status == 200:
        released = {consumer: held(1, {})}
        yield client.put(path, {"remove": {fresh: 1}, "allocations": released}).status


def name_things(client: Client, chance: random.Random, number: int) -> Iterator[int]:
    """Create and delete classes and traits."""
    for kind in ("resource_classes", "traits"):
        path = f"/{kind}/CUSTOM_N{number % 7}"
        yield client.put(path).status
        yield client.delete(path).status


CLAIMS: tuple[Step, ...] = (claim, claim_together, find_and_claim)
TREES: tuple[Step, ...] = (
    keep_parent,
    rename,
    change_parent,
    move_tree,
    come_and_go,
    write_tree,
)
REST: tuple[Step, ...] = (
    change_inventories,
    change_traits,
    change_aggregates,
    reshape,
    name_things,
)
#: statuses that concurrent writers may get
FINE = {200, 201, 204, 404, 409}


def write(client: Client, step: Step, times: int, first: int) -> dict[int, int]:
    """Repeat an operation, with numbers from `first` on; return how often each status came."""
    chance = random.Random(first)
    found: dict[int, int] = {}
    for number in itertools.islice(itertools.count(first), times):
        for status in step(client, chance, number):
            found[status] = found.get(status, 0) + 1
    return found


_DEADLOCKS = {
    "postgresql": "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()",
    "mysql": "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
    "WHERE VARIABLE_NAME = 'INNODB_DEADLOCKS'",
}


def deadlocks(url: str) -> int:
    """Return the database's count of deadlocks; PostgreSQL updates it when connections end."""
    return int(ask(url, _DEADLOCKS[kind_of(url)])[0][0])


def _hold(client: Client, consumer: str, wanted: dict) -> int:
    return client.put(f"/allocations/{consumer}", held(None, wanted)).status


def held(generation: int | None, wanted: dict) -> dict:
    """Return the body for a consumer's allocations, in the newest form."""
    return {
        "allocations": {uuid: {"resources": given} for uuid, given in wanted.items()},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }


def _traits(generation: int, names: Iterable[str]) -> dict:
    return {"traits": list(names), "resource_provider_generation": generation}


def _put_below(client: Client, uuid: str, parent: str | None) -> Answer:
    body = {"name": uuid, "parent_provider_uuid": parent}
    return client.put(f"/resource_providers/{uuid}", body)


def _well(answer: Answer) -> None:
    assert answer.status in (200, 201, 204), answer
