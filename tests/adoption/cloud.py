"""Build a cloud with all kinds of data over HTTP, and list all GET requests about it."""

import itertools
from collections.abc import Iterator
from urllib.parse import quote

from tests.adoption.programs import Service
from tests.functional.placement.small_cloud import holding, numbered
from tests.reference.script import Request

HOSTS = [numbered("a", number) for number in range(1, 4)]
NUMA = {host: [numbered("a", 10 * n), numbered("a", 10 * n + 1)] for n, host in enumerate(HOSTS, 1)}
GPU, STORAGE, RENAMED, GONE = (numbered("a", number) for number in (100, 101, 102, 103))
AGGREGATES = [numbered("b", number) for number in (1, 2)]
CONSUMERS = [numbered("c", number) for number in range(1, 12)]
PROJECTS = ("p1", "p2", "00000000-0000-0000-0000-000000000000")
#: versions between which the form of responses changes, and the newest
VERSIONS = ("1.0", "1.12", "1.28", "1.39")
SEARCHES = (
    "resources=VCPU:1",
    "resources=VCPU:2,MEMORY_MB:512,DISK_GB:10",
    "resources=VCPU:2,DISK_GB:10&group_policy=none",
    "resources=CUSTOM_GOLD:1",
    "resources=VGPU:1&required=CUSTOM_FAST",
    "resources=VCPU:1&required=!CUSTOM_FAST",
    f"resources=VCPU:1&member_of={AGGREGATES[0]}",
    f"resources=VCPU:1&in_tree={HOSTS[0]}",
    "resources1=VCPU:2&resources2=VGPU:1&group_policy=isolate",
    "resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate&same_subtree=1,2",
    "resources=DISK_GB:5&resources_N=VCPU:1,MEMORY_MB:256&root_required=HW_CPU_X86_AVX2",
    "resources=VCPU:10000",
)
FILTERS = (
    "name=renamed",
    f"uuid={HOSTS[1]}",
    f"in_tree={NUMA[HOSTS[0]][1]}",
    f"member_of={AGGREGATES[0]}",
    f"member_of=!in:{AGGREGATES[1]}",
    "required=CUSTOM_FAST",
    "required=in:CUSTOM_FAST,HW_CPU_X86_AVX2",
    "resources=VCPU:30",
    "resources=DISK_GB:10",
)


def build(service: Service) -> None:
    """Build the cloud: three NUMA hosts, shared storage, a renamed and a deleted provider."""
    _names(service)
    for number, host in enumerate(HOSTS, 1):
        _provider(service, host, f"host-{number}", None, {"DISK_GB": {"total": 100 * number}})
        for node, uuid in enumerate(NUMA[host]):
            stock = {
                "VCPU": {"total": 16, "allocation_ratio": 2.5, "reserved": 1},
                "MEMORY_MB": {"total": 4096, "step_size": 256, "min_unit": 256},
            }
            _provider(service, uuid, f"numa-{number}-{node}", host, stock)
    stock = {"VGPU": {"total": 4}, "CUSTOM_GOLD": {"total": 7, "max_unit": 3}}
    _provider(service, GPU, "gpu", NUMA[HOSTS[0]][0], stock)
    _provider(service, STORAGE, "storage", None, {"DISK_GB": {"total": 5000}})
    _provider(service, RENAMED, "before", None, {})
    _provider(service, GONE, "gone", None, {"VCPU": {"total": 1}})
    service.do("DELETE", f"/resource_providers/{GONE}")
    body = {"name": "renamed", "parent_provider_uuid": HOSTS[2]}
    service.do("PUT", f"/resource_providers/{RENAMED}", body)
    set_traits(service, GPU, "CUSTOM_FAST", "HW_GPU_API_VULKAN")
    set_traits(service, HOSTS[0], "HW_CPU_X86_AVX2")
    set_traits(service, STORAGE, "MISC_SHARES_VIA_AGGREGATE")
    for uuid, aggregates in ((HOSTS[1], AGGREGATES), (STORAGE, AGGREGATES[:1])):
        body = {"aggregates": aggregates, "resource_provider_generation": generation(service, uuid)}
        service.do("PUT", f"/resource_providers/{uuid}/aggregates", body)
    _allocations(service)
    reshape(service, HOSTS[2], NUMA[HOSTS[2]][0])


