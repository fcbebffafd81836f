"""Every kind of write, by what it does to a cloud of one host."""

import uuid

from tests.functional.placement.candidates.snapshot.comparing import HOST


def put(service, path, body, version="1.39"):
    service.write("PUT", path, body, version)


def inventories(service, cloud, name, stocks):
    path = f"/resource_providers/{cloud.uuids[name]}"
    generation = service.write("GET", path)["generation"]
    body = {"inventories": stocks, "resource_provider_generation": generation}
    put(service, f"{path}/inventories", body)


def traits_of(service, cloud, name, traits):
    path = f"/resource_providers/{cloud.uuids[name]}"
    generation = service.write("GET", path)["generation"]
    put(service, f"{path}/traits", {"traits": traits, "resource_provider_generation": generation})


def claim(service, cloud, consumer, amounts, generation=None):
    body = {
        "allocations": {cloud.uuids["host"]: {"resources": amounts}} if amounts else {},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }
    put(service, f"/allocations/{consumer}", body)


def reshape(service, cloud):
    cloud.build([{"name": "child", "parent": "host"}])
    claim(service, cloud, (consumer := str(uuid.uuid4())), {"VCPU": 2})
    host, child = cloud.uuids["host"], cloud.uuids["child"]
    generation = service.write("GET", f"/resource_providers/{host}")["generation"]
    body = {
        "inventories": {
            host: {
                "inventories": {"MEMORY_MB": {"total": 64}},
                "resource_provider_generation": generation,
            },
            child: {"inventories": {"VCPU": {"total": 8}}, "resource_provider_generation": 0},
        },
        "allocations": {
            consumer: {
                "allocations": {child: {"resources": {"VCPU": 2}}},
                "project_id": "p",
                "user_id": "u",
                "consumer_generation": 1,
                "consumer_type": "INSTANCE",
            }
        },
    }
    service.write("POST", "/reshaper", body)


def reparent(service, cloud):
    cloud.build([{"name": "a"}, {"name": "b", "parent": "a"}, {"name": "c", "parent": "b"}])
    body = {"name": "b", "parent_provider_uuid": cloud.uuids["host"]}
    put(service, f"/resource_providers/{cloud.uuids['b']}", body)


def become_a_root(service, cloud):
    cloud.build([{"name": "a", "parent": "host"}, {"name": "b", "parent": "a"}])
    body = {"name": "a", "parent_provider_uuid": None}
    put(service, f"/resource_providers/{cloud.uuids['a']}", body)


def delete_and_make_again(service, cloud):
    cloud.build([{**HOST, "name": "gone"}])
    key = cloud.uuids["gone"]
    service.write("DELETE", f"/resource_providers/{key}")
    service.write("POST", "/resource_providers", {"name": "other", "uuid": key})


def rename_a_class(service, cloud):
    service.write("POST", "/resource_classes", {"name": "CUSTOM_OLD"})
    inventories(service, cloud, "host", {"CUSTOM_OLD": {"total": 3}})
    put(service, "/resource_classes/CUSTOM_OLD", {"name": "CUSTOM_NEW"}, "1.6")


def replace_aggregates_of_old_versions(service, cloud):
    key, label = cloud.uuids["host"], str(uuid.uuid4())
    put(service, f"/resource_providers/{key}/aggregates", [label], "1.18")


def claim_more_and_less(service, cloud):
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    claim(service, cloud, first, {"VCPU": 2, "MEMORY_MB": 5})
    claim(service, cloud, second, {"VCPU": 1})
    claim(service, cloud, first, {"VCPU": 4}, 1)
    service.write("DELETE", f"/allocations/{second}")


def usage_without_inventory(service, cloud):
    """Reshape so that the usage exceeds the inventory; a class in use must keep an inventory."""
    claim(service, cloud, str(uuid.uuid4()), {"VCPU": 4})
    inventories(service, cloud, "host", {"VCPU": {"total": 2, "allocation_ratio": 0.5}})


def add_and_remove_inventory(service, cloud):
    key = cloud.uuids["host"]
    inventories(service, cloud, "host", {"DISK_GB": {"total": 5, "step_size": 2}})
    body = {"resource_class": "VGPU", "total": 3}
    service.write("POST", f"/resource_providers/{key}/inventories", body)
    service.write("DELETE", f"/resource_providers/{key}/inventories/DISK_GB")


def remove_everything(service, cloud):
    key = cloud.uuids["host"]
    traits_of(service, cloud, "host", ["HW_CPU_X86_AVX2"])
    service.write("DELETE", f"/resource_providers/{key}/traits")
    service.write("DELETE", f"/resource_providers/{key}/inventories")


def new_names(service, cloud):
    service.write("PUT", "/traits/CUSTOM_FRESH")
    service.write("PUT", "/resource_classes/CUSTOM_FRESH_CLASS")
    service.write("PUT", "/traits/CUSTOM_SHORT_LIVED")
    service.write("DELETE", "/traits/CUSTOM_SHORT_LIVED")
    service.write("PUT", "/resource_classes/CUSTOM_SHORT_LIVED")
    service.write("DELETE", "/resource_classes/CUSTOM_SHORT_LIVED")


#: every kind of write
WRITES = [
    reshape,
    reparent,
    become_a_root,
    delete_and_make_again,
    rename_a_class,
    replace_aggregates_of_old_versions,
    claim_more_and_less,
    usage_without_inventory,
    add_and_remove_inventory,
    remove_everything,
    new_names,
]
