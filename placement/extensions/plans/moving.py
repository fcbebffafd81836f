"""Which moves would help a search that found nothing, as one more relaxation (extensions.rst)."""

from placement.candidates.budget import Budget
from placement.candidates.request import CandidateRequest
from placement.errors import BadRequest, Forbidden
from placement.extensions.explain.operation import names_from
from placement.extensions.plans.room import WantedRoom, room
from placement.extensions.plans.room_answer import as_json
from placement.extensions.plans.terms import Terms
from placement.extensions.what_if.changed_cloud import WhatIf
from placement.http.call import Call
from placement.schemas.json_schema import Json


def moves_of(call: Call, request: CandidateRequest, what_if: WhatIf, budget: Budget) -> Json | None:
    """Return what `hook.moves_that_help` does; None also for callers that may not have plans."""
    terms = Terms()
    try:
        call.authorize("berth:plans")
        found = room(
            call.database,
            what_if,
            WantedRoom(request),
            terms,
            lambda: budget.share(1),
        )
    except (Forbidden, BadRequest):
        # BadRequest: the search ended before it came to a name that doesn't exist
        return None
    if found.plan is None:
        return None
    plan = as_json(found, terms.constraints, what_if.naming(names_from(call.database)))
    moves = len(plan["moves"])
    names = dict.fromkeys(one["name"] for move in plan["moves"] for one in move["from"])
    who = "1 consumer" if moves == 1 else f"{moves} consumers"
    return {
        "change": {"move": moves},
        "text": f"moving {who} off {', '.join(names)}",
        "trees": len(plan["then"]["trees"]),
        "plan": plan,
    }
