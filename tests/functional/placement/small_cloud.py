"""A small cloud for tests, and bodies of requests about it."""

ROOT = "a0000000-0000-4000-8000-000000000001"
CHILD = "a0000000-0000-4000-8000-000000000002"
EMPTY = "a0000000-0000-4000-8000-000000000003"
UNKNOWN = "a0000000-0000-4000-8000-0000000000ff"
HOLDER = "c0000000-0000-4000-8000-000000000001"
OTHER_HOLDER = "c0000000-0000-4000-8000-000000000002"
NEW = "c0000000-0000-4000-8000-0000000000ff"


def numbered(letter, number):
    """Return a uuid for the number-th object of a kind."""
    return f"{letter}0000000-0000-4000-8000-{number:012d}"


def holding(allocations, generation=None, project="p", user="u", kind="INSTANCE"):
    """Return the body for a consumer; `allocations` is `{provider: {class: amount}}`."""
    return {
        "allocations": {uuid: {"resources": given} for uuid, given in allocations.items()},
        "project_id": project,
        "user_id": user,
        "consumer_generation": generation,
        "consumer_type": kind,
    }


def stock(generation, **totals):
    """Return the body for a provider's inventories, given as `class=total`."""
    return {
        "resource_provider_generation": generation,
        "inventories": {name: {"total": total} for name, total in totals.items()},
    }


def fill(service):
    """Create the cloud.

    ROOT (generation 5) has VCPU 8, DISK_GB 100 and CUSTOM_A 4, the trait CUSTOM_T and an aggregate;
    its CHILD (generation 2) has VGPU 2; EMPTY (generation 0) has nothing. HOLDER has allocations of
    4 VCPU and 10 DISK_GB from ROOT, OTHER_HOLDER of 1 VGPU from CHILD, both at generation 1.
    """
    expect(service.post("/resource_providers", {"name": "root", "uuid": ROOT}), 200)
    child = {"name": "child", "uuid": CHILD, "parent_provider_uuid": ROOT}
    expect(service.post("/resource_providers", child), 200)
    expect(service.post("/resource_providers", {"name": "empty", "uuid": EMPTY}), 200)
    expect(service.put("/resource_classes/CUSTOM_A"), 201)
    expect(service.put("/resource_classes/CUSTOM_UNUSED"), 201)
    expect(service.put("/traits/CUSTOM_T"), 201)
    path = f"/resource_providers/{ROOT}"
    expect(service.put(f"{path}/inventories", stock(0, VCPU=8, DISK_GB=100, CUSTOM_A=4)), 200)
    traits = {"traits": ["CUSTOM_T"], "resource_provider_generation": 1}
    expect(service.put(f"{path}/traits", traits), 200)
    aggregates = {"aggregates": [numbered("b", 1)], "resource_provider_generation": 2}
    expect(service.put(f"{path}/aggregates", aggregates), 200)
    expect(service.put(f"/resource_providers/{CHILD}/inventories", stock(0, VGPU=2)), 200)
    wanted = holding({ROOT: {"VCPU": 2, "DISK_GB": 10}})
    expect(service.put(f"/allocations/{HOLDER}", wanted), 204)
    expect(service.put(f"/allocations/{OTHER_HOLDER}", holding({CHILD: {"VGPU": 1}})), 204)
    wanted = holding({ROOT: {"VCPU": 4, "DISK_GB": 10}}, generation=1)
    expect(service.put(f"/allocations/{HOLDER}", wanted), 204)


def expect(response, status):
    """Return the response if it has the status; fail otherwise."""
    assert response.status_code == status, response.text
    return response
