"""Run writers on a service, and check that its workers see all changes."""

import json
import random
from typing import Any

from tests.faults.running import Client
from tests.faults.writers import SHARED, SHARED_TOTAL, Writer
from tests.functional.placement.service import Service

WRITERS = 4
#: enough requests that each of two workers answers some of them
QUESTIONS = 5
SEARCHES = (
    "resources=VCPU:1",
    "resources=VGPU:2",
    "resources=DISK_GB:1",
    "resources_A=VCPU:1&resources_B=VGPU:1&group_policy=none",
)


def begin(client: Client, seed: float = 0) -> list[Writer]:
    """Create the shared provider, and the writers with their own providers."""
    assert client.post("/resource_providers", {"name": "shared", "uuid": SHARED}).status == 200
    stock = {
        "resource_provider_generation": 0,
        "inventories": {"VCPU": {"total": SHARED_TOTAL}},
    }
    assert client.put(f"/resource_providers/{SHARED}/inventories", stock).status == 200
    writers = [Writer(number, random.Random(seed + number)) for number in range(WRITERS)]
    for writer in writers:
        writer.make(client)
    return writers


def _in_order(answer: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return a response's candidates, sorted."""
    requests = sorted(json.dumps(each, sort_keys=True) for each in answer["allocation_requests"])
    return requests, answer["provider_summaries"]


def wrong_candidates(client: Client, url: str) -> list[tuple[str, Any, Any]]:
    """Return the searches that a worker answers unlike a service that has just started."""
    fresh = Service(url, placement_database__sync_on_startup=False)
    wrong = []
    for search in SEARCHES:
        path = f"/allocation_candidates?{search}"
        right = _in_order(fresh.get(path).json)
        answers = [_in_order(client.get(path).body) for _ in range(QUESTIONS)]
        wrong += [(search, answer, right) for answer in answers if answer != right]
    fresh.database.close()
    return wrong
