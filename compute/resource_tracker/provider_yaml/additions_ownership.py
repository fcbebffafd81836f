"""Which of a provider's traits and classes are there because of the operator's files.

An addition is noted before it is written to placement, and forgotten after it was removed there. So
a process that is killed in between may leave a note without an addition, which does no harm. It
never leaves an addition without a note: nobody would ever remove that.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from oslo_config import cfg

from compute import exceptions
from compute.provider_config import Provider
from compute.provider_tree import ProviderSubTree, ProviderTree
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.resource_tracker.provider_yaml.applied_configs import (
    Added,
    Applied,
    AppliedConfigs,
    Unusable,
)
from compute.resource_tracker.provider_yaml.provider_additions import (
    MergedAdditions,
    ProviderAdditions,
    TakenOut,
)

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Owned:
    """What files add to one node's providers.

    `before` is what was noted so far; None: nothing ever was. If `noted` is False, nothing can be
    noted of this node. `generations` has the providers' generations before anything is written.
    """

    node_uuid: str
    before: Applied | None
    merged: MergedAdditions
    noted: bool
    generations: Mapping[str, int | None] = field(default_factory=dict)

    def meanwhile(self) -> dict[str, Added]:
        """Return what has to be noted while the tree is written: the old and the new additions."""
        return self._with_before(self.merged.after)

    def disturbed(self, uuid: str | None, tree: ProviderTree) -> dict[str, Added]:
        """Return what is to be noted after another writer changed a provider first.

        What that provider was to get may be what the other writer gave it. But if its generation in
        the tree is a new one, its inventory was written: that is done first, and traits last. Where
        nothing was ever noted, all counts as the files' all the same.

        :param uuid: None: nothing was written of any provider
        """
        if self.before is None:
            return self.meanwhile()
        if uuid is None:
            return self._with_before({})
        after = dict(self.merged.after)
        added = after.pop(uuid, None)
        read_at = self.generations.get(uuid)
        if added and read_at is not None and tree.data(uuid).generation != read_at:
            after[uuid] = Added(classes=added.classes)
        return self._with_before(after)

    def _with_before(self, after: Applied) -> dict[str, Added]:
        before = self.before or {}
        nothing = Added()
        return {
            uuid: before.get(uuid, nothing) | after.get(uuid, nothing)
            for uuid in before.keys() | after.keys()
        }


class AdditionsOwnership:
    """Keeps track of what files add to the providers of all nodes of a service.

    :param absent: the ids in files that no node has, and of which a warning was logged
    """

    def __init__(
        self,
        reportclient: SchedulerReportClient,
        conf: cfg.ConfigOpts,
        configs: Mapping[str, Provider],
        on_absent: Callable[[str], None],
    ) -> None:
        self._reportclient = reportclient
        self._conf = conf
        self._applied = AppliedConfigs(conf.state_path)
        self._configs = configs
        self._on_absent = on_absent
        self.absent: set[str] = set()
        # Provider → (its generation, the time of the question, the classes that were held then).
        self._held: dict[str, tuple[int | None, float, frozenset[str]]] = {}
        # Provider → the classes that a warning said to stay, because they are held.
        self._kept: dict[str, frozenset[str]] = {}
        # Provider → what was removed from it; the notes of another node that shares it still have
        # it.
        self._removed: dict[str, Added] = {}
        self._lock = threading.Lock()
        self._unusable: set[str] = set()

    def of_node(self, node_uuid: str) -> ProviderAdditions:
        """Return the ProviderAdditions that merge the files into the tree of a node."""
        applied: Applied | None = {}
        try:
            applied = self._still_there(self._applied.of(node_uuid))
            self._unusable.discard(node_uuid)
        except Unusable:
            self._unusable.add(node_uuid)
        return ProviderAdditions(self._configs, self._on_absent, self.absent.discard, applied)

    def _still_there(self, applied: Applied | None) -> Applied | None:
        """Return what files added, without what this service removed since, for any of its nodes.

        The files are read once, at the start, so nothing that was removed is added again.
        """
        if applied is None:
            return None
        return {
            uuid: added - self._removed[uuid] if uuid in self._removed else added
            for uuid, added in applied.items()
        }

    def merge(
        self,
        context: RequestContext,
        additions: ProviderAdditions,
        tree: ProviderSubTree,
        taken: TakenOut,
    ) -> Owned:
        """Merge the files into the tree, after the driver's edit. Placement is only read.

        Raises what `ProviderAdditions.merge` raises, and ResourceProviderAllocationRetrievalFailed.
        """
        node_uuid = tree.scope_rp_uuid
        merged = additions.merge(tree, taken, lambda uuid: self._held_of(context, tree, uuid))
        noted = node_uuid not in self._unusable
        generations = {one: tree.data(one).generation for one in merged.after if tree.exists(one)}
        return Owned(node_uuid, additions.applied, merged, noted, generations)

    @contextlib.contextmanager
    def remembered(self, owned: Owned, tree: ProviderSubTree) -> Iterator[None]:
        """Note what files add around the write of a node's tree.

        If nothing can be noted, what was to be removed from the tree is put back.
        """
        if not owned.noted:
            yield
            return
        merged, node_uuid = owned.merged, owned.node_uuid
        noted = self._applied.note(node_uuid, owned.meanwhile(), anew=bool(merged.removed))
        if not noted:
            merged.put_back(tree)
        try:
            yield
        except exceptions.PlacementReshapeConflict:
            self._applied.note(node_uuid, owned.disturbed(None, tree))
            raise
        except exceptions.ProviderForgotten:
            raise  # what was noted stays, as after a kill: it may be written
        except exceptions.ResourceProviderUpdateConflict as conflict:
            self._applied.note(node_uuid, owned.disturbed(conflict.kwargs.get("uuid"), tree))
            raise
        if noted:
            news = self._newly_removed(merged)
            self._applied.note(node_uuid, merged.after)
            self._tell_removed(news, tree)
        self._tell_kept(merged, tree)

    def ask_again(self) -> None:
        """Ask placement again what is held, at the next update."""
        self._held.clear()

    def forget(self, node_uuid: str) -> None:
        """Forget a node that is gone, and its providers."""
        self._applied.forget(node_uuid)

    def _held_of(self, context: RequestContext, tree: ProviderSubTree, uuid: str) -> frozenset[str]:
        """Return the classes of a provider that consumers hold some of.

        An answer counts as long as the provider's generation stays the same, because each new
        allocation changes it. Removed allocations don't, so placement is also asked again after the
        period that counts for everything else of a provider.
        """
        generation, now = tree.data(uuid).generation, time.monotonic()
        known = self._held.get(uuid)
        if known is None or known[0] != generation or self._is_old(now - known[1]):
            found = self._reportclient.get_allocations_for_resource_provider(context, uuid)
            classes = frozenset(
                name for held in found.allocations.values() for name in held["resources"]
            )
            known = self._held[uuid] = (generation, now, classes)
        return known[2]

    def _is_old(self, age: float) -> bool:
        refresh = self._conf.compute.resource_provider_association_refresh
        return bool(refresh) and age >= refresh

    def _newly_removed(self, merged: MergedAdditions) -> Applied:
        """Remember what was removed; return what no other node has removed before.

        Nodes are updated concurrently, and may share a provider.
        """
        news = {}
        with self._lock:
            for uuid, added in merged.removed.items():
                before = self._removed.get(uuid, Added())
                self._removed[uuid] = before | added
                if added - before:
                    news[uuid] = added - before
        return news

    def _tell_removed(self, removed: Applied, tree: ProviderSubTree) -> None:
        for uuid, added in removed.items():
            self._held.pop(uuid, None)
            LOG.info(
                "Removed %s from provider %s: no provider config file adds that any more",
                _listed(added),
                _described(tree, uuid),
            )

    def _tell_kept(self, merged: MergedAdditions, tree: ProviderSubTree) -> None:
        """Warn once of the classes that stay because they are held."""
        for uuid in merged.after:
            kept = merged.kept.get(uuid, Added()).classes
            news = kept - self._kept.get(uuid, frozenset())
            self._kept[uuid] = kept
            if news:
                LOG.warning(
                    "No provider config file adds %s to provider %s any more, but consumers hold "
                    "some of it: it stays until they are gone",
                    ", ".join(sorted(news)),
                    _described(tree, uuid),
                )


def _listed(added: Added) -> str:
    return ", ".join(sorted({*added.traits, *added.classes}))


def _described(tree: Any, uuid: str) -> str:
    return f"{tree.data(uuid).name} ({uuid})"
