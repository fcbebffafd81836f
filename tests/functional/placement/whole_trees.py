"""Random clouds of nested providers, and what single requests say of them."""

import json
import random
import uuid

ALL = "inventories,traits,aggregates,usages,allocations,consumers"
PATH = "/berth/v1/provider_trees"
NDJSON = "application/x-ndjson"
CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_GOLD")
TRAITS = ("HW_CPU_X86_AVX2", "COMPUTE_NODE", "CUSTOM_T1", "CUSTOM_T2")
#: names that are odd for JSON, for SQL, for HTML, and for those who read them
NAMES = (
    'a "quoted" one',
    "back\\slash",
    "'; DROP TABLE resource_providers; --",
    "<script>alert(1)</script>",
    "%s {0} $1 :uuid",
    "line\nbreak\ttab \x01",
    "zwölf große Rösser \N{GRINNING FACE}",
    "\N{RIGHT-TO-LEFT OVERRIDE}desrever",
    "n" * 200,
)


def fill(service, seed, providers=14, consumers=12):
    """Make a random cloud by requests: trees, some of them moved, and consumers of several trees.

    Returns the uuids of providers and of consumers.
    """
    chance = random.Random(seed)
    for name in ("CUSTOM_T1", "CUSTOM_T2"):
        service.request("PUT", f"/traits/{name}")
    service.request("PUT", "/resource_classes/CUSTOM_GOLD")
    made = [_uuid(chance) for _ in range(providers)]
    for number, one in enumerate(made):
        parent = chance.choice([None, *made[:number]]) if number else None
        odd = NAMES[number] if number < len(NAMES) else f"host-{number}"
        # MariaDB's tables of three bytes a character can't store the odd one out
        body = {"uuid": one, "name": f"{odd[:160]} {seed}", "parent_provider_uuid": parent}
        service.write("POST", "/resource_providers", body)
    for one in chance.sample(made, providers // 3):
        name = service.get(f"/resource_providers/{one}").json["name"]
        move = {"name": name, "parent_provider_uuid": chance.choice([None, *made])}
        # some would be circles
        service.put(f"/resource_providers/{one}", move)
    groups = [_uuid(chance) for _ in range(3)]
    stocked = [one for one in made if _equip(service, chance, one, groups)]
    held = [_uuid(chance) for _ in range(consumers)]
    for one in held:
        _claim(service, chance, one, stocked)
    return made, held


def _uuid(chance):
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def _equip(service, chance, one, groups):
    """Give a provider inventories, traits and aggregates; return whether it has inventories."""
    path = f"/resource_providers/{one}"
    stock = {
        name: {
            "total": chance.randrange(500, 1000),
            "reserved": chance.randrange(5),
            "allocation_ratio": chance.choice([1.0, 1.5, 16.0, 1.1]),
        }
        for name in chance.sample(CLASSES, chance.randrange(len(CLASSES) + 1))
    }
    body = {"resource_provider_generation": 0, "inventories": stock}
    generation = service.write("PUT", f"{path}/inventories", body)["resource_provider_generation"]
    body = {
        "resource_provider_generation": generation,
        "traits": chance.sample(TRAITS, chance.randrange(4)),
    }
    generation = service.write("PUT", f"{path}/traits", body)["resource_provider_generation"]
    body = {
        "resource_provider_generation": generation,
        "aggregates": chance.sample(groups, chance.randrange(3)),
    }
    service.write("PUT", f"{path}/aggregates", body)
    return bool(stock)


def _claim(service, chance, consumer, providers):
    chosen = {}
    for one in chance.sample(providers, min(len(providers), chance.randrange(1, 4))):
        names = list(service.get(f"/resource_providers/{one}/inventories").json["inventories"])
        amounts = {name: chance.randrange(1, 5) for name in names[: chance.randrange(1, 3)]}
        chosen[one] = {"resources": amounts}
    body = {
        "allocations": chosen,
        "project_id": f"project-{chance.randrange(3)}",
        "user_id": f"user-{chance.randrange(3)}",
        "consumer_generation": None,
        "consumer_type": chance.choice(["INSTANCE", "MIGRATION"]),
    }
    service.write("PUT", f"/allocations/{consumer}", body)


def by_single_requests(service, uuid):
    """Return a provider as single requests show it, in the form of `providers` in a tree."""
    path = f"/resource_providers/{uuid}"
    shown = service.get(path).json
    del shown["links"]
    for field in ("inventories", "traits", "aggregates", "usages", "allocations"):
        shown[field] = service.get(f"{path}/{field}").json[field]
    return shown


def lines(response):
    """Return the trees, the consumers and the end of a response in lines."""
    values = [json.loads(line) for line in response.get_data().splitlines()]
    *parts, end = values
    trees = [part for part in parts if "root" in part]
    consumers = {}
    for part in parts[len(trees) :]:
        assert not part["consumers"].keys() & consumers.keys()
        consumers |= part["consumers"]
    return trees, consumers, end


def providers(trees):
    """Return all providers of some trees by uuid."""
    return {one["uuid"]: one for tree in trees for one in tree["providers"]}
