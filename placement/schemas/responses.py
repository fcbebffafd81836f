"""All responses of OpenStack Placement's endpoints: path, method, status, schema of the body.

Paths have the form of OpenAPI. Responses that don't depend on the endpoint aren't listed: 401 and
503 (:data:`~placement.schemas.refusals.UNAUTHORIZED`, ``UNAVAILABLE``), 400 and 406 if the
negotiation of the microversion failed (:data:`~placement.schemas.refusals.UNNEGOTIATED`), 405 for
other methods and 404 for other paths.
"""

from placement.errors import (
    DuplicateName,
    InventoryInUse,
    NamedProviderUnknown,
    ProviderHasChildren,
    ProviderInUse,
)
from placement.schemas import (
    aggregates,
    allocation_candidates,
    allocations,
    inventories,
    resource_classes,
    resource_providers,
    traits,
    usages,
)
from placement.schemas.answer_shapes import AnswerTable, exactly
from placement.schemas.answer_tables import OF_QUERY, SEARCHING, Responses, answers, done
from placement.schemas.json_schema import Json, Schema

_VERSION: Json = exactly(
    {
        "id": {"const": "v1.0"},
        "max_version": {"type": "string", "pattern": r"^1\.[0-9]+$"},
        "min_version": {"const": "1.0"},
        "status": {"const": "CURRENT"},
        "links": {
            "type": "array",
            "items": exactly({"rel": {"const": "self"}, "href": {"const": ""}}),
            "minItems": 1,
            "maxItems": 1,
        },
    }
)
DISCOVERED: AnswerTable = {
    (1, 0): Schema(
        exactly({"versions": {"type": "array", "items": _VERSION, "minItems": 1, "maxItems": 1}})
    )
}

_PROVIDER = "/resource_providers/{uuid}"

RESPONSES: dict[str, dict[str, Responses]] = {
    "/": {
        "GET": answers({200: DISCOVERED}),
    },
    "/resource_classes": {
        "GET": answers({200: resource_classes.LISTED}, 403, 404, 406),
        "POST": answers({201: done(2)}, 403, 404, 409, 415),
    },
    "/resource_classes/{name}": {
        "GET": answers({200: resource_classes.SHOWN}, 403, 404, 406),
        "PUT": answers(
            {
                200: resource_classes.RENAMED,
                201: resource_classes.ENSURED,
                204: resource_classes.ENSURED,
            },
            *(403, 404, 409, 415),
        ),
        "DELETE": answers({204: done(2)}, 403, 404, 409),
    },
    "/resource_providers": {
        "GET": answers({200: resource_providers.LISTED}, 403, 406),
        "POST": answers(
            {200: resource_providers.CREATED_AND_SHOWN, 201: resource_providers.CREATED},
            *(403, DuplicateName, 415),
        ),
    },
    _PROVIDER: {
        "GET": answers({200: resource_providers.SHOWN}, 403, 404, 406),
        "DELETE": answers({204: done(0)}, 403, 404, ProviderInUse, ProviderHasChildren),
        "PUT": answers({200: resource_providers.SHOWN}, 403, 404, DuplicateName, 415),
    },
    f"{_PROVIDER}/inventories": {
        "GET": answers({200: inventories.LISTED}, 403, 404, 406),
        "POST": answers({201: inventories.CREATED}, 403, 404, 409, 415),
        "PUT": answers({200: inventories.REPLACED}, 403, 404, InventoryInUse, 415),
        "DELETE": answers({204: done(5)}, 403, 404, 405, InventoryInUse),
    },
    f"{_PROVIDER}/inventories/{{resource_class}}": {
        "GET": answers({200: inventories.SHOWN}, 403, 404, 406),
        "PUT": answers({200: inventories.UPDATED}, 403, 404, 409, 415),
        "DELETE": answers({204: done(0)}, 403, 404, 409),
    },
    f"{_PROVIDER}/usages": {
        "GET": answers({200: usages.SHOWN_OF_PROVIDER}, 403, 404, 406),
    },
    f"{_PROVIDER}/aggregates": {
        "GET": answers({200: aggregates.SHOWN}, 403, 404, 406),
        "PUT": answers({200: aggregates.SHOWN}, 403, 404, 409, 415),
    },
    f"{_PROVIDER}/allocations": {
        "GET": answers({200: allocations.SHOWN_OF_PROVIDER}, 403, 404, 406),
    },
    f"{_PROVIDER}/traits": {
        "GET": answers({200: traits.SHOWN_OF_PROVIDER}, 403, 404, 406),
        "PUT": answers({200: traits.SHOWN_OF_PROVIDER}, 403, 404, 409, 415),
        "DELETE": answers({204: done(6)}, 403, 404, 409),
    },
    "/allocations": {
        "POST": answers({204: done(13)}, 403, 404, 409, 415),
    },
    "/allocations/{consumer_uuid}": {
        "GET": answers({200: allocations.SHOWN}, 403, 406),
        "PUT": answers({204: done(0)}, 403, 409, 415),
        "DELETE": answers({204: done(0)}, 403, 404, 409),
    },
    "/allocation_candidates": {
        "GET": answers(
            {200: allocation_candidates.LISTED},
            *(403, 404, 406, *SEARCHING),
            later=OF_QUERY,
        ),
    },
    "/traits": {
        "GET": answers({200: traits.LISTED}, 403, 404, 406),
    },
    "/traits/{name}": {
        "GET": answers({204: done(6)}, 403, 404),
        "PUT": answers({201: done(6), 204: done(6)}, 403, 404, 409),
        "DELETE": answers({204: done(6)}, 403, 404, 409),
    },
    "/usages": {
        "GET": answers({200: usages.LISTED}, 403, 404, 406),
    },
    "/reshaper": {
        "POST": answers({204: done(30)}, 403, 404, NamedProviderUnknown, InventoryInUse, 415),
    },
}
