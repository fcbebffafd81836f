"""Aggregates and their members. Their uuids are stored as the client spelled them."""

from collections.abc import Collection, Iterable, Mapping

import sqlalchemy as sa

from placement.storage import stored_names
from placement.storage.database.compiled import Compiled
from placement.storage.database.connection import Question, StatementResult
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.list_parameters import among, parts
from placement.storage.of_provider import OfProvider
from placement.storage.tables import placement_aggregates as aggregates
from placement.storage.tables import resource_provider_aggregates as memberships

_OF_PROVIDER = OfProvider(
    memberships.join(aggregates, memberships.c.aggregate_id == aggregates.c.id),
    memberships.c.resource_provider_id,
    (aggregates.c.uuid,),
    order=(aggregates.c.id,),
)
_BY_UUID = Compiled(
    sa.select(aggregates.c.id, aggregates.c.uuid).where(among(aggregates.c.uuid, "uuids"))
)
_REMOVE = Compiled(
    sa.delete(memberships).where(among(memberships.c.resource_provider_id, "providers"))
)
_INSERT = Compiled(sa.insert(memberships))


def of_provider(database: Database, uuid: str) -> tuple[int, list[str]]:
    """Return the provider's generation and the uuids of its aggregates. Raises ProviderNotFound."""
    generation, rows = _OF_PROVIDER.ask(database, uuid)
    return generation, [aggregate for (aggregate,) in rows]


def ids_questions(uuids: Collection[str]) -> list[Question]:
    """Return the questions for the ids of aggregates; the answers are for `ids_of`."""
    return [(_BY_UUID, {"uuids": part}) for part in parts(uuids)]


def ids_of(
    connection: Connection,
    uuids: Collection[str],
    answers: Iterable[StatementResult] | None = None,
) -> dict[str, int]:
    """Return the ids of those aggregates that exist, by uuid.

    :param answers: to `ids_questions`; None: they weren't asked
    """
    if not uuids:
        return {}
    if answers is None:
        answers = connection.execute_all(*ids_questions(uuids))
    found = {uuid: aggregate_id for rows in answers for aggregate_id, uuid in rows}
    if found:
        missing = [uuid for uuid in uuids if uuid not in found]
        found |= stored_names.spelled_otherwise(connection, aggregates.c.uuid, missing, set(found))
    return found


def ensure(
    connection: Connection,
    uuids: Collection[str],
    answers: Iterable[StatementResult] | None = None,
) -> dict[str, int]:
    """Return the id of each aggregate by uuid; store the aggregates that don't exist yet.

    :param answers: see `ids_of`
    """
    found = ids_of(connection, uuids, answers)
    missing = sorted({uuid for uuid in uuids if uuid not in found})
    if missing:
        stored_names.insert_missing(connection, aggregates, [{"uuid": uuid} for uuid in missing])
        found = ids_of(connection, uuids)
    return found


def replace(connection: Connection, wanted: Mapping[int, Collection[int]]) -> None:
    """Make each provider a member of exactly these aggregates; all are given by id."""
    remove(connection, wanted)
    rows = [
        {"resource_provider_id": provider_id, "aggregate_id": aggregate}
        for provider_id, aggregate_ids in wanted.items()
        for aggregate in dict.fromkeys(aggregate_ids)
    ]
    if rows:
        connection.later(_INSERT, rows)


def remove(connection: Connection, provider_ids: Collection[int]) -> None:
    """Remove the providers from all their aggregates."""
    connection.later(_REMOVE, {"providers": list(provider_ids)})
