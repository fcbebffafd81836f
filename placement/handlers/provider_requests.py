"""Read the body of a request about one provider, and data of one provider."""

from collections.abc import Callable
from typing import Any, TypeVar

from placement.domain.provider import Provider
from placement.errors import BadRequest
from placement.http.call import Call, SchemaTable
from placement.storage import providers
from placement.storage.engine import Connection

T = TypeVar("T")


def body_for(call: Call, uuid: str, schemas: SchemaTable) -> Any:
    """Read the body of a request about the provider `uuid`.

    Raises ProviderNotFound instead of BadRequest if the provider doesn't exist; otherwise raises
    what `Call.read` raises.
    """
    try:
        return call.read(schemas)
    except BadRequest:
        call.database.read(lambda connection: providers.get(connection, uuid))
        raise


def provider_with(
    call: Call, uuid: str, question: Callable[[Connection, int], T]
) -> tuple[Provider, T]:
    """Return a provider and the answer to a question about it, read in one transaction.

    :param question: called with the connection and the provider's database id

    Raises ProviderNotFound.
    """

    def ask(connection: Connection) -> tuple[Provider, T]:
        provider = providers.get(connection, uuid)
        return provider, question(connection, provider.id)

    return call.database.read(ask)
