"""/berth/v1/allocation_candidates/explain (extensions.md 5)."""

import re
import time

from placement.candidates.budget import Budget
from placement.candidates.request import CandidateRequest
from placement.domain.uuids import is_uuid_like, normalised
from placement.errors import BadQueryValue
from placement.extensions.explain import schema as schemas
from placement.extensions.explain.operation import explained, names_from
from placement.extensions.what_if.changed_cloud import WhatIf
from placement.handlers.allocation_candidates import budget_of, request_in_body, request_of
from placement.http.call import NOW, Answer, Call
from placement.http.query import Query
from placement.schemas.json_schema import Json

_PARTS = re.compile("([&;])")


def relaxing_of(call: Call) -> Budget:
    """Return the configured limits for finding out what would help, whose time starts now."""
    group = call.conf.berth
    return Budget(
        group.explain_budget_ms / 1000,
        group.search_memory_limit * 1024 * 1024 or None,
        call.client_left,
        time.thread_time,
    )


def show(call: Call) -> Answer:
    """GET /berth/v1/allocation_candidates/explain"""
    call.authorize("berth:explain")
    text, own = _split(call.environ.get("QUERY_STRING", ""))
    request = request_of(text, call.version)
    consumer = own.get("consumer")
    if consumer is not None:
        if not is_uuid_like(consumer):
            raise BadQueryValue(
                f"Invalid query string parameters: consumer: {consumer!r} is not a uuid."
            )
        consumer = normalised(consumer)
    what_if = WhatIf(call.snapshot, {})
    shown = _explained(call, what_if, request, own.get("provider"), consumer)
    return call.reply(shown, modified=NOW)


def query(call: Call) -> Answer:
    """POST /berth/v1/allocation_candidates/explain"""
    call.authorize("berth:explain")
    body = call.read(schemas.QUERY)
    what_if = WhatIf(call.snapshot, body.get("if", {}))
    consumer = body.get("consumer")
    shown = _explained(
        call,
        what_if,
        request_in_body(body["query"], call.version),
        body.get("provider"),
        None if consumer is None else normalised(consumer),
    )
    return call.reply(shown)


def _explained(
    call: Call,
    what_if: WhatIf,
    request: CandidateRequest,
    provider: str | None,
    consumer: str | None,
) -> Json:
    begun: list[Budget] = []

    def relaxing() -> Budget:
        begun.append(relaxing_of(call))
        return begun[0]

    shown = explained(
        call.database,
        what_if,
        request,
        lambda: budget_of(call, time.thread_time),
        relaxing,
        provider,
        consumer,
        call.at_least(35),
        what_if.naming(names_from(call.database)),
    ).as_json()
    # whoever looks for another place for a consumer asks for no moves of others
    if shown["verdict"] == "none" and consumer is None and begun:
        moves = call.moves(call, request, what_if, begun[0])
        shown["relaxations"] += [] if moves is None else [moves]
    return shown


def _split(text: str) -> tuple[str, dict[str, str]]:
    """Return the query of the search, and the parameters that only this endpoint has.

    Raises DuplicateKey if one of the latter is given twice, BadQuery if a part is not UTF-8.
    """
    query = Query(text)
    query.refuse_repeated(schemas.OWN)
    pairs = query.pairs
    own = {name: value for name, value in pairs if name in schemas.OWN}
    pieces = [part for part in _PARTS.split(text) if part not in ("&", ";", "")]
    kept = [part for part, (name, _) in zip(pieces, pairs, strict=True) if name not in schemas.OWN]
    return "&".join(kept), own
