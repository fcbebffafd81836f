"""/berth/v1/plans: which few moves make room (extensions.rst)."""

import dataclasses
import time

from placement.domain import uuids
from placement.extensions.evacuation.given_requests import few
from placement.extensions.evacuation.planning_line import turn_of
from placement.extensions.explain.operation import names_from
from placement.extensions.plans import room_answer
from placement.extensions.plans import schema as schemas
from placement.extensions.plans.room import WantedRoom
from placement.extensions.plans.room import room as room_of
from placement.extensions.plans.terms import terms_of
from placement.extensions.what_if.changed_cloud import WhatIf
from placement.handlers.allocation_candidates import budget_of, request_in_body
from placement.http.call import Answer, Call
from placement.storage import movable_amounts


def room(call: Call) -> Answer:
    """POST /berth/v1/plans/room"""
    call.authorize("berth:plans")
    body = call.read(schemas.ROOM)
    within, by = body.get("within"), body.get("by", "moves")
    if within is not None:
        few(within, "within")
    terms = terms_of(body, call.version)
    wanted = WantedRoom(
        request_in_body(body["query"], call.version),
        int(body.get("count", 1)),
        None if within is None else list(dict.fromkeys(map(uuids.normalised, within))),
        int(body.get("limit", {}).get("moves", schemas.MOVES)),
        None if by == "moves" else by,
    )
    with turn_of(call):
        what_if = WhatIf(call.snapshot, body.get("if", {}))
        found = room_of(
            call.database,
            what_if,
            wanted,
            terms,
            lambda: budget_of(call, time.thread_time),
        )
    # more than is free in all is too much whoever moves, unless somebody asks for less then
    may_help = found.short is None or bool(terms.requests)
    if found.plan is None and found.verdict != "fits" and terms.movable.only is None and may_help:
        counts = call.database.read(movable_amounts.consumers_by_type)
        staying = {name: count for name, count in counts.items() if name not in terms.movable.types}
        found = dataclasses.replace(found, staying=staying)
    naming = what_if.naming(names_from(call.database))
    return call.reply(room_answer.as_json(found, terms.constraints, naming))