def _names(service: Service) -> None:
    for name in ("CUSTOM_OLD", "CUSTOM_GOLD", "CUSTOM_LAST"):
        service.do("PUT", f"/resource_classes/{name}")
    for name in ("CUSTOM_OLD", "CUSTOM_FAST"):
        service.do("PUT", f"/traits/{name}")
    service.do("DELETE", "/resource_classes/CUSTOM_OLD")
    service.do("DELETE", "/traits/CUSTOM_OLD")


def _provider(service: Service, uuid: str, name: str, parent: str | None, stock: dict) -> None:
    body = {"uuid": uuid, "name": name} | ({"parent_provider_uuid": parent} if parent else {})
    service.do("POST", "/resource_providers", body)
    if stock:
        set_stock(service, uuid, stock)


def _allocations(service: Service) -> None:
    """Write allocations in the forms of old and new microversions."""
    numa, other = NUMA[HOSTS[0]]
    listed = {"resource_provider": {"uuid": numa}, "resources": {"VCPU": 1, "MEMORY_MB": 512}}
    body: dict = {"allocations": [listed]}
    service.do("PUT", f"/allocations/{CONSUMERS[0]}", body, "1.0")
    body |= {"project_id": "p1", "user_id": "u1"}
    service.do("PUT", f"/allocations/{CONSUMERS[1]}", body, "1.8")
    body["allocations"] = {other: {"resources": {"VCPU": 2}}}
    service.do("PUT", f"/allocations/{CONSUMERS[2]}", body, "1.12")
    body |= {"consumer_generation": None}
    service.do("PUT", f"/allocations/{CONSUMERS[3]}", body, "1.28")
    wide = {other: {"VCPU": 3, "MEMORY_MB": 256}, GPU: {"VGPU": 1}, STORAGE: {"DISK_GB": 20}}
    for consumer, project, kind in zip(
        CONSUMERS[4:7], ("p1", "p2", "p2"), ("INSTANCE", "MIGRATION", "INSTANCE"), strict=True
    ):
        wanted = holding(wide, project=project, user=f"of {project}", kind=kind)
        service.do("PUT", f"/allocations/{consumer}", wanted)
    # as nova confirms a migration
    moved = {
        CONSUMERS[5]: holding({}, 1, project="p2", user="of p2", kind="MIGRATION"),
        CONSUMERS[7]: holding({HOSTS[0]: {"DISK_GB": 5}}, project="p2", user="of p2"),
    }
    service.do("POST", "/allocations", moved)
    service.do("DELETE", f"/allocations/{CONSUMERS[6]}")
    service.do("PUT", f"/allocations/{CONSUMERS[8]}", holding({HOSTS[2]: {"DISK_GB": 9}}))


def generation(service: Service, uuid: str) -> int:
    """Return a provider's generation."""
    return service.get(f"/resource_providers/{uuid}")["generation"]


def set_stock(service: Service, uuid: str, stock: dict) -> None:
    """Replace a provider's inventories."""
    body = {"inventories": stock, "resource_provider_generation": generation(service, uuid)}
    service.do("PUT", f"/resource_providers/{uuid}/inventories", body)


def set_traits(service: Service, uuid: str, *names: str) -> None:
    """Replace a provider's traits."""
    body = {"traits": names, "resource_provider_generation": generation(service, uuid)}
    service.do("PUT", f"/resource_providers/{uuid}/traits", body)


def reshape(service: Service, source: str, target: str) -> None:
    """Move a provider's inventories, with their allocations, to another provider."""
    inventories = {}
    for uuid in (source, target):
        inventories[uuid] = service.get(f"/resource_providers/{uuid}/inventories")
    moving = inventories[source]["inventories"]
    inventories[target]["inventories"] |= moving
    inventories[source]["inventories"] = {}
    held = {}
    for consumer in service.get(f"/resource_providers/{source}/allocations")["allocations"]:
        held[consumer] = service.get(f"/allocations/{consumer}")
        places = held[consumer]["allocations"]
        places[target] = {"resources": places.pop(source)["resources"]}
    service.do("POST", "/reshaper", {"inventories": inventories, "allocations": held})


