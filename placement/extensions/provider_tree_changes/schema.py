"""Requests and responses of /berth/v1/provider_trees/{root_uuid} (extensions.md 3)."""

from placement.errors import (
    DuplicateName,
    InventoryInUse,
    NamedProviderUnknown,
    ProviderHasChildren,
    ProviderInUse,
)
from placement.schemas.aggregates import UUIDS
from placement.schemas.allocations import RESHAPED
from placement.schemas.answer_shapes import (
    GENERATION,
    PROVIDER_UUID_KEY,
    AnswerTable,
    exactly,
    keyed,
)
from placement.schemas.answer_tables import extension_answers
from placement.schemas.inventories import STOCK
from placement.schemas.json_schema import INTEGER, Json, Schema, closed_object
from placement.schemas.resource_providers import NAME, UUID_OR_NULL
from placement.schemas.traits import NAMES

#: a uuid with dashes, as a key
_KEY = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_PROVIDER: Json = closed_object(
    {
        "name": NAME,
        "parent_provider_uuid": UUID_OR_NULL,
        "generation": {"type": ["integer", "null"]},
        "inventories": STOCK["properties"]["inventories"],
        "traits": NAMES,
        "aggregates": UUIDS,
    },
    ["generation"],
)


def _change(consumers: Json) -> Schema:
    return Schema(
        closed_object(
            {
                "providers": keyed(_KEY, _PROVIDER),
                "remove": keyed(_KEY, INTEGER),
                "allocations": consumers,
                "create_names": {"type": "boolean"},
            }
        ),
        exact_ends=True,
    )


#: versions before 1.30 have no reshape: there, consumers have the form of 1.30
CHANGE = {(1, 0): _change(RESHAPED[1, 30])} | {
    version: _change(consumers) for version, consumers in RESHAPED.items()
}
CHANGED: AnswerTable = {
    (1, 0): Schema(exactly({"generations": keyed(PROVIDER_UUID_KEY, GENERATION)}))
}

_PATH = "/berth/v1/provider_trees/{root_uuid}"
BODIES = {(_PATH, "PUT"): CHANGE}
RESPONSES = {
    _PATH: {
        "PUT": extension_answers(
            {200: CHANGED},
            *(403, 404, 415, NamedProviderUnknown, DuplicateName),
            *(InventoryInUse, ProviderInUse, ProviderHasChildren),
        ),
    }
}
