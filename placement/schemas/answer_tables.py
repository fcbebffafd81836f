"""The answers of one endpoint: the schemas of its successes, and those of its errors, by status."""

from collections.abc import Mapping, Sequence

from placement.errors import (
    BadQueryValue,
    DuplicateKey,
    MissingValue,
    PlacementError,
    SearchAbandoned,
    SearchUnfinished,
)
from placement.schemas.answer_shapes import NO_BODY, AnswerTable
from placement.schemas.refusals import Refused, refusals

Responses = Mapping[int, AnswerTable]
Later = Mapping[int, Sequence[type[PlacementError]]]

#: errors of every search for candidates, and those that come with parameters of its query
SEARCHING = (SearchUnfinished, SearchAbandoned)
OF_QUERY: Later = {35: (BadQueryValue, DuplicateKey), 36: (MissingValue,)}


def done(minor: int) -> AnswerTable:
    """Return the table of a response without a body, since `1.<minor>`."""
    return {(1, minor): NO_BODY}


def answers(given: Responses, *refused: Refused, later: Later | None = None) -> Responses:
    """Add the schemas of errors to those of successes.

    400 is always among the errors, because an invalid header alone can cause it.

    :param refused: statuses, and errors with codes that not every endpoint has
    :param later: such errors by the minor version since which they occur
    """
    return dict(given) | refusals(400, *refused, later=later)


def extension_answers(given: Responses, *refused: Refused, later: Later | None = None) -> Responses:
    """Do the same for an extension, whose errors have a code at every microversion."""
    return dict(given) | refusals(400, *refused, later=later, in_extension=True)