def live_on(service: Service) -> None:
    """Make changes of every kind; each of the two services can do this once, in turn."""
    mark = service.name
    trait, kind = f"CUSTOM_T_{mark.upper()}", f"CUSTOM_C_{mark.upper()}"
    service.do("PUT", f"/traits/{trait}")
    service.do("PUT", f"/resource_classes/{kind}")
    made = service.do("POST", "/resource_providers", {"name": f"made by {mark}"})
    uuid = made.headers["location"].rpartition("/")[2]
    set_stock(service, uuid, {kind: {"total": 3}, "VCPU": {"total": 8}})
    set_traits(service, uuid, trait, "HW_CPU_X86_AVX2")
    body = {"aggregates": AGGREGATES, "resource_provider_generation": generation(service, uuid)}
    service.do("PUT", f"/resource_providers/{uuid}/aggregates", body)
    body = {"name": f"made by {mark}", "parent_provider_uuid": HOSTS[0]}
    service.do("PUT", f"/resource_providers/{uuid}", body)
    consumer = CONSUMERS[9 if mark == "ours" else 10]
    wanted = holding({uuid: {kind: 2, "VCPU": 1}}, kind=f"OF_{mark.upper()}")
    service.do("PUT", f"/allocations/{consumer}", wanted)
    held = service.get(f"/allocations/{CONSUMERS[4]}")
    held["allocations"] = {GPU: {"resources": {"VGPU": 2 if mark == "ours" else 3}}}
    service.do("PUT", f"/allocations/{CONSUMERS[4]}", held)
    there, back = HOSTS[2], NUMA[HOSTS[2]][0]
    if "DISK_GB" in service.get(f"/resource_providers/{back}/inventories")["inventories"]:
        there, back = back, there
    _move_disk(service, there, back)
    doomed = service.do("POST", "/resource_providers", {"name": f"doomed by {mark}"})
    service.do("DELETE", doomed.headers["location"].replace("http://placement.test", ""))


def _move_disk(service: Service, source: str, target: str) -> None:
    kept = service.get(f"/resource_providers/{source}/inventories")["inventories"]
    kept.pop("DISK_GB")
    if kept:
        # move only the disk; the NUMA node keeps its own inventories
        _move_one(service, source, target, kept)
    else:
        reshape(service, source, target)


def _move_one(service: Service, source: str, target: str, kept: dict) -> None:
    before = {
        uuid: service.get(f"/resource_providers/{uuid}/inventories") for uuid in (source, target)
    }
    before[target]["inventories"]["DISK_GB"] = before[source]["inventories"]["DISK_GB"]
    before[source]["inventories"] = kept
    held = service.get(f"/allocations/{CONSUMERS[8]}")
    held["allocations"] = {target: {"resources": {"DISK_GB": 9}}}
    body = {"inventories": before, "allocations": {CONSUMERS[8]: held}}
    service.do("POST", "/reshaper", body)


def questions(service: Service) -> Iterator[Request]:
    """Yield every GET request about every object that the service has."""
    yield Request("GET", "/")
    for version in VERSIONS:
        for path in ("/resource_providers", *map("/resource_providers?{}".format, FILTERS)):
            yield Request("GET", path, version=version)
        for provider in service.get("/resource_providers")["resource_providers"]:
            path = f"/resource_providers/{provider['uuid']}"
            for part in ("", *_PARTS) if version in ("1.0", "1.39") else ():
                yield Request("GET", path + part, version=version)
        for path in ("/resource_classes", "/traits", "/traits?name=startswith:CUSTOM_"):
            yield Request("GET", path, version=version)
        for consumer in CONSUMERS:
            yield Request("GET", f"/allocations/{consumer}", version=version)
        for project, more in itertools.product(PROJECTS, ("", "&user_id=u1", "&consumer_type=all")):
            yield Request("GET", f"/usages?project_id={project}{more}", version=version)
        for search in SEARCHES:
            yield Request("GET", f"/allocation_candidates?{search}", version=version)
    for name in service.get("/resource_classes")["resource_classes"]:
        yield Request("GET", f"/resource_classes/{name['name']}", version="1.39")
    for name in service.get("/traits?name=startswith:CUSTOM_")["traits"]:
        yield Request("GET", f"/traits/{quote(name)}", version="1.39")


_PARTS = (
    *("/inventories", "/inventories/VCPU", "/usages", "/aggregates", "/traits", "/allocations"),
)
