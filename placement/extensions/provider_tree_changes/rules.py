"""A change of a whole tree of providers, and what it means for the stored ones (extensions.md 3).

Providers are named by uuid here, because new ones have no id yet.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence

from placement.domain import tree
from placement.domain.capacity import Inventory
from placement.domain.consumer import ConsumerRequest
from placement.domain.provider import UNCHANGED, Member, Unchanged
from placement.errors import (
    CreationRefused,
    NamedTwice,
    ObjectRefused,
    ProviderNotFound,
    ProviderOutsideTree,
    TooMuchAtOnce,
)

#: levels of new providers in one change: each takes a statement, as a parent's id must be known
MOST_LEVELS = 1_000


@dataclasses.dataclass(frozen=True, slots=True)
class WantedProvider:
    """What a provider is to be after the change. What is None, or UNCHANGED, stays as it is.

    :param generation: the generation that the caller expects; None: the provider is new
    :param parent: uuid of the parent; None: the provider is a root
    :param inventories: by class name
    """

    generation: int | None
    name: str | None = None
    parent: str | Unchanged | None = UNCHANGED
    inventories: Mapping[str, Inventory] | None = None
    traits: Sequence[str] | None = None
    aggregates: Sequence[str] | None = None


@dataclasses.dataclass(frozen=True)
class TreeChange:
    """What a request wants to change in a tree.

    :param root: uuid of the root that the tree has afterwards
    :param providers: by uuid
    :param remove: the generations that the caller expects of the providers to remove, by uuid
    :param requests: the allocations that consumers are to have
    :param create_names: whether custom traits and classes that are missing are created
    """

    root: str
    providers: Mapping[str, WantedProvider]
    remove: Mapping[str, int]
    requests: Sequence[ConsumerRequest]
    create_names: bool

    @functools.cached_property
    def new(self) -> dict[str, WantedProvider]:
        """The providers to create, by uuid."""
        return {
            uuid: wanted for uuid, wanted in self.providers.items() if wanted.generation is None
        }

    @functools.cached_property
    def generations(self) -> dict[str, int]:
        """The generations that the caller expects of the providers that stay, by uuid."""
        return {
            uuid: wanted.generation
            for uuid, wanted in self.providers.items()
            if wanted.generation is not None
        }

    def named(self) -> set[str]:
        """Return the uuids of all providers that the change names, parents included."""
        parents = (wanted.parent for wanted in self.providers.values())
        return {self.root, *self.providers, *self.remove} | {
            parent for parent in parents if isinstance(parent, str)
        }

    def refuse_contradiction(self) -> None:
        """Raise NamedTwice if a provider is both to be written and to be removed."""
        for uuid in self.providers:
            if uuid in self.remove:
                raise NamedTwice(uuid=uuid)


@dataclasses.dataclass(frozen=True)
class TreePlan:
    """What a change means for the stored providers.

    :param members: every provider of the trees that the change names, by uuid
    """

    change: TreeChange
    members: Mapping[str, Member]

    @functools.cached_property
    def _uuids(self) -> dict[int, str]:
        return {member.id: member.uuid for member in self.members.values()}

    @functools.cached_property
    def _parents_before(self) -> dict[str, str | None]:
        return {
            uuid: None if member.parent_id is None else self._uuids.get(member.parent_id)
            for uuid, member in self.members.items()
        }

    @functools.cached_property
    def parents(self) -> dict[str, str | None]:
        """The parent of each provider after the change, before any is removed."""
        after = dict(self._parents_before)
        for uuid, wanted in self.change.providers.items():
            if not isinstance(wanted.parent, Unchanged):
                after[uuid] = wanted.parent
            elif uuid not in after:
                after[uuid] = None
        return after

    @functools.cached_property
    def _tops(self) -> dict[str, str | None]:
        return tree.tops(self.parents)

    @functools.cached_property
    def renamed(self) -> dict[str, str]:
        """The new names of stored providers whose names change, by uuid."""
        return {
            uuid: wanted.name
            for uuid, wanted in self.change.providers.items()
            if wanted.name is not None
            and uuid in self.members
            and wanted.name != self.members[uuid].name
        }

    @functools.cached_property
    def moved(self) -> dict[int, str | None]:
        """The uuids of the new parents of stored providers that get another one, by id."""
        return {
            self.members[uuid].id: self.parents[uuid]
            for uuid in self.change.providers
            if uuid in self.members and self.parents[uuid] != self._parents_before[uuid]
        }

    @functools.cached_property
    def joining(self) -> list[int]:
        """Ids of the stored providers that get another root: they come from another tree."""
        root = self.members.get(self.change.root)
        root_id = root.id if root else None
        return [
            member.id
            for uuid, member in self.members.items()
            if self._tops[uuid] == self.change.root and member.root_id != root_id
        ]

    @property
    def changes_places(self) -> bool:
        """Whether stored providers are renamed, moved or removed."""
        return bool(self.renamed or self.moved or self.change.remove)

    @property
    def rows(self) -> set[int]:
        """Ids of the stored providers to lock: those that the change writes, or depends on.

        A move locks all providers of the trees: a claim that takes of any of them chose it because
        of the tree that it was in.
        """
        if self.moved:
            return {member.id for member in self.members.values()} | set(self.joining)
        named = (self.members[uuid] for uuid in self.change.named() if uuid in self.members)
        return {member.id for member in named} | self.roots | set(self.joining)

    @property
    def roots(self) -> set[int]:
        """Ids of the roots of all trees that the change names."""
        return {member.root_id for member in self.members.values()}

    def refuse_no_root(self) -> None:
        """Raise ProviderNotFound if the root neither exists nor is in the change."""
        root = self.change.root
        if root not in self.members and root not in self.change.providers:
            raise ProviderNotFound(uuid=root)

    def refuse_misplaced(self, may_reparent: bool) -> None:
        """Raise an error if a provider can't be where the change wants it.

        Raises CreationRefused (of a new provider) or ObjectRefused if the parent doesn't exist or
        the provider would be its own ancestor, and ProviderOutsideTree if it would be in another
        tree. The first such provider of the request counts.

        :param may_reparent: whether a provider that has a parent may change it (microversion 1.37)
        """
        for uuid, wanted in self.change.providers.items():
            parent = self.parents[uuid]
            in_circle = self._tops[uuid] is None
            missing = parent is not None and parent not in self.parents
            if wanted.generation is None:
                reason = tree.NO_SUCH_PARENT if missing else tree.LOOP if in_circle else None
                if reason is not None:
                    raise CreationRefused(uuid=uuid, name=wanted.name, reason=reason)
            elif missing:
                raise ObjectRefused(uuid=uuid, action="create", reason=tree.NO_SUCH_PARENT)
            elif not isinstance(wanted.parent, Unchanged):
                before = self._parents_before[uuid]
                reason = tree.why_not_move(before, parent, in_circle, may_reparent)
                if reason is not None:
                    raise ObjectRefused(uuid=uuid, action="update", reason=reason)
        root = self.change.root
        for uuid in (root, *self.change.providers, *self.change.remove):
            top = self._tops[uuid]
            if top == uuid != root:
                raise ProviderOutsideTree(
                    f"Resource provider {uuid} would be a second root, beside {root}."
                )
            if top != root:
                raise ProviderOutsideTree(uuid=uuid, root=root, other=top)

    def levels(self) -> Iterator[list[str]]:
        """Yield the new providers, each after its parent; the root of a new tree comes alone.

        Raises TooMuchAtOnce if there are more than MOST_LEVELS levels.
        """
        new = self.change.new
        below: dict[str | None, list[str]] = {}
        for uuid in new:
            if uuid != self.change.root:
                below.setdefault(self.parents[uuid], []).append(uuid)
        level = [
            uuid
            for parent, children in below.items()
            if parent in self.members
            for uuid in children
        ]
        left, most = len(new), MOST_LEVELS
        if self.change.root in new:
            left -= 1
            most -= 1
            yield [self.change.root]
            level += below.get(self.change.root, [])
        while level:
            if not most:
                raise TooMuchAtOnce(
                    f"One write may add at most {MOST_LEVELS} levels of providers below each other."
                )
            most -= 1
            left -= len(level)
            yield level
            level = [uuid for parent in level for uuid in below.get(parent, ())]
        if left:
            raise LookupError("a parent is missing")

    def shifted(self) -> set[int]:
        """Return the ids of the stored providers that are moved, and of those below them."""
        below: dict[str, list[str]] = {}
        for uuid, parent in self.parents.items():
            if parent is not None and uuid in self.members:
                below.setdefault(parent, []).append(uuid)
        found = [self._uuids[provider_id] for provider_id in self.moved]
        seen = set(found)
        for uuid in found:
            for child in below.get(uuid, ()):
                if child not in seen:
                    seen.add(child)
                    found.append(child)
        return {self.members[uuid].id for uuid in seen}
