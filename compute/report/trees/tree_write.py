"""Sending planned steps as one write of a whole tree, where placement offers it (extensions.md 3).

The steps are those of `steps_to`, so it makes no difference to what placement has in the end. But
all of it is stored, or nothing is.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from requests import Response

from compute import exceptions
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.inventory_record import completed
from compute.report.trees.cache import ProviderCache
from compute.report.trees.steps import (
    AddProvider,
    RemoveProvider,
    RereadInventory,
    Reshape,
    SetAggregates,
    SetInventory,
    Step,
)
from compute.report.trees.whole_trees import OFFER, WholeTrees
from compute.report.wire.context import Context
from compute.report.wire.extensions import Extensions
from compute.report.wire.failures import Refusal
from compute.report.wire.transport import (
    ATTEMPTS,
    CONCURRENT_UPDATE,
    INVENTORY_IN_USE,
    NOT_DONE,
    error_code,
    error_detail,
)
from compute.report.wire.unreachable import never_sent

LOG = logging.getLogger(__name__)

DUPLICATE = "placement.duplicate_name"
NOT_FOUND = "placement.resource_provider.not_found"
TOO_LARGE = 413


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

    def as_json(self) -> dict[str, object]:
        """Return what is sent."""
        return {
            "providers": self.providers,
            "remove": self.remove,
            "allocations": self.allocations or {},
            "create_names": True,
        }


def body_of(steps: Sequence[Step], known: ProviderTree, wanted: ProviderTree) -> TreeBody | None:
    """Return one write that does what the steps do; None if they concern more than one tree."""
    body = TreeBody(root="")
    for step in steps:
        if isinstance(step, RereadInventory):
            continue
        if isinstance(step, AddProvider):
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
    roots = _roots(body.uuids, known, wanted)
    if len(roots) != 1:
        return None
    (body.root,) = roots
    return body


def _entry(
    body: TreeBody, known: ProviderTree, uuid: str, generation: int | None
) -> dict[str, object]:
    """Return the provider's entry in the body; add it, with its generation, if it has none."""
    entry = body.providers.get(uuid)
    if entry is None:
        if generation is None:
            generation = known.data(uuid).generation
        # its name and its parent are left out: others may have changed them
        entry = body.providers[uuid] = {"generation": generation}
    return entry


def _roots(uuids: Iterable[str], known: ProviderTree, wanted: ProviderTree) -> set[str]:
    """Return the roots of the trees that have these providers, also those to be created."""
    roots = set()
    left = set(uuids)
    while left:
        uuid = left.pop()
        is_known = known.exists(uuid)
        members = (known if is_known else wanted).get_provider_uuids_in_tree(uuid)
        roots.add(members[0])
        left.difference_update(m for m in members if known.exists(m) is is_known)
    return roots


class NameTaken(Exception):
    """A provider to create has the uuid or the name of another one; nothing was changed.

    :param error: what placement says of it
    """

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


