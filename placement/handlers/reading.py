"""Reading what concerns one provider."""

from collections.abc import Callable
from typing import Any, TypeVar

from placement.domain.provider import Provider
from placement.errors import BadRequest
from placement.http.call import Call, SchemaTable
from placement.storage import providers
from placement.storage.engine import Connection

T = TypeVar("T")


def body_for(call: Call, uuid: str, schemas: SchemaTable) -> Any:
    """The body of a request about a provider: that it isn't there is worse than a bad body."""
    try:
        return call.read(schemas)
    except BadRequest:
        call.database.read(lambda connection: providers.get(connection, uuid))
        raise


def provider_with(
    call: Call, uuid: str, question: Callable[[Connection, int], T]
) -> tuple[Provider, T]:
    """A provider and something about it, both of one moment. Raises ProviderNotFound."""

    def ask(connection: Connection) -> tuple[Provider, T]:
        provider = providers.get(connection, uuid)
        return provider, question(connection, provider.id)

    return call.database.read(ask)
