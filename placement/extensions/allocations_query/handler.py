"""/berth/v1/allocations/query (extensions.md 2)."""

from collections.abc import Iterator

from placement.domain.uuids import is_uuid_like, normalised
from placement.errors import BadRequest
from placement.extensions.allocations_query import schema as schemas
from placement.extensions.provider_trees import tree_text
from placement.http.call import Answer, Call
from placement.http.spool import Spool, kept
from placement.storage import holdings
from placement.storage.database.engine import Connection
from placement.storage.driver.list_parameters import parts


def query(call: Call) -> Answer:
    """POST /berth/v1/allocations/query"""
    call.authorize("berth:allocations:query")
    body = call.read(schemas.ALLOCATIONS_QUERY)
    consumers, providers = body.get("consumers", []), body.get("resource_providers", [])
    number = len(consumers) + len(providers)
    if number > schemas.MOST_NAMES:
        raise BadRequest(
            f"A request may name {schemas.MOST_NAMES} consumers and resource providers together. "
            f"This one names {number}."
        )

    def write(connection: Connection) -> None:
        answer.restart()
        for piece in _found(connection, _spelled(consumers), _spelled(providers)):
            answer.write(piece)
        answer.finish()

    with kept(Spool()) as answer:
        call.database.read(write)
        return call.stream(answer)


def _spelled(uuids: list[str]) -> list[str]:
    """Return the uuids as the caller spelled them, and as they are usually stored."""
    usual = (normalised(uuid) for uuid in uuids if is_uuid_like(uuid))
    return list(dict.fromkeys([*uuids, *usual]))


def _found(connection: Connection, consumers: list[str], providers: list[str]) -> Iterator[bytes]:
    """Yield the body in pieces. Names that nobody has are left out."""
    theirs = (
        text
        for part in parts(consumers)
        for text in tree_text.consumers(holdings.of_consumers(connection, part))
    )
    yield from tree_text.joined(b'{"consumers":{', theirs, b"}")
    of_them = (
        text
        for part in parts(providers)
        for text in tree_text.providers(holdings.of_providers(connection, part))
    )
    yield from tree_text.joined(b',"providers":{', of_them, b"}}")
