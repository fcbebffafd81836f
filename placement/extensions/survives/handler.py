"""/berth/v1/plans/survives: which losses of hosts can be absorbed (extensions.rst)."""

import time

from placement.domain.uuids import normalised
from placement.errors import BadRequest
from placement.extensions.evacuation.planning_line import turn_of
from placement.extensions.explain.operation import names_from
from placement.extensions.plans.terms import terms_of
from placement.extensions.survives import schema as schemas
from placement.extensions.survives.operation import Question, survives
from placement.extensions.what_if.changed_cloud import WhatIf
from placement.handlers.allocation_candidates import budget_of
from placement.http.call import Answer, Call
from placement.schemas.json_schema import Json


def judge(call: Call) -> Answer:
    """POST /berth/v1/plans/survives"""
    call.authorize("berth:plans")
    body = call.read(schemas.JUDGE)
    question = _question(call, body)
    with turn_of(call):
        what_if = WhatIf(call.snapshot, body.get("if", {}))
        found = survives(
            what_if.naming(names_from(call.database)),
            what_if,
            question,
            lambda: budget_of(call, time.thread_time),
        )
    if not found.of:
        # a check that checked nothing must not read as safety
        what = f"{question.what} of hosts" if question.each == "aggregate" else question.what
        raise BadRequest(f"each: there is no {what} to lose.")
    return call.reply(found.as_json())


def _question(call: Call, body: Json) -> Question:
    each = body["each"]
    among = body.get("among", {}).get("member_of")
    if not isinstance(each, str):
        roots = sum(map(len, each))
        for what, count, most in (
            ("sets", len(each), schemas.MOST_SETS),
            ("roots", roots, schemas.MOST_ROOTS),
        ):
            if count > most:
                raise BadRequest(f"each: at most {most} {what} may be given. These are {count}.")
        if among is not None:
            raise BadRequest("among: it chooses hosts or aggregates, not sets that are given.")
        each = [list(map(normalised, one)) for one in each]
    return Question(
        each,
        among,
        int(body.get("together", 1)),
        terms_of(body, call.version),
        int(body.get("limit", schemas.LIMIT)),
    )
