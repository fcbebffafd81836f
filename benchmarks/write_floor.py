"""The floor of writes: the smallest transactions that do the same, behind Flask routes.

Each is written by hand for the driver itself. It reads, checks the rules, writes one statement per
table and appends the change feed. No lock is taken to read: a generation that was read is part of
the condition of the update that increments it. Nothing is validated, and names and ids that don't
change are known from the start. Everything else that a service does is what is above the floor.
"""

import contextlib
import datetime
import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import flask

application = flask.Flask("write_floor")

#: kinds of changes in the feed
INVENTORY, USAGE, TRAITS = 2, 4, 8
SLOTS = (
    "SELECT p.id, p.generation, i.resource_class_id, i.total, i.reserved, i.min_unit, i.max_unit, "
    "i.step_size, i.allocation_ratio, (SELECT COALESCE(SUM(a.used), 0) FROM allocations a "
    "WHERE a.resource_provider_id = p.id AND a.resource_class_id = i.resource_class_id "
    "AND a.consumer_id <> %s) "
    "FROM resource_providers p JOIN inventories i ON i.resource_provider_id = p.id "
    "WHERE p.uuid = %s"
)
BUMP = (
    "UPDATE resource_providers SET generation = generation + 1, updated_at = %s "
    "WHERE id = %s AND generation = %s"
)
NEW_CONSUMER = (
    "INSERT INTO consumers (created_at, uuid, project_id, user_id, consumer_type_id, generation) "
    "VALUES (%s, %s, %s, %s, %s, 1)"
)
BUMP_CONSUMER = (
    "UPDATE consumers SET generation = generation + 1, updated_at = %s "
    "WHERE uuid = %s AND generation = %s"
)
DELETE_CONSUMER = "DELETE FROM consumers WHERE uuid = %s AND generation = %s"
DELETE_ALLOCATIONS = "DELETE FROM allocations WHERE consumer_id = %s"
NEW_ALLOCATIONS = (
    "INSERT INTO allocations "
    "(created_at, resource_provider_id, consumer_id, resource_class_id, used) VALUES "
)
STOCK = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
NEW_INVENTORIES = (
    "INSERT INTO inventories (created_at, updated_at, resource_provider_id, resource_class_id, "
    f"{', '.join(STOCK)}) VALUES "
)
UPSERT = (
    " ON CONFLICT (resource_provider_id, resource_class_id) DO UPDATE SET "
    "updated_at = excluded.updated_at, "
) + ", ".join(f"{name} = excluded.{name}" for name in STOCK)
MYSQL_UPSERT = " ON DUPLICATE KEY UPDATE updated_at = VALUES(updated_at), " + ", ".join(
    f"{name} = VALUES({name})" for name in STOCK
)
PROVIDER_TRAITS = (
    "SELECT p.id, p.generation, t.trait_id FROM resource_providers p "
    "LEFT JOIN resource_provider_traits t ON t.resource_provider_id = p.id WHERE p.uuid = %s"
)
NEW_TRAITS = (
    "INSERT INTO resource_provider_traits (created_at, resource_provider_id, trait_id) VALUES "
)
DELETE_TRAITS = (
    "DELETE FROM resource_provider_traits WHERE resource_provider_id = %s AND trait_id IN "
)
#: PostgreSQL advances a lane and appends the feed with one statement
FEED = (
    "WITH lane AS (UPDATE berth_change_lanes SET position = position + 1, before = mark, mark = %s "
    "WHERE home = 0 AND id = (SELECT id FROM berth_change_lanes WHERE home = 0 ORDER BY id LIMIT 1 "
    "FOR UPDATE SKIP LOCKED) RETURNING id, position, before) "
    "INSERT INTO berth_provider_changes "
    "(created_at, resource_provider_id, kind, lane, position, before) "
    "SELECT %s::timestamp, %s::integer, %s::smallint, id, position, before FROM lane"
)
#: the others need two; this worker always uses the same lane
ADVANCE = (
    "UPDATE berth_change_lanes SET position = position + 1, `before` = mark, mark = %s "
    "WHERE home = 0 AND id = %s"
)
APPEND = (
    "INSERT INTO berth_provider_changes "
    "(created_at, resource_provider_id, kind, lane, position, `before`) "
    "SELECT %s, %s, %s, id, position, `before` FROM berth_change_lanes WHERE home = 0 AND id = %s"
)

