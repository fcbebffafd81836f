"""Processor time of a reshape of one wide tree, by whole trees and by single requests.

    python -m benchmarks.wide_reshape [--providers 1000] [--consumers 10000] [--one-by-one]

Each consumer holds VCPU of the root and MEMORY_MB of a child; the VCPU move to the children. The
service runs in this process, as for `nova-manage`, so its work is part of the time.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from keystoneauth1.adapter import Adapter
from rich.console import Console

from compute import config
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Allocations
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from placement.direct import PlacementDirect

ROOT = str(UUID(int=1))
VCPU = {"VCPU": {"total": 1_000_000}}


def uuid_of(number: int) -> str:
    """Return the uuid of a child or a consumer."""
    return str(UUID(int=2 + number))


def fill(placement: Adapter, providers: int, consumers: int) -> None:
    """Make the tree, and the consumers."""
    children = [uuid_of(number) for number in range(providers - 1)]
    rows = {ROOT: {"name": "root", "parent_provider_uuid": None, "inventories": VCPU}}
    for child in children:
        memory = {"MEMORY_MB": {"total": 1_000_000}}
        rows[child] = {
            "name": f"child-{child}",
            "parent_provider_uuid": ROOT,
            "inventories": memory,
        }
    held = {
        uuid_of(10_000_000 + number): {
            "allocations": {
                ROOT: {"resources": {"VCPU": 1}},
                children[number % len(children)]: {"resources": {"MEMORY_MB": 1}},
            },
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": None,
        }
        for number in range(consumers)
    }
    response = placement.put(
        f"/berth/v1/provider_trees/{ROOT}",
        json={
            "providers": {uuid: {"generation": None, **row} for uuid, row in rows.items()},
            "allocations": held,
        },
        headers={"OpenStack-API-Version": "placement 1.36"},
        raise_exc=False,
    )
    assert response.status_code == 200, response.text


def move(tree: ProviderTree, allocations: Allocations) -> None:
    """Move the VCPU from the root to the children."""
    for child in tree.get_provider_uuids()[1:]:
        tree.update_inventory(child, tree.data(child).inventory | VCPU)
    tree.update_inventory(ROOT, {})
    for body in allocations.values():
        held = body["allocations"]
        moved = held.pop(ROOT)["resources"]
        for part in held.values():
            part["resources"] |= moved


def main() -> None:
    """Measure, and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--providers", type=int, default=1000)
    parser.add_argument("--consumers", type=int, default=10000)
    parser.add_argument("--one-by-one", action="store_true")
    given = parser.parse_args()
    console, context = Console(), admin_context()
    overrides: dict[tuple[str | None, str], bool] = {("berth", "whole_trees"): not given.one_by_one}
    conf = config.load(files=[], environ={}, overrides=overrides)
    with tempfile.TemporaryDirectory() as folder:
        service = PlacementDirect.configured(
            files=[],
            environ=False,
            overrides={
                ("placement_database", "connection"): f"sqlite:///{Path(folder)}/placement.db",
                ("placement_database", "sync_on_startup"): True,
            },
        )
        with service as placement:
            fill(placement, given.providers, given.consumers)

            def wanted(client: SchedulerReportClient) -> tuple[ProviderTree, Allocations]:
                tree = client.get_provider_subtree(context, ROOT, "root", with_sharing=True)
                allocations = client.get_allocations_for_provider_tree(context, ROOT)
                move(tree, allocations)
                return tree, allocations

            def rehearse() -> None:
                client = SchedulerReportClient(placement, conf=conf)
                client.tree_sync.rehearse(*wanted(client))

            def migrate() -> None:
                client = SchedulerReportClient(placement, conf=conf)
                client.update_from_provider_tree(context, *wanted(client))

            def start() -> None:
                client = SchedulerReportClient(placement, conf=conf)
                tree = client.get_provider_subtree(context, ROOT, "root", with_sharing=True)
                client.get_holders_in_provider_tree(context, ROOT, is_start=True)
                assert not client.update_from_provider_tree(context, tree)

            parts: dict[str, Callable[[], None]] = {
                "dry run": rehearse,
                "migrate": migrate,
                "next start": start,
            }
            for name, part in parts.items():
                begun = time.process_time()
                part()
                console.print(f"{name}: {time.process_time() - begun:.2f} s of processor time")


if __name__ == "__main__":
    main()
