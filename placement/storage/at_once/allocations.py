"""Writes of allocations in one message (see `statement`).

What a write of allocations reads decides only whether it is refused, and what it creates first. If
the consumers and their owners are as requested, they hold nothing of providers that no request
names, and everything fits, then nothing has to be read to know what to store. Three statements are
enough, in one message with BEGIN and COMMIT:

1. lock the consumers that are to be known, and note which ones were found;
2. lock the requested providers;
3. check all that, and write.

The third must not be one with the locks: a statement sees the database as it was when it began,
so its sums would lack what was stored while it waited for a lock. In any other case it writes
nothing and finds no row, and the usual way finds out what the case is.
"""

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from placement.domain.capacity import fits
from placement.domain.consumer import ConsumerRequest, Unchecked
from placement.storage import providers
from placement.storage.at_once.statement import (
    LARGEST,
    LOCKED,
    NOW,
    array,
    bumped,
    changes,
    count,
    end,
    in_one_text,
    inserting,
    lock_consumers,
    rows,
    telling,
)
from placement.storage.database.compiled import Compiled
from placement.storage.database.connection import Connection
from placement.storage.driver.list_parameters import among
from placement.storage.feed.feed_kinds import ChangeKind
from placement.storage.resource_classes import are_standard, ids_of
from placement.storage.tables import (
    allocations,
    consumer_types,
    consumers,
    inventories,
    projects,
    resource_providers,
    users,
)

#: requests with more consumers or allocations than these are written the usual way
MOST_CONSUMERS = 20
MOST_ENTRIES = 100


_NAMED = among(resource_providers.c.uuid, "named")
_ASKER = rows(
    "asker",
    uuid=("askers", sa.String),
    generation=("generations", sa.Integer),
    project=("projects", sa.String),
    user_=("users", sa.String),
    type_=("types", sa.String),
)
_WANTED = rows(
    "wanted",
    consumer=("consumers", sa.String),
    provider=("providers", sa.String),
    class_id=("classes", sa.Integer),
    amount=("amounts", sa.Integer),
)


def _known_owners() -> sa.Select[Any]:
    """Return the requested owners of each consumer; what has an unknown one is missing."""
    return (
        sa.select(
            _ASKER.c.uuid,
            projects.c.id.label("project_id"),
            users.c.id.label("user_id"),
            consumer_types.c.id.label("type_id"),
        )
        .select_from(
            _ASKER.join(projects, projects.c.external_id == _ASKER.c.project)
            .join(users, users.c.external_id == _ASKER.c.user_)
            .outerjoin(consumer_types, consumer_types.c.name == _ASKER.c.type_)
        )
        # a request without a type leaves it as it is
        .where(
            sa.or_(_ASKER.c.type_.is_(None), consumer_types.c.id.is_not(None)),
            # with these, PostgreSQL finds single rows by their index, however large a table may get
            among(projects.c.external_id, "project_names"),
            among(users.c.external_id, "user_names"),
        )
    )


def _known() -> sa.Select[Any]:
    """Return each consumer that has the requested generation and owners, or is new."""
    same = sa.and_(
        consumers.c.project_id == projects.c.id,
        consumers.c.user_id == users.c.id,
        sa.or_(_ASKER.c.type_.is_(None), consumers.c.consumer_type_id == consumer_types.c.id),
    )
    return (
        _known_owners()
        .add_columns(consumers.c.id)
        .outerjoin(
            consumers,
            sa.and_(consumers.c.uuid == _ASKER.c.uuid, among(consumers.c.uuid, "uuids")),
        )
        .where(
            consumers.c.generation.is_not_distinct_from(_ASKER.c.generation),
            sa.or_(consumers.c.id.is_(None), same),
        )
    )