Execute = Callable[..., Any]


class Lost(Exception):
    """Another writer was first."""


class FloorDatabase:
    """One connection of a driver, and what never changes in its database."""

    def __init__(self, url: str) -> None:
        self.kind = url.partition(":")[0]
        connect = {"sqlite": _sqlite, "postgresql": _postgresql, "mysql": _mysql}[self.kind]
        self._connection = connect(url)
        #: SQLite begins a transaction when told; the drivers of the others do it themselves
        self._begin = "BEGIN IMMEDIATE" if self.kind == "sqlite" else ""
        with self.transaction() as execute:
            self.classes = _numbers(execute, "SELECT name, id FROM resource_classes")
            self.traits = _numbers(execute, "SELECT name, id FROM traits")
            self.projects = _numbers(execute, "SELECT external_id, id FROM projects")
            self.users = _numbers(execute, "SELECT external_id, id FROM users")
            self.types = _numbers(execute, "SELECT name, id FROM consumer_types")
            lanes = execute("SELECT id FROM berth_change_lanes WHERE home = 0 ORDER BY id")
            self._lane = lanes.fetchall()[0][0]

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Execute]:
        """Yield what executes a statement and returns its cursor; commit, or roll back."""
        cursor = self._connection.cursor()
        if self._begin:
            cursor.execute(self._begin)

        def execute(statement: str, *values: Any) -> Any:
            if self.kind == "sqlite":
                statement = statement.replace("%s", "?")
            cursor.execute(statement, values)
            return cursor

        try:
            yield execute
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise
        finally:
            cursor.close()

    def append(self, execute: Execute, provider: int, kind: int, now: Any) -> None:
        """Append to the change feed."""
        mark = secrets.randbits(48)
        if self.kind == "postgresql":
            execute(FEED, mark, now, provider, kind)
        else:
            execute(ADVANCE, mark, self._lane)
            execute(APPEND, now, provider, kind, self._lane)

    def now(self) -> Any:
        """Return the time as the database stores it."""
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        return str(now) if self.kind == "sqlite" else now


