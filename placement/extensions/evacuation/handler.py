"""/berth/v1/capacity/evacuate: whether hosts can be emptied (extensions.md 6)."""

import time

from placement.domain import uuids
from placement.errors import BadRequest
from placement.extensions.evacuation import schema as schemas
from placement.extensions.evacuation.given_requests import given_requests
from placement.extensions.evacuation.operation import Evacuation, evacuated
from placement.extensions.evacuation.planning_line import turn_of
from placement.extensions.explain.operation import names_from
from placement.extensions.what_if.changed_cloud import WhatIf
from placement.handlers.allocation_candidates import budget_of
from placement.http.call import Answer, Call
from placement.schemas.json_schema import Json


def evacuate(call: Call) -> Answer:
    """POST /berth/v1/capacity/evacuate"""
    call.authorize("berth:capacity")
    body = call.read(schemas.EVACUATE)
    without = body["without"]
    if len(without) > schemas.MOST_NAMED:
        raise BadRequest(
            f"A request may name at most {schemas.MOST_NAMED} roots. This one names {len(without)}."
        )
    given = given_requests(body.get("requests", {}), call.version)
    with turn_of(call):
        what_if = WhatIf(call.snapshot, body.get("if", {}))
        found = evacuated(
            what_if.naming(names_from(call.database)),
            what_if,
            map(uuids.normalised, without),
            given,
            lambda: budget_of(call, time.thread_time),
        )
    return call.reply(_shown(found))


def _shown(found: Evacuation) -> Json:
    fit, unfit = len(found.moves), len(found.unfit)
    return {
        "fits": found.fits,
        "exact": found.exact,
        "verdict": found.verdict,
        "consumers": {"total": fit + unfit, "fit": fit, "unfit": unfit},
        "moves": {
            consumer: {
                "root": move.root,
                "allocations": {
                    uuid: {"resources": amounts} for uuid, amounts in move.allocations.items()
                },
            }
            for consumer, move in found.moves.items()
        },
        "unfit": [
            {"consumer": consumer, "message": message} for consumer, message in found.unfit.items()
        ],
    }
