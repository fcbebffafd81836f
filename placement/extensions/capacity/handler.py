"""/berth/v1/capacity: how many more fit (extensions.md 6)."""

import time

from placement.candidates.request import CandidateRequest
from placement.domain import uuids
from placement.errors import BadRequest
from placement.extensions.capacity import schema as schemas
from placement.extensions.capacity.operation import Breakdown, refusals_of, rooms
from placement.extensions.explain.handler import relaxing_of
from placement.extensions.explain.operation import names_from
from placement.extensions.what_if.changed_cloud import WhatIf
from placement.handlers.allocation_candidates import budget_of, request_in_body, request_of
from placement.http.call import NOW, Answer, Call


def show(call: Call) -> Answer:
    """GET /berth/v1/capacity"""
    call.authorize("berth:capacity")
    request = request_of(call.environ.get("QUERY_STRING", ""), call.version)
    found = rooms(
        names_from(call.database),
        call.snapshot.current,
        {"": request},
        lambda: budget_of(call, time.thread_time),
        lambda: relaxing_of(call),
    )
    return call.reply(found[""].as_json(), modified=NOW)


def query(call: Call) -> Answer:
    """POST /berth/v1/capacity"""
    call.authorize("berth:capacity")
    body = call.read(schemas.QUERY)
    given, gone = body["requests"], body.get("without", ())
    for what, count, most in (
        ("requests", len(given), schemas.MOST_REQUESTS),
        ("roots", len(gone), schemas.MOST_ROOTS),
    ):
        if count > most:
            raise BadRequest(f"A request may name at most {most} {what}. This one names {count}.")
    by, limit = frozenset(body.get("by", ())), int(body.get("limit", schemas.LIMIT))
    if len(given) * len(by) * limit > schemas.MOST_SHOWN:
        raise BadRequest(
            f"An answer tells at most {schemas.MOST_SHOWN} aggregates and trees. This one may have "
            f"{len(given) * len(by) * limit}: ask for fewer requests, or with a smaller limit."
        )
    what_if = WhatIf(call.snapshot, body.get("if", {}))
    found = rooms(
        what_if.naming(names_from(call.database)),
        what_if.current,
        {name: _request(call, name, one["query"]) for name, one in given.items()},
        lambda: budget_of(call, time.thread_time),
        lambda: relaxing_of(call),
        list(dict.fromkeys(map(uuids.normalised, gone))),
        Breakdown("aggregate" in by, "root" in by, limit),
    )
    return call.reply({"requests": {name: room.as_json() for name, room in found.items()}})


def _request(call: Call, name: str, text: str) -> CandidateRequest:
    with refusals_of(name):
        return request_in_body(text, call.version)
