"""All responses of all endpoints: path, method, status, and the schema of the body.

Paths have the form of OpenAPI. Responses that don't depend on the endpoint aren't listed: 401 and
503 (:data:`~placement.schemas.refusals.UNAUTHORIZED`, ``UNAVAILABLE``), 400 and 406 if the
negotiation of the microversion failed (:data:`~placement.schemas.refusals.UNNEGOTIATED`), 405 for
other methods and 404 for other paths.
"""

from collections.abc import Mapping, Sequence

from placement.errors import (
    BadQueryValue,
    ClaimUnfinished,
    DuplicateKey,
    DuplicateName,
    InventoryInUse,
    MissingValue,
    NamedProviderUnknown,
    NoCandidate,
    PlacementError,
    PositionGone,
    ProviderHasChildren,
    ProviderInUse,
    SearchAbandoned,
    SearchUnfinished,
    TooManyWaits,
)
from placement.schemas import (
    aggregates,
    allocation_candidates,
    allocations,
    capacity,
    changes,
    claims,
    discovery,
    evacuation,
    explain,
    inventories,
    openapi,
    provider_tree_changes,
    provider_trees,
    resource_classes,
    resource_providers,
    root,
    suspects,
    traits,
    usages,
)
from placement.schemas.answer_shapes import NO_BODY, AnswerTable
from placement.schemas.json_schema import Schema
from placement.schemas.refusals import Refused, refusals

Responses = Mapping[int, AnswerTable]
Later = Mapping[int, Sequence[type[PlacementError]]]


def _done(minor: int) -> AnswerTable:
    """Return the table of a response without a body, since `1.<minor>`."""
    return {(1, minor): NO_BODY}


def _answers(given: Responses, *refused: Refused, later: Later | None = None) -> Responses:
    """Add the schemas of errors to those of successes.

    400 is always among the errors, because an invalid header alone can cause it.

    :param refused: statuses, and errors with codes that not every endpoint has
    :param later: such errors by the minor version since which they occur
    """
    return dict(given) | refusals(400, *refused, later=later)


def _extension(given: Responses, *refused: Refused, later: Later | None = None) -> Responses:
    """Do the same for an extension, whose errors have a code at every microversion."""
    return dict(given) | refusals(400, *refused, later=later, in_extension=True)


#: errors of every search for candidates, and those that come with parameters of its query
_SEARCHING = (SearchUnfinished, SearchAbandoned)
_OF_QUERY: Later = {35: (BadQueryValue, DuplicateKey), 36: (MissingValue,)}

_PROVIDER = "/resource_providers/{uuid}"

#: schemas of one line, where the answer may be one JSON value a line
LINES: dict[str, Schema] = {"/berth/v1/provider_trees": provider_trees.LINE}

