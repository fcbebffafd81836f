"""One request to each operation, in an order in which they succeed, and what was answered.

The description of the API shows these as examples. This module writes them anew::

    python -m tests.functional.placement.extensions.openapi.scenario
"""

import json
import tempfile
from pathlib import Path

from placement.app import metrics_layout
from placement.extensions.monitoring.counting import Counting
from placement.extensions.openapi import examples
from placement.metrics.slots import Slots
from tests.functional.placement.service import Service

HOST = "9b5ca6f7-5c5f-4a3b-8f0e-0d4f7c1f8a11"
CARD = "4c1f0a52-6a0a-4e6b-9a8e-2a57f2b4e6d2"
SPARE = "c3b4f0de-8f0b-4d6c-b1a5-7f2f0c9d3e44"
AGGREGATE = "e1a0a5f2-2b7a-4c53-9d6a-51d5f3c8b733"
FIRST = "7d0f5c1e-3a4b-4f6d-8e9a-0b1c2d3e4f50"
SECOND = "1f2e3d4c-5b6a-4978-8695-a4b3c2d1e0f9"
THIRD = "a5b4c3d2-e1f0-4a9b-8c7d-6e5f4a3b2c1d"
PROJECT, USER = "a7b1c2d3e4f54a6b8c9d0e1f2a3b4c5d", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
OWNER = {"project_id": PROJECT, "user_id": USER, "consumer_type": "INSTANCE"}
#: what stands in place of what differs at each run
SETTLED = {"position": "AAAAAAAAAAE", "first_seen": "2026-06-01T12:00:00Z"}
TREE = f"/resource_providers/{HOST}"
VCPUS = {"total": 16, "reserved": 1, "allocation_ratio": 4.0, "max_unit": 16}
MEMORY = {"total": 65536, "reserved": 512, "allocation_ratio": 1.0, "max_unit": 65536}


def on(provider, resources, generation=None):
    """Return the body of a consumer that holds the resources of one provider."""
    body = {"allocations": {provider: {"resources": resources}}, "consumer_generation": generation}
    return body | OWNER


