"""/berth/v1/claims: find and claim in one step (extensions.md 4)."""

import collections
import dataclasses
import random
from collections.abc import Sequence

from placement.candidates.request import CandidateRequest
from placement.domain import uuids
from placement.domain.consumer import UNCHECKED, ConsumerRequest
from placement.errors import BadRequest
from placement.extensions.claims import schema as schemas
from placement.extensions.claims.choice import Chooser, Strategy
from placement.extensions.claims.operation import Claimed, ClaimRequest
from placement.handlers.allocation_candidates import budget_of, request_in_body
from placement.http.call import Answer, Call
from placement.schemas.json_schema import Json


def create(call: Call) -> Answer:
    """POST /berth/v1/claims"""
    call.authorize("berth:claims:create")
    body = call.read(schemas.CREATE)
    _refuse_too_many("consumers", body["consumers"], schemas.MOST_CONSUMERS)
    _refuse_too_many("trees to avoid", body.get("avoid", ()), schemas.MOST_AVOIDED)
    consumers = [_consumer(given) for given in body["consumers"]]
    _refuse_repeated(consumers)
    chooser = Chooser(
        _request(call, body),
        Strategy(body.get("strategy", Strategy.FIRST.value)),
        body.get("by"),
        random.Random(),
    )
    claim = ClaimRequest(
        call.database,
        call.snapshot,
        chooser,
        consumers,
        lambda: budget_of(call),
        call.tries,
        call.stand_in,
    )
    shown = {uuid: _shown(claimed) for uuid, claimed in call.claims.make(claim).items()}
    return call.reply({"consumers": shown})


def _request(call: Call, body: Json) -> CandidateRequest:
    avoid = frozenset(map(uuids.normalised, body.get("avoid", ())))
    return dataclasses.replace(request_in_body(body["query"], call.version), avoid=avoid)


def _consumer(given: Json) -> ConsumerRequest:
    return ConsumerRequest(
        uuid=uuids.normalised(given["uuid"]),
        project=given["project_id"],
        user=given["user_id"],
        generation=UNCHECKED,
        type_name=given.get("consumer_type"),
        allocations={},
    )


def _refuse_too_many(what: str, given: Sequence[object], most: int) -> None:
    if len(given) > most:
        raise BadRequest(f"A claim may name at most {most} {what}. This one names {len(given)}.")


def _refuse_repeated(consumers: list[ConsumerRequest]) -> None:
    counts = collections.Counter(request.uuid for request in consumers)
    repeated = [uuid for uuid, count in counts.items() if count > 1]
    if repeated:
        raise BadRequest(f"A claim may name a consumer only once: {', '.join(repeated)}")


def _shown(claimed: Claimed) -> Json:
    choice = claimed.choice
    return {
        "allocations": {
            uuid: {"resources": amounts} for uuid, amounts in choice.allocations.items()
        },
        "mappings": choice.mappings,
        "consumer_generation": claimed.generation,
    }