RESPONSES: dict[str, dict[str, Responses]] = {
    "/": {
        "GET": _answers({200: root.DISCOVERED}),
    },
    "/resource_classes": {
        "GET": _answers({200: resource_classes.LISTED}, 403, 404, 406),
        "POST": _answers({201: _done(2)}, 403, 404, 409, 415),
    },
    "/resource_classes/{name}": {
        "GET": _answers({200: resource_classes.SHOWN}, 403, 404, 406),
        "PUT": _answers(
            {
                200: resource_classes.RENAMED,
                201: resource_classes.ENSURED,
                204: resource_classes.ENSURED,
            },
            *(403, 404, 409, 415),
        ),
        "DELETE": _answers({204: _done(2)}, 403, 404, 409),
    },
    "/resource_providers": {
        "GET": _answers({200: resource_providers.LISTED}, 403, 406),
        "POST": _answers(
            {200: resource_providers.CREATED_AND_SHOWN, 201: resource_providers.CREATED},
            *(403, DuplicateName, 415),
        ),
    },
    _PROVIDER: {
        "GET": _answers({200: resource_providers.SHOWN}, 403, 404, 406),
        "DELETE": _answers({204: _done(0)}, 403, 404, ProviderInUse, ProviderHasChildren),
        "PUT": _answers({200: resource_providers.SHOWN}, 403, 404, DuplicateName, 415),
    },
    f"{_PROVIDER}/inventories": {
        "GET": _answers({200: inventories.LISTED}, 403, 404, 406),
        "POST": _answers({201: inventories.CREATED}, 403, 404, 409, 415),
        "PUT": _answers({200: inventories.REPLACED}, 403, 404, InventoryInUse, 415),
        "DELETE": _answers({204: _done(5)}, 403, 404, 405, InventoryInUse),
    },
    f"{_PROVIDER}/inventories/{{resource_class}}": {
        "GET": _answers({200: inventories.SHOWN}, 403, 404, 406),
        "PUT": _answers({200: inventories.UPDATED}, 403, 404, 409, 415),
        "DELETE": _answers({204: _done(0)}, 403, 404, 409),
    },
    f"{_PROVIDER}/usages": {
        "GET": _answers({200: usages.SHOWN_OF_PROVIDER}, 403, 404, 406),
    },
    f"{_PROVIDER}/aggregates": {
        "GET": _answers({200: aggregates.SHOWN}, 403, 404, 406),
        "PUT": _answers({200: aggregates.SHOWN}, 403, 404, 409, 415),
    },
    f"{_PROVIDER}/allocations": {
        "GET": _answers({200: allocations.SHOWN_OF_PROVIDER}, 403, 404, 406),
    },
    f"{_PROVIDER}/traits": {
        "GET": _answers({200: traits.SHOWN_OF_PROVIDER}, 403, 404, 406),
        "PUT": _answers({200: traits.SHOWN_OF_PROVIDER}, 403, 404, 409, 415),
        "DELETE": _answers({204: _done(6)}, 403, 404, 409),
    },
    "/allocations": {
        "POST": _answers({204: _done(13)}, 403, 404, 409, 415),
    },
    "/allocations/{consumer_uuid}": {
        "GET": _answers({200: allocations.SHOWN}, 403, 406),
        "PUT": _answers({204: _done(0)}, 403, 409, 415),
        "DELETE": _answers({204: _done(0)}, 403, 404, 409),
    },
    "/allocation_candidates": {
        "GET": _answers(
            {200: allocation_candidates.LISTED},
            *(403, 404, 406, *_SEARCHING),
            later=_OF_QUERY,
        ),
    },
    "/traits": {
        "GET": _answers({200: traits.LISTED}, 403, 404, 406),
    },
    "/traits/{name}": {
        "GET": _answers({204: _done(6)}, 403, 404),
        "PUT": _answers({201: _done(6), 204: _done(6)}, 403, 404, 409),
        "DELETE": _answers({204: _done(6)}, 403, 404, 409),
    },
    "/usages": {
        "GET": _answers({200: usages.LISTED}, 403, 404, 406),
    },
    "/reshaper": {
        "POST": _answers({204: _done(30)}, 403, 404, NamedProviderUnknown, InventoryInUse, 415),
    },
    "/berth/v1": {
        "GET": _extension({200: discovery.DISCOVERED}, 406),
    },
    "/berth/v1/provider_trees": {
        "GET": _extension(
            {200: provider_trees.SHOWN, 304: _done(0)},
            *(403, 406, DuplicateKey, SearchAbandoned),
        ),
    },
    "/berth/v1/allocations/query": {
        "POST": _extension({200: provider_trees.ALLOCATIONS_FOUND}, 403, 406, 415),
    },
    "/berth/v1/provider_trees/{root_uuid}": {
        "PUT": _extension(
            {200: provider_tree_changes.CHANGED},
            *(403, 404, 415, NamedProviderUnknown, DuplicateName),
            *(InventoryInUse, ProviderInUse, ProviderHasChildren),
        ),
    },
    "/berth/v1/claims": {
        "POST": _extension(
            {200: claims.CREATED},
            *(403, 404, 406, NoCandidate, 415, *_SEARCHING, ClaimUnfinished),
            later=_OF_QUERY,
        ),
    },
    "/berth/v1/allocation_candidates/explain": {
        "GET": _extension(
            {200: explain.EXPLAINED},
            *(403, 404, 406, BadQueryValue, DuplicateKey, *_SEARCHING),
            later=_OF_QUERY,
        ),
    },
    "/berth/v1/capacity": {
        "GET": _extension({200: capacity.SHOWN}, 403, 404, 406, *_SEARCHING, later=_OF_QUERY),
        "POST": _extension(
            {200: capacity.QUERIED}, 403, 404, 406, 415, *_SEARCHING, later=_OF_QUERY
        ),
    },
    "/berth/v1/capacity/evacuate": {
        "POST": _extension({200: evacuation.EVACUATED}, 403, 406, 415, *_SEARCHING),
    },
    "/berth/v1/openapi.json": {
        "GET": _extension({200: openapi.DESCRIBED, 304: _done(0)}, DuplicateKey),
    },
    "/berth/v1/openapi.yaml": {
        "GET": _extension({200: openapi.DESCRIBED, 304: _done(0)}, DuplicateKey),
    },
    "/berth/v1/changes": {
        "GET": _extension(
            {200: changes.LISTED},
            *(403, 406, BadQueryValue, DuplicateKey, PositionGone, TooManyWaits),
        ),
    },
    "/berth/v1/suspects": {
        "GET": _extension({200: suspects.LISTED}, 403, 406, BadQueryValue, DuplicateKey),
    },
}