class TreeWriter:
    """Writes whole trees."""

    def __init__(
        self, extensions: Extensions, whole_trees: WholeTrees, cache: ProviderCache
    ) -> None:
        self._extensions = extensions
        self._whole_trees = whole_trees
        self._cache = cache

    def offered(self, context: Context) -> bool:
        """Say whether placement takes whole trees."""
        return self._whole_trees.offered(context)

    def write(self, context: Context, body: TreeBody, wanted: ProviderTree) -> bool:
        """Write, and note the outcome in the cache and in `wanted`.

        Return False, with nothing changed, if placement doesn't take this tree as a whole from this
        client. Raises NameTaken if another provider has the uuid or the name of one to create.

        A write that moves allocations raises PlacementReshapeConflict, ReshapeFailed or
        ReshapeUnanswered. Any other raises ResourceProviderUpdateConflict, InventoryInUse,
        ResourceProviderSyncFailed, or ClientException if placement is unreachable.
        """
        response = self._send(context, body)
        for _ in range(ATTEMPTS):
            newer = self._removals_as_they_are(context, body, response)
            if newer is None:
                break
            body = newer
            response = self._send(context, body)
        if response is None or response.status_code == TOO_LARGE:
            return False
        if error_code(response) == DUPLICATE:
            raise NameTaken(error_detail(response)) from Refusal(response)
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

    def _send(self, context: Context, body: TreeBody) -> Response | None:
        try:
            return self._extensions.put(
                context, OFFER, f"/provider_trees/{body.root}", body.as_json()
            )
        except Exception as failure:
            if body.allocations is None:
                self._forget(body)
                raise
            kind = exceptions.ReshapeFailed if never_sent(failure) else exceptions.ReshapeUnanswered
            raise kind(error=failure) from failure

    def _removals_as_they_are(
        self, context: Context, body: TreeBody, response: Response | None
    ) -> TreeBody | None:
        """Return the write with the present generations of the providers to remove.

        Providers to remove that are gone already are left out. Return None if the response isn't
        about the providers to remove. A reshape keeps their old generations: what others allocated
        there since would not be moved, so it must conflict.
        """
        if response is None or error_code(response) not in (CONCURRENT_UPDATE, NOT_FOUND):
            return None
        told = error_detail(response)
        if not any(uuid in told for uuid in body.remove):
            return None
        rows = self._whole_trees.of(context, body.root)
        if rows is None:
            return None
        now: dict[str, int] = {row["uuid"]: row["generation"] for row in rows}
        remove = {
            uuid: generation if body.allocations is not None else now[uuid]
            for uuid, generation in body.remove.items()
            if uuid in now
        }
        for uuid in body.remove.keys() - now.keys():
            self._cache.invalidate(uuid)
        return None if remove == body.remove else replace(body, remove=remove)

    def _failure(self, body: TreeBody, wanted: ProviderTree, response: Response) -> Exception:
        """Forget what the failure leaves uncertain, and return the exception to raise."""
        code, told = error_code(response), error_detail(response)
        is_conflict = response.status_code == 409 and code == CONCURRENT_UPDATE
        if body.allocations is not None:
            if is_conflict or _is_of_one_deleted(body, response):
                LOG.info("Another writer was quicker than the reshape: %s", response.text)
                self._cache.forget_after_conflict()
                return exceptions.PlacementReshapeConflict(error=response.text)
            if response.status_code >= 500 and NOT_DONE not in response.text:
                return exceptions.ReshapeUnanswered(error=f"{response.status_code} {response.text}")
            return exceptions.ReshapeFailed(error=response.text)
        who = self._who(body, told)
        self._forget(body)
        if is_conflict:
            LOG.info("Provider tree %s changed since it was read: %s", body.root, told)
            changed = _note_conflicts(body, wanted, told)
            return exceptions.ResourceProviderUpdateConflict(
                uuid=changed,
                generation=body.providers.get(changed, {}).get("generation") or 0,
                error=response.text,
            )
        if code == INVENTORY_IN_USE:
            return exceptions.InventoryInUse(told)
        general = exceptions.ResourceProviderSyncFailed.msg_fmt
        return exceptions.ResourceProviderSyncFailed(f"{general} Provider {who}: {told}")

    def _who(self, body: TreeBody, told: str) -> str:
        """Return the name and the uuid of the provider that the error is about, or of the root."""
        uuid = next((one for one in sorted(body.uuids) if one in told), body.root)
        tree = self._cache.tree
        name = body.providers.get(uuid, {}).get("name")
        if name is None and tree.exists(uuid):
            name = tree.data(uuid).name
        return uuid if name is None else f"{name} ({uuid})"

    def _forget(self, body: TreeBody) -> None:
        """Forget the tree, so that the next update reads it."""
        for uuid in (*body.uuids, body.root):
            self._cache.forget_tree(uuid)

    def _note(self, body: TreeBody, wanted: ProviderTree, generations: dict[str, int]) -> None:
        """Update the cache to what placement has now, and the generations in `wanted`."""
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
        for uuid in generations.keys() - body.providers.keys():
            self._note_used(uuid, generations[uuid], wanted)
        for uuid in body.remove:
            self._cache.invalidate(uuid)

    def _note_used(self, uuid: str, generation: int, wanted: ProviderTree) -> None:
        """Note the new generation of a provider of which only allocations were written."""
        tree = self._cache.tree
        if not tree.exists(uuid):
            return
        known = tree.data(uuid)
        if known.generation != generation - 1:
            # another writer changed it, too
            self._cache.note_unread(uuid)
            return
        if wanted.exists(uuid) and wanted.data(uuid).generation == known.generation:
            wanted.note_written(uuid, generation)
        tree.update_traits(uuid, known.traits, generation=generation)


def _add(tree: ProviderTree, uuid: str, entry: dict[str, Any]) -> None:
    """Add a provider that was created. Raises ValueError if it is an old one, forgotten since."""
    if "name" not in entry:
        raise ValueError(f"No such provider {uuid}")
    if entry["parent_provider_uuid"] is None:
        tree.new_root(entry["name"], uuid)
    else:
        tree.new_child(entry["name"], entry["parent_provider_uuid"], uuid)


def _is_of_one_deleted(body: TreeBody, response: Response) -> bool:
    """Say whether the write failed because a provider was deleted since it was read."""
    told = error_detail(response)
    return error_code(response) == NOT_FOUND and any(
        entry["generation"] is not None and uuid in told for uuid, entry in body.providers.items()
    )


def _note_conflicts(body: TreeBody, wanted: ProviderTree, told: str) -> str:
    """Note in `wanted` which providers had the conflict; return one of them, or else the root.

    So the next call writes them at their new generations.
    """
    changed = sorted(uuid for uuid in body.uuids if uuid in told)
    for uuid in changed:
        if wanted.exists(uuid):
            wanted.note_conflict(uuid)
    return changed[0] if changed else body.root