def _room(are_new: bool) -> sa.Select[Any]:
    """Return each requested allocation that has an inventory, and whether it fits."""
    stock = (
        sa.select(inventories, resource_providers.c.uuid)
        .join(resource_providers, inventories.c.resource_provider_id == resource_providers.c.id)
        .where(among(resource_providers.c.uuid, "named"))
        # read by itself: joined with what is wanted, PostgreSQL may begin with all providers of a
        # class
        .cte("stock")
        .prefix_with("MATERIALIZED")
    )
    used = sa.select(sa.func.coalesce(sa.func.sum(allocations.c.used), 0)).where(
        allocations.c.resource_provider_id == stock.c.resource_provider_id,
        allocations.c.resource_class_id == stock.c.resource_class_id,
    )
    if not are_new:
        used = used.where(sa.not_(among(allocations.c.consumer_id, "uuids")))
    by_others = used.correlate(stock).scalar_subquery()
    # all that the request takes of a slot, this amount included
    together = sa.func.sum(_WANTED.c.amount).over(partition_by=stock.c.id)
    before = together - _WANTED.c.amount
    return sa.select(
        _WANTED.c.consumer,
        stock.c.resource_provider_id.label("provider_id"),
        _WANTED.c.class_id,
        _WANTED.c.amount,
        fits(stock.c, by_others, _WANTED.c.amount, before).label("fits"),
    ).select_from(
        _WANTED.join(
            stock,
            sa.and_(
                stock.c.uuid == _WANTED.c.provider,
                stock.c.resource_class_id == _WANTED.c.class_id,
            ),
        )
    )


@functools.cache
def _write(creates: bool, keeps: bool, empties: bool) -> Compiled:
    """Return the statement that checks and writes, and finds a row if it has written.

    It has no part that a request doesn't need: PostgreSQL would set that up all the same.

    :param creates: whether some of the consumers have to be new
    :param keeps: whether some have to be known, and hold something else afterwards
    :param empties: whether some have to be known, and lose all
    """
    are_new = not (keeps or empties)
    known = (_known_owners() if are_new else _known()).cte("known")
    room = _room(are_new).cte("room")
    held = sa.select(allocations.c.resource_provider_id, allocations.c.consumer_id).where(
        among(allocations.c.consumer_id, "uuids")
    )
    conditions = [
        count(known) == sa.func.cardinality(array("askers", sa.String)),
        count(room, room.c.fits) == sa.func.cardinality(array("amounts", sa.Integer)),
    ]
    if are_new:
        # very old allocations have no consumer
        stored = sa.select(consumers.c.id).where(among(consumers.c.uuid, "uuids"))
        conditions += [~sa.exists(stored), ~sa.exists(held)]
    else:
        old: Any = held.cte("held")
        elsewhere = old.c.resource_provider_id.not_in(sa.select(room.c.provider_id))
        conditions += [
            # a consumer that was stored after the locks isn't locked
            sa.select(in_one_text(known.c.id)).where(known.c.id.is_not(None)).scalar_subquery()
            == LOCKED,
            # nor is a provider that isn't requested
            ~sa.exists().where(elsewhere),
        ]
    new = known
    if creates and not are_new:
        new = sa.select(known).where(known.c.id.is_(None)).cte("new")
        conditions.append(~sa.exists().where(old.c.consumer_id == new.c.uuid))
    if empties:
        losing = sa.select(sa.func.count(old.c.consumer_id.distinct()))
        number = losing.where(among(old.c.consumer_id, "emptied")).scalar_subquery()
        conditions.append(number == sa.bindparam("number_emptied", type_=sa.Integer))
    taken, appending = _telling(*conditions)
    so = taken.c.id.is_not(None)
    writes = [
        _stored(room, so).cte("stored"),
        bumped(resource_providers, _NAMED, so).cte("bumped"),
        appending,
    ]
    if creates:
        writes.append(_created(new, so).cte("created"))
    if not are_new:
        gone = sa.delete(allocations).where(among(allocations.c.consumer_id, "uuids"), so)
        writes.append(gone.cte("gone"))
    if keeps:
        writes.append(bumped(consumers, among(consumers.c.uuid, "kept"), so).cte("kept"))
    if empties:
        nobody = sa.delete(consumers).where(among(consumers.c.uuid, "emptied"), so)
        writes.append(nobody.cte("nobody"))
    return Compiled(sa.select(taken.c.id).add_cte(*writes))


