"""Sending planned steps as one write of a whole tree, where placement offers it (extensions.md 3).

The steps are those of `steps_to`, so it makes no difference to what placement has in the end. But
all of it is stored, or nothing is.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from requests import Response

from compute import exceptions
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.inventory_record import completed
from compute.report.cache import ProviderCache
from compute.report.extensions import Extensions
from compute.report.failures import Refusal
from compute.report.steps import (
    AddProvider,
    RemoveProvider,
    RereadInventory,
    Reshape,
    SetAggregates,
    SetInventory,
    Step,
)
from compute.report.transport import (
    CONCURRENT_UPDATE,
    INVENTORY_IN_USE,
    NOT_DONE,
    error_code,
    error_detail,
    never_sent,
)
from compute.report.whole_trees import WholeTrees

LOG = logging.getLogger(__name__)

DUPLICATE = "placement.duplicate_name"


@dataclass
class TreeBody:
    """The body of one write, made by :func:`body_of`.

    :param uuids: every provider that the write may change
    """

    root: str
    providers: dict[str, dict[str, Any]] = field(default_factory=dict)
    remove: dict[str, int | None] = field(default_factory=dict)
    allocations: Allocations | None = None

    @property
    def uuids(self) -> set[str]:
        return self.providers.keys() | self.remove.keys()

    def as_json(self) -> dict[str, Any]:
        """Return what is sent."""
        return {
            "providers": self.providers,
            "remove": self.remove,
            "allocations": self.allocations or {},
            "create_names": True,
        }


def body_of(steps: Sequence[Step], known: ProviderTree, wanted: ProviderTree) -> TreeBody | None:
    """Return the write that does what the steps do; None if one write can't.

    It can't if the steps concern more than one tree, or a provider that placement had and that the
    client must look for first.
    """
    body = TreeBody(root="")
    for step in steps:
        if isinstance(step, RereadInventory):
            continue
        if isinstance(step, AddProvider):
            if step.was_there:
                return None
            body.providers[step.uuid] = {
                "name": step.name,
                "parent_provider_uuid": step.parent_uuid,
                "generation": None,
            }
        elif isinstance(step, RemoveProvider):
            body.providers.pop(step.uuid, None)
            body.remove[step.uuid] = known.data(step.uuid).generation
        elif isinstance(step, Reshape):
            body.allocations = step.allocations
            for uuid, record in step.inventories.items():
                _entry(body, known, uuid, record["resource_provider_generation"])["inventories"] = (
                    record["inventories"]
                )
        else:
            entry = _entry(body, known, step.uuid, step.generation)
            if isinstance(step, SetInventory):
                entry["inventories"] = step.inventory
            elif isinstance(step, SetAggregates):
                entry["aggregates"] = sorted(step.aggregates)
            else:
                entry["traits"] = sorted(step.traits)
    roots = {_root_of(uuid, known, wanted) for uuid in body.uuids}
    if len(roots) != 1:
        return None
    (body.root,) = roots
    return body


def _entry(
    body: TreeBody, known: ProviderTree, uuid: str, generation: int | None
) -> dict[str, Any]:
    """Return the entry of a provider, added if need be; at the generation it is known to have."""
    entry = body.providers.get(uuid)
    if entry is None:
        has = known.data(uuid)
        entry = body.providers[uuid] = {
            "name": has.name,
            "parent_provider_uuid": has.parent_uuid,
            "generation": has.generation if generation is None else generation,
        }
    return entry


def _root_of(uuid: str, known: ProviderTree, wanted: ProviderTree) -> str:
    tree = known if known.exists(uuid) else wanted
    return tree.get_provider_uuids_in_tree(uuid)[0]


class TreeWriter:
    """Writes whole trees. `context` is any object with a `global_id`, or None."""

    def __init__(
        self, extensions: Extensions, whole_trees: WholeTrees, cache: ProviderCache
    ) -> None:
        self._extensions = extensions
        self._whole_trees = whole_trees
        self._cache = cache

    def offered(self, context: Any) -> bool:
        """Say whether placement takes whole trees."""
        return self._whole_trees.offered(context)

    def write(self, context: Any, body: TreeBody, wanted: ProviderTree) -> bool:
        """Write, and note the outcome in the cache and in `wanted`.

        Return False, with nothing changed, if the steps must be taken one by one: placement doesn't
        take whole trees from this client, or somebody else has a provider of the same uuid or name.

        Raise PlacementReshapeConflict, ReshapeFailed or ReshapeUnanswered for a write that moves
        allocations. For others raise ResourceProviderUpdateConflict, InventoryInUse,
        ResourceProviderSyncFailed, and ClientException if placement is unreachable.
        """
        try:
            response = self._extensions.put(context, f"/provider_trees/{body.root}", body.as_json())
        except Exception as failure:
            if body.allocations is None:
                self._forget(body)
                raise
            kind = exceptions.ReshapeFailed if never_sent(failure) else exceptions.ReshapeUnanswered
            raise kind(error=failure) from failure
        if response is None or error_code(response) == DUPLICATE:
            return False
        if response.status_code != 200:
            raise self._failure(body, wanted, response) from Refusal(response)
        self._note(body, wanted, response.json()["generations"])
        LOG.info(
            "Wrote the tree of provider %s: %d providers set, %d removed, %d consumers.",
            body.root,
            len(body.providers),
            len(body.remove),
            len(body.allocations or {}),
        )
        return True

    def _failure(self, body: TreeBody, wanted: ProviderTree, response: Response) -> Exception:
        """Forget what isn't sure any more, and return the exception to raise."""
        code, told = error_code(response), error_detail(response)
        is_conflict = response.status_code == 409 and code == CONCURRENT_UPDATE
        if is_conflict:
            _note_conflicts(body, wanted, told)
        if body.allocations is not None:
            if is_conflict:
                LOG.info("Another writer was quicker than the reshape: %s", told)
                self._cache.forget_after_conflict()
                return exceptions.PlacementReshapeConflict(error=told)
            if response.status_code >= 500 and NOT_DONE not in told:
                return exceptions.ReshapeUnanswered(error=f"{response.status_code} {told}")
            return exceptions.ReshapeFailed(error=told)
        generation = body.providers.get(body.root, {}).get("generation")
        self._forget(body)
        if is_conflict:
            LOG.info("Provider tree %s changed since it was read: %s", body.root, told)
            return exceptions.ResourceProviderUpdateConflict(
                uuid=body.root, generation=generation or 0, error=told
            )
        if code == INVENTORY_IN_USE:
            return exceptions.InventoryInUse(told)
        general = exceptions.ResourceProviderSyncFailed.msg_fmt
        return exceptions.ResourceProviderSyncFailed(f"{general} Provider {body.root}: {told}")

    def _forget(self, body: TreeBody) -> None:
        """Read the tree again the next time."""
        for uuid in (*body.uuids, body.root):
            self._cache.forget_tree(uuid)

    def _note(self, body: TreeBody, wanted: ProviderTree, generations: dict[str, int]) -> None:
        """Keep what placement has now, in the cache; and the generations in `wanted`, too."""
        tree = self._cache.tree
        for uuid, entry in body.providers.items():
            if not tree.exists(uuid):
                _add(tree, uuid, entry)
            if "inventories" in entry:
                records = entry["inventories"].items()
                tree.update_inventory(uuid, {name: completed(record) for name, record in records})
            if "aggregates" in entry:
                tree.update_aggregates(uuid, entry["aggregates"])
            traits = entry.get("traits", tree.data(uuid).traits)
            tree.update_traits(uuid, traits, generation=generations[uuid])
            self._cache.note_read(uuid)
            if wanted.exists(uuid):
                wanted.note_written(uuid, generations[uuid])
        for uuid in body.remove:
            self._cache.invalidate(uuid)


def _add(tree: ProviderTree, uuid: str, entry: dict[str, Any]) -> None:
    if entry["parent_provider_uuid"] is None:
        tree.new_root(entry["name"], uuid)
    else:
        tree.new_child(entry["name"], entry["parent_provider_uuid"], uuid)


def _note_conflicts(body: TreeBody, wanted: ProviderTree, told: str) -> None:
    """Note in `wanted` what had the conflict, so that the next call writes it all the same."""
    for uuid in body.uuids:
        if uuid in told and wanted.exists(uuid):
            wanted.note_conflict(uuid)
