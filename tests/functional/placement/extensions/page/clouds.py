"""Clouds to look at: a few lifelike hosts through the API."""

import uuid
from typing import Any

#: what stands first in uuids, by what they name
HOST, NUMA, GPU, POOL, AGGREGATE, SERVER = "abcdef"
SHARES = "MISC_SHARES_VIA_AGGREGATE"
PROJECTS = ("payments", "research", "web")


def numbered(kind: str, number: int) -> str:
    """Return a uuid that says what it is of."""
    return str(uuid.UUID(f"{kind * 8}-0000-4000-8000-{number:012x}"))


def stock(total: int, **more: Any) -> dict[str, Any]:
    """Return an inventory."""
    return {"total": total, **more}


def host(number: int, name: str | None = None) -> dict[str, Any]:
    """Return the body that makes a host with two NUMA nodes, the first one with GPUs."""
    root = numbered(HOST, number)
    name = name or f"compute{number}"
    providers = {
        root: {
            "name": name,
            "parent_provider_uuid": None,
            "generation": None,
            "inventories": {"DISK_GB": stock(1800, reserved=100)},
            "traits": ["HW_CPU_X86_AVX2", "HW_CPU_X86_VMX", "COMPUTE_NODE", "CUSTOM_RACK_7"],
            "aggregates": [numbered(AGGREGATE, number % 2 + 1)],
        }
    }
    for node in (0, 1):
        uuid_of_node = numbered(NUMA, 2 * number + node)
        providers[uuid_of_node] = {
            "name": f"{name}_numa{node}",
            "parent_provider_uuid": root,
            "generation": None,
            "inventories": {
                "VCPU": stock(24, reserved=2, allocation_ratio=4.0),
                "MEMORY_MB": stock(131072, reserved=4096, step_size=2),
            },
            "traits": ["HW_NUMA_ROOT"],
        }
    for device in (0, 1):
        providers[numbered(GPU, 2 * number + device)] = {
            "name": f"{name}_pci_0000_8{device}_00_0",
            "parent_provider_uuid": numbered(NUMA, 2 * number),
            "generation": None,
            "inventories": {"VGPU": stock(4)},
            "traits": ["CUSTOM_NVIDIA_A40"],
        }
    return {"providers": providers, "remove": {}, "allocations": {}, "create_names": True}


def pool() -> dict[str, Any]:
    """Return the body that makes storage which the hosts of the first aggregate share."""
    provider = {
        "name": "nfs-pool",
        "parent_provider_uuid": None,
        "generation": None,
        "inventories": {"DISK_GB": stock(40000, reserved=1000)},
        "traits": [SHARES],
        "aggregates": [numbered(AGGREGATE, 1)],
    }
    return {
        "providers": {numbered(POOL, 1): provider},
        "remove": {},
        "allocations": {},
        "create_names": True,
    }


def held(allocations: dict[str, dict[str, int]], project: str = "web") -> dict[str, Any]:
    """Return the body with which a server claims."""
    return {
        "allocations": {provider: {"resources": some} for provider, some in allocations.items()},
        "project_id": project,
        "user_id": "someone",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }


def fill(api: Any, hosts: int = 3) -> None:
    """Make hosts, the pool and servers.

    `api` has `put(path, body)`, which raises if it is refused.
    """
    api.put(f"/berth/v1/provider_trees/{numbered(POOL, 1)}", pool())
    server = 0
    for number in range(1, hosts + 1):
        api.put(f"/berth/v1/provider_trees/{numbered(HOST, number)}", host(number))
        for which in range(4 * number):
            server += 1
            node = numbered(NUMA, 2 * number + which % 2)
            wanted = {
                node: {"VCPU": 2 + 2 * (which % 4), "MEMORY_MB": 4096 * (1 + which % 3)},
                numbered(HOST, number): {"DISK_GB": 40 * (1 + which % 2)},
            }
            if which % 4 == 0:
                wanted[numbered(GPU, 2 * number)] = {"VGPU": 1}
            body = held(wanted, PROJECTS[server % 3])
            api.put(f"/allocations/{numbered(SERVER, server)}", body)
