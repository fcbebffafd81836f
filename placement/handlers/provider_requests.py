"""Read the body of a request about one provider."""

from typing import Any

from placement.errors import BadRequest
from placement.http.call import Call
from placement.schemas.json_schema import SchemaTable
from placement.storage import providers


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
