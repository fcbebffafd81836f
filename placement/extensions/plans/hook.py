"""Which moves would help a search that found nothing; `explain` asks, and knows no plans."""

from typing import TYPE_CHECKING

from placement.http.call import Call

if TYPE_CHECKING:
    # a process without searches doesn't import these
    from placement.candidates.budget import Budget
    from placement.candidates.request import CandidateRequest
    from placement.extensions.what_if.changed_cloud import WhatIf
    from placement.schemas.json_schema import Json


def moves_that_help(
    call: Call, request: "CandidateRequest", what_if: "WhatIf", budget: "Budget"
) -> "Json | None":
    """Return the fewest moves that make room, as a relaxation; None if none were found in time.

    Raises SearchAbandoned if the client left.

    :param budget: what finding them may cost
    """
    # imported here because most processes never explain a search
    from placement.extensions.plans.moving import moves_of

    return moves_of(call, request, what_if, budget)
