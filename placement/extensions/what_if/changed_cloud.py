"""Makes the changes of a request's key `if` in a snapshot (extensions.rst)."""

import functools
import uuid as uuid_module
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

import numpy as np

from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.slots import WholeSlot
from placement.domain.capacity import Inventory
from placement.domain.uuids import is_uuid_like, normalised
from placement.errors import BadRequest
from placement.extensions.what_if.as_if_released import freed
from placement.extensions.what_if.drafts import Draft, Drafts
from placement.extensions.what_if.refusals import refused_at
from placement.extensions.what_if.schema import MOST_ADDED, MOST_CHANGED
from placement.extensions.what_if.trees import provider_named, root_named, without
from placement.http.query import parse_member_of, parse_traits
from placement.http.services import Snapshots
from placement.microversions import NEWEST
from placement.operations.inventories import check_capacities
from placement.schemas.json_schema import Json
from placement.storage import holdings
from placement.storage.database.engine import Connection
from placement.storage.holdings import HeldRow

#: uuids of providers that don't exist are made of what they are like and of their name
_NAMESPACE = uuid_module.UUID("2f6d9a0e-4b53-4f0c-9a52-7f0f3f1c6c5d")

#: the fields of a `Stock` in their order
_FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")

#: returns the names of providers by uuid; those that don't exist are missing
Naming = Callable[[Iterable[str]], Mapping[str, str]]
Found = TypeVar("Found")


class WhatIf:
    """The cloud as if it were changed.

    `current` raises BadRequest for a change that can't be made, with its place.

    :param clouds: has the cloud as it is
    :param change: the value of `if`; empty: nothing is changed
    """

    def __init__(self, clouds: Snapshots, change: Json) -> None:
        self._clouds, self._change = clouds, change
        #: of each provider that doesn't exist: the uuid it is like, and the root's new name
        self._new: dict[str, tuple[str, str, str]] = {}
        #: the last answer of `before_and_after`, which holds as long as nobody wrote; with
        #: consumers that are freed it holds for good, so that a question is asked of one moment
        self._known: tuple[Snapshot, Snapshot] | None = None

    @functools.cached_property
    def freed(self) -> Collection[str]:
        """The consumers that count as if they held nothing."""
        return frozenset(map(normalised, self._change.get("freed", ())))

    @property
    def regrouped(self) -> Collection[str]:
        """The providers that may be in other aggregates, or no longer be sharing providers.

        Some may not exist: whoever makes the change refuses them.
        """
        named = [*self._change.get("aggregates", ()), *self._change.get("traits", ())]
        return {normalised(uuid) for uuid in named if is_uuid_like(uuid)}

    def current(self) -> Snapshot:
        """Return the changed cloud."""
        return self.before_and_after()[1]

    def before_and_after(self) -> tuple[Snapshot, Snapshot]:
        """Return the cloud as it is, and the changed one."""
        if not self.freed:
            before = self._clouds.current()
            if self._known is None or self._known[0] is not before:
                self._known = before, self._changed(before)
        elif self._known is None:
            before, rows = self._clouds.at_once(self._of_freed)
            self._known = before, self._changed(freed(before, rows))
        return self._known

    def at_once(self, question: Callable[[Connection, Snapshot], Found]) -> tuple[Snapshot, Found]:
        """Return the changed cloud, and the database's answer to a question, of one moment.

        :param question: is asked about the cloud as it is: the change is made when the transaction
            has ended
        """

        def ask(connection: Connection, cloud: Snapshot) -> tuple[list[HeldRow], Found]:
            return self._of_freed(connection, cloud), question(connection, cloud)

        before, (rows, found) = self._clouds.at_once(ask)
        return self._changed(freed(before, rows) if rows else before), found

    def _of_freed(self, connection: Connection, cloud: Snapshot) -> list[HeldRow]:
        if not self.freed:
            return []
        return list(holdings.of_consumers(connection, sorted(self.freed)))

    def _changed(self, cloud: Snapshot) -> Snapshot:
        if not self._change:
            return cloud
        drafts = Drafts(cloud, MOST_CHANGED)
        self._change_all(cloud, drafts)
        self._change_named(cloud, drafts)
        self._add(cloud, drafts)
        gone = [root_named(cloud, uuid, "if.without") for uuid in self._change.get("without", ())]
        changed = drafts.cloud()
        return without(changed, gone) if gone else changed

    def naming(self, known: Naming) -> Naming:
        """Return what names all providers of the changed cloud.

        :param known: names those that exist
        """

        def named(uuids: Iterable[str]) -> Mapping[str, str]:
            wanted = list(uuids)
            new = {uuid: self._new[uuid] for uuid in wanted if uuid in self._new}
            models = {each for like, root, _ in new.values() for each in (like, root)}
            names = dict(known([*(uuid for uuid in wanted if uuid not in new), *models]))
            for uuid, (like, root, name) in new.items():
                names[uuid] = name if like == root else _child(names, like, root, name)
            return names

        return named

    def _change_all(self, cloud: Snapshot, drafts: Drafts) -> None:
        wanted = self._change.get("all")
        if wanted is None:
            return
        among = cloud.forest.alive & _meeting(cloud, wanted)
        for name, fields in wanted["classes"].items():
            class_id = _class_id(cloud, name, "if.all.classes")
            column = cloud.column(class_id)
            slots = column.slots[among[column.slots]].tolist()
            for draft in drafts.of(slots):
                _set_stock(draft, class_id, name, fields, f"if.all.classes.{name}")

    def _change_named(self, cloud: Snapshot, drafts: Drafts) -> None:
        for uuid, stocks in self._change.get("inventories", {}).items():
            draft = _draft(cloud, drafts, uuid, "if.inventories")
            for name, fields in stocks.items():
                class_id = _class_id(cloud, name, f"if.inventories.{uuid}")
                _set_stock(draft, class_id, name, fields, f"if.inventories.{uuid}.{name}")
        for uuid, given in self._change.get("traits", {}).items():
            draft = _draft(cloud, drafts, uuid, "if.traits")
            place = f"if.traits.{uuid}"
            draft.traits |= _trait_ids(cloud, given.get("add", ()), f"{place}.add")
            draft.traits -= _trait_ids(cloud, given.get("remove", ()), f"{place}.remove")
        for uuid, given in self._change.get("aggregates", {}).items():
            draft = _draft(cloud, drafts, uuid, "if.aggregates")
            draft.aggregates |= drafts.aggregate_ids(map(normalised, given.get("add", ())))
            draft.aggregates -= drafts.aggregate_ids(map(normalised, given.get("remove", ())))

    def _add(self, cloud: Snapshot, drafts: Drafts) -> None:
        self._new.clear()
        for number, given in enumerate(self._change.get("add", ())):
            like = normalised(given["like"])
            root = root_named(cloud, like, "if.add")
            tree = np.flatnonzero((cloud.forest.root == root) & cloud.forest.alive).tolist()
            slots = [root, *(WholeSlot(slot) for slot in tree if slot != root)]
            count = int(given.get("count", 1))
            if len(self._new) + count * len(slots) > MOST_ADDED:
                raise BadRequest(f"if.add: at most {MOST_ADDED} providers can be added.")
            for copy in range(1, count + 1):
                name = f"{given.get('name', 'new')}-{copy}"
                models = [cloud.register.uuids[slot] for slot in slots]
                uuids = [
                    str(uuid_module.uuid5(_NAMESPACE, f"{number} {name} {each}")) for each in models
                ]
                self._new |= {
                    uuid: (model, like, name) for uuid, model in zip(uuids, models, strict=True)
                }
                drafts.add_tree(slots, uuids, given.get("empty", True))