def _telling(*conditions: sa.ColumnElement[bool]) -> tuple[sa.CTE, sa.CTE]:
    """Return the lane that the write takes if these conditions hold, and what appends there."""
    node = sa.select(resource_providers.c.id.label("provider_id")).where(_NAMED).subquery("node")
    place = sa.func.row_number().over(order_by=node.c.provider_id)
    changed = changes(node, ChangeKind.USAGE, place).cte("changed")
    return telling(changed, sa.bindparam("number", type_=sa.BigInteger), *conditions)


def _created(new: sa.CTE, so: sa.ColumnElement[bool]) -> sa.Insert:
    new_rows = sa.select(
        NOW.label("created_at"),
        new.c.uuid,
        new.c.project_id,
        new.c.user_id,
        new.c.type_id.label("consumer_type_id"),
        sa.literal_column("1").label("generation"),
    )
    # sorted, so that writers of the same new consumers can't deadlock
    return inserting(consumers, new_rows.where(so).order_by(new.c.uuid))


def _stored(room: sa.CTE, so: sa.ColumnElement[bool]) -> sa.Insert:
    new_rows = sa.select(
        NOW.label("created_at"),
        room.c.provider_id.label("resource_provider_id"),
        room.c.consumer.label("consumer_id"),
        room.c.class_id.label("resource_class_id"),
        room.c.amount.label("used"),
    )
    return inserting(allocations, new_rows.where(so))


def suit(connection: Connection, requests: Sequence[ConsumerRequest]) -> bool:
    """Return whether these requests may be given to `write`."""
    if not connection.assumes or not 0 < len(requests) <= MOST_CONSUMERS:
        return False
    return (
        all(map(_has_storable_numbers, requests))
        # a new consumer that holds nothing is refused, or isn't stored
        and all(request.allocations or request.generation is not None for request in requests)
        and any(request.allocations for request in requests)
        and len({request.uuid for request in requests}) == len(requests)
        and sum(1 for _ in _names(requests)) <= MOST_ENTRIES
        and are_standard(_names(requests))
    )


def _has_storable_numbers(request: ConsumerRequest) -> bool:
    generation = request.generation or 0
    amounts = (
        amount for resources in request.allocations.values() for amount in resources.values()
    )
    return not isinstance(generation, Unchecked) and all(
        abs(number) <= LARGEST for number in (generation, *amounts)
    )


def write(connection: Connection, requests: Sequence[ConsumerRequest]) -> None:
    """Replace the allocations of each requested consumer; raise Unusual at the end if it can't."""
    named = list(dict.fromkeys(uuid for request in requests for uuid in request.allocations))
    uuids = [request.uuid for request in requests]
    emptied = [request.uuid for request in requests if not request.allocations]
    kept = [
        request.uuid
        for request in requests
        if request.allocations and request.generation is not None
    ]
    if kept or emptied:
        lock_consumers(connection, [*kept, *emptied])
    lock = providers.lock_question(connection, named)
    assert lock is not None
    connection.later(*lock)
    class_ids = ids_of(connection, _names(requests))
    entries = [
        (request.uuid, provider, class_ids[name], amount)
        for request in requests
        for provider, resources in request.allocations.items()
        for name, amount in resources.items()
    ]
    values = {
        "uuids": uuids,
        "named": named,
        "project_names": list({request.project for request in requests}),
        "user_names": list({request.user for request in requests}),
        "askers": uuids,
        "generations": [request.generation for request in requests],
        "projects": [request.project for request in requests],
        "users": [request.user for request in requests],
        "types": [request.type_name for request in requests],
        "consumers": [consumer for consumer, _, _, _ in entries],
        "providers": [provider for _, provider, _, _ in entries],
        "classes": [class_id for _, _, class_id, _ in entries],
        "amounts": [amount for _, _, _, amount in entries],
        "kept": kept,
        "emptied": emptied,
        "number_emptied": len(emptied),
        "number": len(named),
    }
    creates = len(kept) + len(emptied) < len(requests)
    write = _write(creates, bool(kept), bool(emptied))
    end(connection, write, values, repeatable=not (kept or emptied))


def _names(requests: Sequence[ConsumerRequest]) -> Iterator[str]:
    """Yield the class of each requested allocation."""
    for request in requests:
        yield from itertools.chain.from_iterable(request.allocations.values())