def _sqlite(url: str) -> Any:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    # as the service sets them
    for pragma in ("journal_mode = WAL", "cache_size = -16384", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _postgresql(url: str) -> Any:
    import psycopg

    return psycopg.connect(url)


def _mysql(url: str) -> Any:
    import pymysql

    parts = urlsplit(url)
    connection = pymysql.connect(
        unix_socket=parse_qs(parts.query)["unix_socket"][0],
        user=parts.username,
        database=parts.path.strip("/"),
        charset="utf8mb4",
    )
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    return connection


def _numbers(execute: Execute, statement: str) -> dict[str, int]:
    return {name: number for name, number in execute(statement).fetchall()}


_opened: list[FloorDatabase] = []


def database() -> FloorDatabase:
    """Return this worker's connection."""
    if not _opened:
        _opened.append(FloorDatabase(os.environ["FLOOR_CONNECTION"]))
    return _opened[0]


def only(cursor: Any) -> None:
    """Raise Lost unless a statement changed one row."""
    if cursor.rowcount != 1:
        raise Lost


def rows(count: int, columns: int) -> str:
    """Return places for the values of so many rows."""
    return ", ".join([f"({', '.join(['%s'] * columns)})"] * count)


def claim(
    held: FloorDatabase, execute: Execute, consumer: str, allocations: Mapping[str, Any], now: Any
) -> None:
    """Store a consumer's allocations if there is room for them."""
    for provider, asked in allocations.items():
        wanted = {held.classes[name]: amount for name, amount in asked["resources"].items()}
        slots = execute(SLOTS, consumer, provider).fetchall()
        room = {slot[2]: slot[3:] for slot in slots}
        for class_id, amount in wanted.items():
            total, reserved, least, most, step, ratio, used = room[class_id]
            fits = used + amount <= (total - reserved) * ratio
            if not fits or not least <= amount <= most or amount % step:
                raise ValueError(f"no room: {room[class_id]}")
        number, generation = slots[0][:2]
        only(execute(BUMP, now, number, generation))
        values = [value for item in wanted.items() for value in (now, number, consumer, *item)]
        execute(NEW_ALLOCATIONS + rows(len(wanted), 5), *values)
        held.append(execute, number, USAGE, now)


def write(
    held: FloorDatabase, execute: Execute, consumer: str, body: Mapping[str, Any], now: Any
) -> None:
    """Write one consumer's request."""
    generation = body["consumer_generation"]
    if generation is None:
        owner = (
            held.projects[body["project_id"]],
            held.users[body["user_id"]],
            held.types[body["consumer_type"]],
        )
        execute(NEW_CONSUMER, now, consumer, *owner)
    elif body["allocations"]:
        only(execute(BUMP_CONSUMER, now, consumer, generation))
        execute(DELETE_ALLOCATIONS, consumer)
    else:
        only(execute(DELETE_CONSUMER, consumer, generation))
        execute(DELETE_ALLOCATIONS, consumer)
    claim(held, execute, consumer, body["allocations"], now)


def done(body: Any = None) -> flask.Response:
    """Return the response."""
    if body is None:
        return flask.Response(status=204)
    return flask.Response(json.dumps(body), mimetype="application/json")


def sent() -> Any:
    """Return the body of the request."""
    return json.loads(flask.request.data)


@application.put("/allocations/<consumer>")
def put_allocations(consumer: str) -> flask.Response:
    """Claim for a new consumer, or replace what one has."""
    held = database()
    with held.transaction() as execute:
        write(held, execute, consumer, sent(), held.now())
    return done()


@application.post("/allocations")
def post_allocations() -> flask.Response:
    """Write the allocations of several consumers; those that become empty stand first."""
    held = database()
    with held.transaction() as execute:
        now = held.now()
        for consumer, body in sent().items():
            write(held, execute, consumer, body, now)
    return done()


@application.put("/resource_providers/<provider>/inventories")
def put_inventories(provider: str) -> flask.Response:
    """Replace a provider's inventories; none goes away and what is in use stays."""
    held, body = database(), sent()
    with held.transaction() as execute:
        now = held.now()
        slots = execute(SLOTS, "", provider).fetchall()
        stock = {held.classes[name]: record for name, record in body["inventories"].items()}
        if any(slot[2] not in stock for slot in slots):
            raise ValueError("an inventory would go away")
        number, generation = slots[0][:2]
        if generation != body["resource_provider_generation"]:
            raise Lost
        only(execute(BUMP, now, number, generation))
        values: list[Any] = []
        for class_id, record in stock.items():
            values += (now, now, number, class_id, *_record(record))
        upsert = MYSQL_UPSERT if held.kind == "mysql" else UPSERT
        execute(NEW_INVENTORIES + rows(len(stock), 10) + upsert, *values)
        held.append(execute, number, INVENTORY, now)
    return done(body)


def _record(record: Mapping[str, Any]) -> Sequence[Any]:
    defaults = {"reserved": 0, "min_unit": 1, "max_unit": 2**31 - 1, "step_size": 1}
    given = {**defaults, "allocation_ratio": 1.0, **record}
    return [given[name] for name in STOCK]


@application.put("/resource_providers/<provider>/traits")
def put_traits(provider: str) -> flask.Response:
    """Replace a provider's traits."""
    held, body = database(), sent()
    with held.transaction() as execute:
        now = held.now()
        found = execute(PROVIDER_TRAITS, provider).fetchall()
        number, generation, _ = found[0]
        if generation != body["resource_provider_generation"]:
            raise Lost
        only(execute(BUMP, now, number, generation))
        before = {row[2] for row in found} - {None}
        wanted = {held.traits[name] for name in body["traits"]}
        if gone := before - wanted:
            execute(DELETE_TRAITS + rows(1, len(gone)), number, *gone)
        if new := wanted - before:
            values = [value for trait in new for value in (now, number, trait)]
            execute(NEW_TRAITS + rows(len(new), 3), *values)
        held.append(execute, number, TRAITS, now)
    return done(body)
