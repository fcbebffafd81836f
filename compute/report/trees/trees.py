"""Whole trees of providers: reading them into the cache, and ensuring that their root exists.

See compute.md §3.6.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from typing import TypeVar

from compute import exceptions
from compute.provider_tree import ProviderSubTree, ProviderTree
from compute.report.trees.associations import Associations
from compute.report.trees.cache import ProviderCache
from compute.report.trees.providers import FOUND, Providers
from compute.report.trees.whole_trees import WholeTrees
from compute.report.wire.context import Context
from compute.report.wire.transport import ATTEMPTS
from compute.report.wire.unreachable import reached

_T = TypeVar("_T", bound=ProviderTree)


class Trees:
    """The trees that the cache knows. `context` is any object with a `global_id`, or None."""

    def __init__(
        self,
        cache: ProviderCache,
        providers: Providers,
        associations: Associations,
        whole_trees: WholeTrees,
    ) -> None:
        self._cache = cache
        self._providers = providers
        self._associations = associations
        self._whole_trees = whole_trees

    def ensure(
        self,
        context: Context,
        uuid: str,
        name: str | None = None,
        parent_provider_uuid: str | None = None,
    ) -> str:
        """Create the provider unless it exists, and have its tree in the cache; return its uuid.

        A provider that exists keeps its name and its parent. Nothing is sent while the cache is
        fresh. Raises ResourceProviderCreationFailed if placement refuses to create it, and what the
        reading methods raise.
        """
        if self._is_known(context, uuid):
            for member in self._cache.tree.get_provider_uuids(uuid):
                self._associations.refresh(context, member)
        elif not self.load(context, uuid):
            self._create_and_cache(context, uuid, name or uuid, parent_provider_uuid)
        return uuid

    def _ensure_or_imagine(self, context: Context, uuid: str, name: str) -> None:
        """Have the root's tree in the cache; imagine a missing root if trees are written whole."""
        if self._is_known(context, uuid):
            self.ensure(context, uuid, name)
        elif self.load(context, uuid):
            return
        else:
            self._providers.namesakes.warn_of_alike(context, uuid, name)
            if self._whole_trees.offered(context):
                self._cache.imagine_root(name, uuid)
            else:
                self._create_and_cache(context, uuid, name, None)

    def _is_known(self, context: Context, uuid: str) -> bool:
        """Say whether the cache has the tree, so that at most single providers have to be read.

        Stale providers below a fresh root are read one by one, unless one request reads the tree.
        """
        cache = self._cache
        if not cache.tree.exists(uuid) or cache.is_stale(uuid):
            return False
        stale = any(cache.is_stale(member) for member in cache.tree.get_provider_uuids(uuid))
        return not (stale and self._whole_trees.offered(context))

    def load(self, context: Context, uuid: str) -> bool:
        """Read the whole tree of `uuid` into the cache; say whether placement knows it."""
        rows = self._whole_trees.of(context, uuid)
        sharing = None
        if rows is None:
            listed = self._providers.in_tree(context, uuid)
            rows, sharing = self._associations.whole_rows(context, listed)
        if not rows:
            self._cache.invalidate(uuid)
            return False
        members = [row["uuid"] for row in rows]
        for member in members:
            self._cache.note_unread(member)
        self._cache.tree.populate_whole(rows)
        if sharing is None:
            aggregates = {aggregate for row in rows for aggregate in row["aggregates"]}
            self._associations.load_sharing(context, uuid, aggregates)
        else:
            self._cache.note_sharing(uuid, sharing)
        for member in members:
            self._cache.note_read(member)
        return True

    def load_existing(self, context: Context, uuids: Collection[str]) -> set[str]:
        """Read the trees of those providers that placement knows; return these providers.

        Raises what the reading methods raise.
        """
        asked = uuids
        trees = self._whole_trees.of_each(context, uuids, "traits")
        if trees is not None:
            asked = {row["uuid"] for tree in trees for row in tree}.intersection(uuids)
        return {uuid for uuid in asked if self.load(context, uuid)}

    def _create_and_cache(
        self, context: Context, uuid: str, name: str, parent_provider_uuid: str | None
    ) -> None:
        if parent_provider_uuid and not self._cache.tree.exists(parent_provider_uuid):
            self.load(context, parent_provider_uuid)
        created = reached(
            self._providers.transport,
            lambda: self._providers.create(context, uuid, name, parent_provider_uuid),
            exceptions.ResourceProviderCreationFailed(name=name),
        )
        if created is None:
            raise exceptions.ResourceProviderCreationFailed(name=name)
        # Another writer created it, maybe below another parent, and may have added to it since.
        if created.get(FOUND) and self.load(context, uuid):
            return
        parent = created.get("parent_provider_uuid")
        try:
            if parent is None:
                self._cache.tree.new_root(created["name"], uuid, created["generation"])
            else:
                self._cache.tree.new_child(created["name"], parent, uuid, created["generation"])
        except ValueError:
            if not self._cache.tree.exists(uuid):
                raise
            return  # another thread has read it since
        self._cache.note_read(uuid)

    def ensured_tree(
        self,
        context: Context,
        uuid: str,
        name: str | None = None,
        parent_provider_uuid: str | None = None,
    ) -> ProviderTree:
        """Return a private copy of everything known, with provider `uuid` in it.

        The provider is created, named `name` (else by its uuid), if placement has none. It may be
        any member of a tree. The copy holds what is known of other trees as well; the caller must
        not edit those. Raises what `ensure` raises, and ResourceProviderUpdateConflict if another
        thread made the client forget the tree meanwhile.
        """
        with self._cache.working_with(uuid):
            self.ensure(context, uuid, name, parent_provider_uuid)
            return self._with_sharing(context, uuid, lambda: copy.deepcopy(self._cache.tree))

    def ensured_subtree(
        self,
        context: Context,
        uuid: str,
        name: str | None = None,
        parent_provider_uuid: str | None = None,
        with_sharing: bool = False,
        may_imagine: bool = False,
    ) -> ProviderSubTree:
        """Return a private copy of the one tree rooted at `uuid`, created as by `ensured_tree`.

        With `may_imagine` a root that placement doesn't have may be left to `TreeSync.run`, which
        then creates it together with the rest of its tree, or not at all.

        `with_sharing` adds, as roots without children, the providers that share with one of the
        aggregates of the tree's members. Raises what `ensured_tree` raises, and ValueError if
        `uuid` isn't a root.
        """
        with self._cache.working_with(uuid):
            if may_imagine and parent_provider_uuid is None:
                self._ensure_or_imagine(context, uuid, name or uuid)
            else:
                self.ensure(context, uuid, name, parent_provider_uuid)
            if with_sharing:
                return self.known_subtree(context, uuid)
            return self._cache.tree.subtree(uuid)

    def known_subtree(self, context: Context, uuid: str) -> ProviderSubTree:
        """Return a private copy of the known tree rooted at `uuid`, and of who shares with it.

        Raises ValueError if it isn't known or `uuid` isn't its root, what the reading methods
        raise, and ResourceProviderUpdateConflict.
        """
        return self._with_sharing(
            context, uuid, lambda: self._cache.tree.subtree_with_sharing(uuid)
        )

    def _with_sharing(self, context: Context, uuid: str, copied: Callable[[], _T]) -> _T:
        """Return a copy that has all providers that share with the tree of `uuid`.

        Those that the client was made to forget are read again. Raise
        ResourceProviderUpdateConflict if they are forgotten each time.
        """
        for _ in range(ATTEMPTS):
            tree = copied()
            if not self._cache.missing_sharing(tree, uuid):
                return tree
            members = tree.get_provider_uuids_in_tree(uuid)
            aggregates = {one for member in members for one in tree.data(member).aggregates}
            self._associations.load_sharing(context, uuid, aggregates)
        raise exceptions.ResourceProviderUpdateConflict(
            uuid=uuid, generation=0, error="others keep changing the providers that share with it"
        )
