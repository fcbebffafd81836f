"""Put a provider into aggregates (rest-api.md 3.4)."""

from collections.abc import Iterable, Mapping, Sequence

from placement.errors import GenerationConflict
from placement.storage import aggregates, providers
from placement.storage.at_once import content
from placement.storage.database.connection import StatementResult
from placement.storage.database.engine import Connection, Database
from placement.storage.feed import change_feed, feed_lanes
from placement.storage.feed.change_feed import ChangeKind


def replace_aggregates(
    database: Database, uuid: str, wanted: list[str], generation: int | None
) -> int:
    """Make the provider a member of exactly these aggregates and return its generation.

    Unknown aggregates are created. Raises ProviderNotFound or GenerationConflict.

    :param generation: the provider generation that the caller expects; None (microversion < 1.19):
        the generation is neither checked nor incremented
    """

    def replace(connection: Connection) -> int:
        if generation is not None and content.suit(connection, wanted, generation):
            content.write_aggregates(connection, uuid, generation, wanted)
            return generation + 1
        feed_lanes.ask_along(connection)
        connection.is_repeatable = generation is not None
        known = aggregates.ids_questions(list(dict.fromkeys(wanted)))
        node, answers = providers.lock_one_and_ask(connection, uuid, *known)
        if generation is not None and node.generation != generation:
            raise GenerationConflict(
                "Resource provider's generation already changed. "
                "Please update the generation and try again."
            )
        join(connection, {node.id: wanted}, answers)
        change_feed.record(connection, [node.id], ChangeKind.AGGREGATES)
        if generation is None:
            return node.generation
        providers.bump(connection, [node.id])
        return node.generation + 1

    return database.write(replace)


def join(
    connection: Connection,
    wanted: Mapping[int, Sequence[str]],
    answers: Iterable[StatementResult] | None = None,
) -> None:
    """Make providers, given by id, members of exactly these aggregates.

    Unknown aggregates are created. The caller raises the generations and appends to the change
    feed.

    :param answers: see `aggregates.ids_of`
    """
    if not wanted:
        return
    named = dict.fromkeys(uuid for uuids in wanted.values() for uuid in uuids)
    ids = aggregates.ensure(connection, named, answers)
    aggregates.replace(
        connection,
        {provider_id: [ids[uuid] for uuid in uuids] for provider_id, uuids in wanted.items()},
    )