#: (path as in the document, values of its places, method, query, body); {g} is HOST's generation
STEPS = [
    ("/", {}, "GET", "", None),
    ("/resource_providers", {}, "POST", "", {"name": "host1", "uuid": HOST}),
    ("/berth/v1/suspects", {}, "GET", "kind=empty_root&limit=10", None),
    ("/berth/v1/empty_searches", {}, "GET", "", None),
    ("/berth/v1/names", {}, "GET", "", None),
    (
        "/resource_providers/{uuid}/inventories",
        {"uuid": HOST},
        "PUT",
        "",
        {
            "resource_provider_generation": 0,
            "inventories": {"VCPU": VCPUS, "MEMORY_MB": MEMORY},
        },
    ),
    (
        "/resource_providers/{uuid}/inventories",
        {"uuid": HOST},
        "POST",
        "",
        {
            "resource_class": "DISK_GB",
            "total": 500,
        },
    ),
    (
        "/resource_providers/{uuid}/inventories/{resource_class}",
        {"uuid": HOST, "resource_class": "DISK_GB"},
        "PUT",
        "",
        {"resource_provider_generation": 2, "total": 480, "reserved": 20},
    ),
    (
        "/resource_providers/{uuid}/inventories/{resource_class}",
        {"uuid": HOST, "resource_class": "DISK_GB"},
        "GET",
        "",
        None,
    ),
    ("/resource_providers/{uuid}/inventories", {"uuid": HOST}, "GET", "", None),
    ("/resource_classes", {}, "POST", "", {"name": "CUSTOM_FPGA"}),
    ("/resource_classes/{name}", {"name": "CUSTOM_NPU"}, "PUT", "", None),
    ("/resource_classes/{name}", {"name": "CUSTOM_FPGA"}, "GET", "", None),
    ("/resource_classes", {}, "GET", "", None),
    ("/traits/{name}", {"name": "CUSTOM_GOLD"}, "PUT", "", None),
    ("/traits/{name}", {"name": "CUSTOM_GOLD"}, "GET", "", None),
    ("/traits", {}, "GET", "name=startswith:CUSTOM_", None),
    (
        "/resource_providers/{uuid}/traits",
        {"uuid": HOST},
        "PUT",
        "",
        {
            "resource_provider_generation": 3,
            "traits": ["HW_CPU_X86_VMX", "CUSTOM_GOLD"],
        },
    ),
    ("/resource_providers/{uuid}/traits", {"uuid": HOST}, "GET", "", None),
    (
        "/resource_providers/{uuid}/aggregates",
        {"uuid": HOST},
        "PUT",
        "",
        {
            "resource_provider_generation": 4,
            "aggregates": [AGGREGATE],
        },
    ),
    ("/resource_providers/{uuid}/aggregates", {"uuid": HOST}, "GET", "", None),
    (
        "/berth/v1/provider_trees/{root_uuid}",
        {"root_uuid": HOST},
        "PUT",
        "",
        {
            "providers": {
                CARD: {
                    "generation": None,
                    "name": "host1_gpu",
                    "parent_provider_uuid": HOST,
                    "inventories": {"VGPU": {"total": 4}},
                    "traits": ["CUSTOM_GOLD"],
                },
            },
        },
    ),
    ("/resource_providers", {}, "GET", "required=CUSTOM_GOLD&resources=VCPU:1", None),
    ("/resource_providers/{uuid}", {"uuid": HOST}, "GET", "", None),
    (
        "/allocation_candidates",
        {},
        "GET",
        "resources1=VCPU:2,MEMORY_MB:4096&resources2=VGPU:1&required2=CUSTOM_GOLD"
        "&group_policy=none&limit=1",
        None,
    ),
    (
        "/allocations/{consumer_uuid}",
        {"consumer_uuid": FIRST},
        "PUT",
        "",
        on(HOST, {"VCPU": 2, "MEMORY_MB": 4096}),
    ),
    ("/allocations/{consumer_uuid}", {"consumer_uuid": FIRST}, "GET", "", None),
    ("/allocations", {}, "POST", "", {SECOND: on(HOST, {"VCPU": 1, "MEMORY_MB": 1024})}),
    (
        "/berth/v1/claims",
        {},
        "POST",
        "",
        {
            "query": "resources=VCPU:2,MEMORY_MB:4096",
            "consumers": [{"uuid": THIRD} | OWNER],
            "strategy": "spread",
        },
    ),
    ("/resource_providers/{uuid}/allocations", {"uuid": HOST}, "GET", "", None),
    ("/resource_providers/{uuid}/usages", {"uuid": HOST}, "GET", "", None),
    ("/usages", {}, "GET", f"project_id={PROJECT}", None),
    ("/berth/v1", {}, "GET", "", None),
    ("/berth/v1/provider_trees", {}, "GET", "fields=inventories,usages&limit=1", None),
    ("/berth/v1/allocations/query", {}, "POST", "", {"consumers": [FIRST]}),
    ("/berth/v1/allocation_candidates/explain", {}, "GET", "resources=VCPU:200", None),
    (
        "/berth/v1/allocation_candidates/explain",
        {},
        "POST",
        "",
        {
            "query": "resources=VCPU:200",
            "if": {"inventories": {HOST: {"VCPU": {"allocation_ratio": 16.0}}}},
        },
    ),
    ("/berth/v1/capacity", {}, "GET", "resources=VCPU:2,MEMORY_MB:4096", None),
    (
        "/berth/v1/capacity",
        {},
        "POST",
        "",
        {
            "requests": {"m1.large": {"query": "resources=VCPU:4,MEMORY_MB:8192"}},
            "by": ["root"],
        },
    ),
    ("/berth/v1/capacity/evacuate", {}, "POST", "", {"without": [HOST]}),
    ("/berth/v1/plans/survives", {}, "POST", "", {"each": "root"}),
    (
        "/berth/v1/plans/room",
        {},
        "POST",
        "",
        {"query": "resources=VCPU:4,MEMORY_MB:8192", "limit": {"moves": 3}},
    ),
    ("/berth/v1/changes", {}, "GET", "", None),
    (
        "/reshaper",
        {},
        "POST",
        "",
        {
            "inventories": {
                HOST: {
                    "resource_provider_generation": 8,
                    "inventories": {"VCPU": VCPUS, "MEMORY_MB": MEMORY},
                },
                CARD: {
                    "resource_provider_generation": 1,
                    "inventories": {"VGPU": {"total": 4}, "DISK_GB": {"total": 480}},
                },
            },
            "allocations": {},
        },
    ),
    ("/allocations/{consumer_uuid}", {"consumer_uuid": FIRST}, "DELETE", "", None),
    (
        "/resource_providers/{uuid}",
        {"uuid": CARD},
        "PUT",
        "",
        {
            "name": "host1_gpu_0",
            "parent_provider_uuid": HOST,
        },
    ),
    (
        "/resource_providers/{uuid}/inventories/{resource_class}",
        {"uuid": CARD, "resource_class": "DISK_GB"},
        "DELETE",
        "",
        None,
    ),
    ("/resource_providers/{uuid}/inventories", {"uuid": CARD}, "DELETE", "", None),
    ("/resource_providers/{uuid}/traits", {"uuid": CARD}, "DELETE", "", None),
    ("/resource_providers/{uuid}", {"uuid": CARD}, "DELETE", "", None),
    ("/resource_classes/{name}", {"name": "CUSTOM_FPGA"}, "DELETE", "", None),
    ("/traits/{name}", {"name": "CUSTOM_SILVER"}, "DELETE", "", None),
]


def play(folder):
    """Return `METHOD path` → what was asked and answered, as the file has it."""
    layout = metrics_layout()
    counting = Counting.shared(layout, Slots.anonymous(layout.width))
    service = Service(f"sqlite:///{folder}/placement.db", counting=counting)
    service.put("/traits/CUSTOM_SILVER")
    found = {}
    for path, values, method, query, body in STEPS:
        url = path.format(**values) + (f"?{query}" if query else "")
        response = service.request(method, url, body)
        assert response.status_code < 300, (method, url, response.text)
        found[f"{method} {path}"] = {
            "places": values,
            "query": query,
            "request": body,
            "status": response.status_code,
            "answer": settled(response.json if response.data else None),
        }
    return found


def settled(value):
    """Return the answer with what differs at each run replaced."""
    if isinstance(value, list):
        return [settled(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: SETTLED.get(key) or settled(item) for key, item in value.items()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(play(folder), indent=1) + "\n"
    Path(examples.FILE).write_text(text)
