"""Explains searches, with the names of providers (extensions.md 5)."""

from collections.abc import Callable, Iterable, Mapping

from sqlalchemy.exc import SQLAlchemyError

from placement.candidates.budget import Abandoned, Budget, SearchEnded
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.ended_search import error_of
from placement.candidates.request import CandidateRequest
from placement.domain import uuids
from placement.errors import BadQueryValue, PlacementError
from placement.extensions.explain.explanation import Explanation, Naming, explain, why_none
from placement.extensions.what_if.as_if_released import freed
from placement.extensions.what_if.changed_cloud import WhatIf
from placement.storage import holdings, providers
from placement.storage.database.engine import Database


def names_from(database: Database) -> Naming:
    """Return a function that reads the names of providers, all with one statement."""

    def naming(uuids: Iterable[str]) -> Mapping[str, str]:
        keys = list(uuids)
        return database.read(lambda connection: providers.names(connection, keys)) if keys else {}

    return naming


def explained(
    database: Database,
    what_if: WhatIf,
    request: CandidateRequest,
    budgets: Callable[[], Budget],
    relaxing: Callable[[], Budget],
    provider: str | None = None,
    consumer: str | None = None,
    root_traits: bool = True,
    naming: Naming | None = None,
) -> Explanation:
    """Explain the search for a request.

    Raises BadQueryValue if the provider doesn't exist, and what the search raises.

    :param what_if: the cloud, perhaps as if it were different
    :param budgets: returns what the search may cost; called after the cloud was read
    :param relaxing: returns what finding out what would help may cost; called after the search
    :param provider: uuid or name of a provider: the explanation then has all that it lacks
    :param consumer: uuid of a consumer: the search is as if what it holds were free
    :param root_traits: whether the query may have root_required
    :param naming: returns the names of providers by uuid; None: as they are in the database
    """
    slot = None
    if consumer is not None:
        snapshot, held = what_if.at_once(
            lambda connection, _: list(holdings.of_consumers(connection, [consumer]))
        )
        # whoever counts as if it held nothing has given that back already
        snapshot = snapshot if consumer in what_if.freed else freed(snapshot, held)
    else:
        snapshot = what_if.current()
    if provider is not None:
        slot = _slot(database, snapshot, provider)
    budget = budgets()
    try:
        return explain(
            snapshot,
            request,
            budget,
            naming=naming or names_from(database),
            provider=slot,
            relaxing=relaxing,
            root_traits=root_traits,
        )
    except SearchEnded as ended:
        raise error_of(ended, snapshot, budget) from ended


def why_empty(
    database: Database, snapshot: Snapshot, request: CandidateRequest, budget: Budget
) -> str:
    """Return the message of the explanation for a search that found nothing.

    If the names can't be read, or the reason can't be found, the message says less: the search
    itself has its answer.
    """
    try:
        return why_none(snapshot, request, budget, names_from(database))
    except Abandoned:
        return "the client left before the reason was known"
    except (PlacementError, SQLAlchemyError):
        return why_none(snapshot, request, budget)


def _slot(database: Database, snapshot: Snapshot, provider: str) -> int:
    """Return the slot of a provider. A name is looked for first, then a uuid."""
    uuid = database.read(lambda connection: providers.uuid_of_name(connection, provider))
    if uuid is None and uuids.is_uuid_like(provider):
        uuid = uuids.normalised(provider)
    slot = None if uuid is None else snapshot.slot(uuid)
    if slot is None:
        raise BadQueryValue(
            f"Invalid query string parameters: provider: No resource provider has the uuid or the "
            f"name {provider!r}."
        )
    return slot