def _child(names: Mapping[str, str], like: str, root: str, name: str) -> str:
    """Return the name of a copied child: its model's, with the new root's in place of the old."""
    model, old = names.get(like, like), names.get(root, root)
    return name + model.removeprefix(old) if model.startswith(old) else f"{name}_{model}"


def _meeting(cloud: Snapshot, wanted: Json) -> Mask:
    """Return the providers that are in the aggregate and have the traits of `if.all`."""
    among = np.ones(cloud.size, np.bool_)
    if "member_of" in wanted:
        with refused_at("if.all.member_of"):
            forbids, uuids = parse_member_of(wanted["member_of"])
        among &= cloud.is_member(cloud.aggregates(map(normalised, uuids))) ^ forbids
    if "required" in wanted:
        with refused_at("if.all.required"):
            required, forbidden = parse_traits(wanted["required"], NEWEST)
        for names in required:
            among &= cloud.has_trait(_trait_ids(cloud, names, "if.all.required"))
        among &= ~cloud.has_trait(_trait_ids(cloud, forbidden, "if.all.required"))
    return among


def _trait_ids(cloud: Snapshot, names: Iterable[str], place: str) -> set[int]:
    given = sorted(names)
    unknown = [name for name in given if name not in cloud.names.trait_ids]
    if unknown:
        raise BadRequest(f"{place}: there is no trait {unknown[0]!r}.")
    return {cloud.names.trait_ids[name] for name in given}


def _draft(cloud: Snapshot, drafts: Drafts, uuid: str, place: str) -> Draft:
    return drafts.of([provider_named(cloud, uuid, place)])[0]


def _class_id(cloud: Snapshot, name: str, place: str) -> int:
    found = cloud.names.class_ids.get(name)
    if found is None:
        raise BadRequest(f"{place}: there is no resource class {name!r}.")
    return found


def _set_stock(draft: Draft, class_id: int, name: str, fields: Json, place: str) -> None:
    """Change an inventory, or add one. Raises BadRequest, with the place."""
    known = draft.stocks.get(class_id)
    if known is None and "total" not in fields:
        raise BadRequest(
            f"{place}: resource provider {draft.uuid} has no {name}: a new inventory needs a total."
        )
    before = {} if known is None else dict(zip(_FIELDS, known, strict=True))
    inventory = Inventory(**{**before, **fields})
    with refused_at(place):
        check_capacities({draft.uuid: {name: inventory}}, may_be_full=True)
    draft.stocks[class_id] = (
        int(inventory.total),
        int(inventory.reserved),
        int(inventory.min_unit),
        int(inventory.max_unit),
        int(inventory.step_size),
        float(inventory.allocation_ratio),
    )
