"""Move all that a host has to another root: for a host that came back under another uuid or name.

Placement can't change the uuid of a provider. So a root with the new uuid is made under a name of
its own, one reshape moves inventory and allocations of the root, the children get a new parent, the
empty provider is deleted, and the new root gets the name. Children keep uuids and allocations. Each
step leaves something from which a later run goes on. As long as the new root has not its name, no
agent reports it: it would report a host without guests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from requests import Response

from compute import exceptions
from compute.maintenance.adopt.adoption_inventory import held_afterwards, joined, merged
from compute.maintenance.adopt.adoption_reads import (
    Identity,
    Situation,
    provisional,
    read_situation,
)
from compute.maintenance.provider_details import ProviderDetails
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.kept_inventory import KEPT, restored
from compute.report import SchedulerReportClient
from compute.report.trees.reshaper import Inventories
from compute.report.wire.context import RequestContext
from compute.report.wire.failures import Refusal

#: the first microversion at which a provider may get another parent
REPARENTING = "1.37"


@dataclass(frozen=True)
class AdoptionStep:
    """One write. `kind` and `provider` are for programs, `text` is for people."""

    kind: str
    provider: str
    text: str
    apply: Callable[[], None]


class Adoption:
    """Moves all that one host has to another root.

    All methods raise AdoptionRefused if the two trees can't become one, ResourceProviderNotFound,
    ResourceProviderRetrievalFailed, ConsumerAllocationRetrievalFailed, ReshapeFailed if placement
    refuses this user to reshape, and ClientException if placement is unreachable.
    """

    def __init__(
        self, client: SchedulerReportClient, context: RequestContext, identity: Identity
    ) -> None:
        self._client = client
        self._context = context
        self._identity = identity

    def run(self, done: Callable[[AdoptionStep], None]) -> None:
        """Take all steps; call `done` after each.

        Raises ResourceProviderUpdateConflict or PlacementReshapeConflict if another writer changed
        a provider of a step: another call goes on from there. Raises ResourceProviderUpdateFailed,
        ReshapeFailed or ReshapeUnanswered if placement refuses a step.
        """
        for step in self.steps():
            step.apply()
            done(step)

    def steps(self) -> Iterator[AdoptionStep]:
        """Yield the steps from what there is now; later ones follow from the state before them."""
        identity = self._identity
        situation = read_situation(self._client, self._context, identity)
        if situation.source is None:
            yield from self._narrowed_all(situation.target)
            yield from self._renamed(situation.target)
            return
        pairs = situation.pairs(identity)
        if any(one.inventories or one.holders for one in situation.source if one.uuid in pairs):
            self._client.reshaper.ask_permission(self._context)
        if not situation.target:
            yield self._created(provisional(situation.source[0].uuid))
        yield from self._properties(situation, pairs)
        widened: list[str] = []
        yield from self._reshaped(situation, pairs, widened)
        yield from self._reparented(situation, pairs)
        for one in reversed(situation.source):
            if one.uuid in pairs:
                yield self._deleted(one)
        if situation.target:
            # an earlier run may have been told another name
            yield from self._renamed(situation.target)
        else:
            before = provisional(situation.source[0].uuid)
            yield self._named(identity.uuid, before, identity.wanted)
        # last, because an agent can do it, too, once the root has its name
        yield from map(self._narrowed, widened)

    def _renamed(self, tree: Sequence[ProviderDetails]) -> Iterator[AdoptionStep]:
        """Give a tree that has the uuid already its new names."""
        root, *below = tree
        if root.name != self._identity.wanted:
            yield self._named(root.uuid, root.name, self._identity.wanted)
        for one in below:
            if (name := self._identity.child_name(one.name)) != one.name:
                yield self._child(one, name, one.parent_uuid)

    def _named(self, uuid: str, before: str, name: str) -> AdoptionStep:
        return AdoptionStep(
            "rename",
            uuid,
            f"Provider {uuid} is called {name}, no longer {before}",
            lambda: self._put(f"/resource_providers/{uuid}", {"name": name}, "1.0", uuid),
        )

    def _created(self, name: str) -> AdoptionStep:
        uuid = self._identity.uuid

        def create() -> None:
            response = self._client.post(
                "/resource_providers",
                {"uuid": uuid, "name": name},
                version="1.20",
                global_request_id=self._context.global_id,
            )
            self._check(response, "/resource_providers", uuid)

        return AdoptionStep("create", uuid, f"Provider {uuid} is called {name}", create)

    def _properties(
        self, situation: Situation, pairs: Mapping[str, ProviderDetails | None]
    ) -> Iterator[AdoptionStep]:
        """Add traits and aggregates, before anybody can claim there."""
        for one in situation.source or ():
            if one.uuid not in pairs:
                continue
            twin = pairs[one.uuid]
            for what, version, wanted, known in (
                ("traits", "1.6", one.traits, twin.traits if twin else []),
                ("aggregates", "1.19", one.aggregates, twin.aggregates if twin else []),
            ):
                if not set(wanted) <= set(known):
                    yield self._added(what, version, self._uuid_of(twin), wanted, one)

    def _uuid_of(self, twin: ProviderDetails | None) -> str:
        return self._identity.uuid if twin is None else twin.uuid

    def _added(
        self, what: str, version: str, uuid: str, more: Sequence[str], source: ProviderDetails
    ) -> AdoptionStep:
        def add() -> None:
            url = f"/resource_providers/{uuid}/{what}"
            now = self._get(url, version, uuid)
            body = {
                what: sorted({*now[what], *more}),
                "resource_provider_generation": now["resource_provider_generation"],
            }
            self._put(url, body, version, uuid)

        return AdoptionStep(what, uuid, f"Provider {uuid} has the {what} of {source.uuid}", add)

    def _reshaped(
        self,
        situation: Situation,
        pairs: Mapping[str, ProviderDetails | None],
        widened: list[str],
    ) -> Iterator[AdoptionStep]:
        """Move inventory and allocations of all pairs at once.

        :param widened: gets the providers whose inventory has to be set back afterwards
        """
        sources = [one for one in situation.source or () if one.uuid in pairs]
        if not any(one.inventories or one.holders for one in sources):
            yield from self._narrowed_all(situation.target)
            return
        consumers = sorted({holder for one in sources for holder in one.holders})
        moved = {one.uuid: self._uuid_of(pairs[one.uuid]) for one in sources}
        target = {self._identity.uuid, *(one.uuid for one in situation.target)}
        held = held_afterwards((*sources, *situation.target), moved, target)
        news = [merged(one, pairs[one.uuid], held.get(moved[one.uuid], {})) for one in sources]
        twice = {holder for one in situation.target for holder in one.holders} & {*consumers}

        def reshape() -> None:
            inventories: Inventories = {}
            for one, new in zip(sources, news, strict=True):
                # The generation of the source is that at which it was read: a claim that landed
                # since is a conflict, and comes along the next time.
                inventories[one.uuid] = {
                    "inventories": {},
                    "resource_provider_generation": one.generation,
                }
                inventories[moved[one.uuid]] = {
                    "inventories": new,
                    "resource_provider_generation": self._generation_for(
                        pairs[one.uuid], moved[one.uuid]
                    ),
                }
            allocations = self._allocations(consumers, moved, target)
            try:
                self._client.reshaper.reshape(self._context, inventories, allocations)
            except (exceptions.ReshapeUnanswered, exceptions.PlacementReshapeConflict):
                raise
            except exceptions.ReshapeFailed as failed:
                if self._is_as(situation):
                    raise
                # another run was quicker, or somebody took the room that was free in the target
                raise _conflict(sources[0].uuid, 0, str(failed)) from failed

        many = len(consumers)
        text = f"Inventory and allocations of {many} consumer{'' if many == 1 else 's'} are moved"
        if twice:
            hold = "holds" if len(twice) == 1 else "hold"
            text += f"; what {len(twice)} of them {hold} of both counts once"
        yield AdoptionStep("reshape", self._identity.uuid, text, reshape)
        new_of = {moved[one.uuid]: new for one, new in zip(sources, news, strict=True)}
        for one in (*situation.target, *(situation.source or ())):
            if one.uuid not in pairs:
                new_of.setdefault(one.uuid, dict(one.inventories))
        widened += [uuid for uuid, new in new_of.items() if _is_widened(new)]

    def _generation_for(self, twin: ProviderDetails | None, uuid: str) -> int:
        """Return the generation at which the target's inventory is as it was read."""
        now = self._get(f"/resource_providers/{uuid}/inventories", "1.0", uuid)
        generation: int = now["resource_provider_generation"]
        if now["inventories"] != ({} if twin is None else dict(twin.inventories)):
            raise _conflict(uuid, generation, "its inventory changed meanwhile")
        return generation

    def _is_as(self, before: Situation) -> bool:
        """Say whether providers, inventories and holders are as they were when read before."""
        now = read_situation(self._client, self._context, self._identity)
        return _contents(now) == _contents(before)

    def _allocations(
        self, consumers: list[str], moved: Mapping[str, str], target: Collection[str]
    ) -> Allocations:
        """Return all that the consumers hold, with targets in the place of sources."""
        found: Allocations = {}
        for consumer in consumers:
            body = self._client.allocations.of_consumer(self._context, consumer)
            if not body["allocations"]:
                raise _conflict(next(iter(moved)), 0, f"consumer {consumer} left meanwhile")
            held = joined(body["allocations"], moved, target)
            parts = {provider: {"resources": amounts} for provider, amounts in held.items()}
            found[consumer] = {**body, "allocations": parts}
        return found

    def _narrowed_all(self, tree: Sequence[ProviderDetails]) -> Iterator[AdoptionStep]:
        """Set what an earlier run widened and could not set back."""
        yield from (self._narrowed(one.uuid) for one in tree if _is_widened(one.inventories))

    def _narrowed(self, uuid: str) -> AdoptionStep:
        def narrow() -> None:
            url = f"/resource_providers/{uuid}/inventories"
            now = self._get(url, "1.0", uuid)
            if not _is_widened(now["inventories"]):
                # the agent or another run was quicker
                return
            body = {
                "inventories": restored(now["inventories"]),
                "resource_provider_generation": now["resource_provider_generation"],
            }
            self._put(url, body, "1.26", uuid)

        return AdoptionStep(
            "inventory", uuid, f"Provider {uuid} has the inventory that it had", narrow
        )

    def _reparented(
        self, situation: Situation, pairs: Mapping[str, ProviderDetails | None]
    ) -> Iterator[AdoptionStep]:
        """Give children their new parent and name; what is below them comes along."""
        for one in (situation.source or ())[1:]:
            if one.uuid in pairs:
                continue
            name, parent = self._identity.child_name(one.name), one.parent_uuid
            if parent is not None and parent in pairs:
                parent = self._uuid_of(pairs[parent])
            if (name, parent) != (one.name, one.parent_uuid):
                yield self._child(one, name, parent)

    def _child(self, one: ProviderDetails, name: str, parent: str | None) -> AdoptionStep:
        body = {"name": name, "parent_provider_uuid": parent}
        return AdoptionStep(
            "child",
            one.uuid,
            f"Child {name} ({one.uuid}) is below {parent}",
            lambda: self._put(f"/resource_providers/{one.uuid}", body, REPARENTING, one.uuid),
        )

    def _deleted(self, one: ProviderDetails) -> AdoptionStep:
        def delete() -> None:
            url = f"/resource_providers/{one.uuid}"
            response = self._client.delete(
                url, version="1.0", global_request_id=self._context.global_id
            )
            if response.status_code != 404:
                self._check(response, url, one.uuid)

        return AdoptionStep("delete", one.uuid, f"Provider {one.uuid} is deleted", delete)

    def _get(self, url: str, version: str, uuid: str) -> dict[str, Any]:
        response = self._client.get(url, version=version, global_request_id=self._context.global_id)
        self._check(response, url, uuid)
        found: dict[str, Any] = response.json()
        return found

    def _put(self, url: str, body: Mapping[str, object], version: str, uuid: str) -> None:
        response = self._client.put(
            url, body, version=version, global_request_id=self._context.global_id
        )
        self._check(response, url, uuid)

    def _check(self, response: Response, url: str, uuid: str) -> None:
        if response.status_code < 400:
            return
        if response.status_code in (404, 409):
            raise _conflict(uuid, 0, response.text) from Refusal(response)
        raise exceptions.ResourceProviderUpdateFailed(url=url, error=response.text) from Refusal(
            response
        )


def _is_widened(inventories: Iterable[str]) -> bool:
    return any(name.startswith(KEPT) for name in inventories)


def _contents(situation: Situation) -> dict[str, tuple[object, object]]:
    return {
        one.uuid: (one.inventories, one.holders)
        for one in (*(situation.source or ()), *situation.target)
        if one.inventories or one.holders
    }


def _conflict(uuid: str, generation: int, error: str) -> exceptions.ResourceProviderUpdateConflict:
    return exceptions.ResourceProviderUpdateConflict(uuid=uuid, generation=generation, error=error)
