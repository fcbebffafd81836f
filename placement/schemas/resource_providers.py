"""Bodies and queries of /resource_providers (rest-api.md 3.1, 3.2)."""

from placement.schemas.schema import STRING, UUID, Schema, closed_object

_NAME = {"type": "string", "maxLength": 200}
_UUID_OR_NULL = {"anyOf": [UUID, {"type": "null"}]}

CREATE = {
    (1, 0): Schema(closed_object({"name": _NAME, "uuid": UUID}, ["name"])),
    (1, 14): Schema(
        closed_object(
            {"name": _NAME, "uuid": UUID, "parent_provider_uuid": _UUID_OR_NULL}, ["name"]
        )
    ),
}

UPDATE = {
    (1, 0): Schema(closed_object({"name": _NAME}, ["name"])),
    (1, 14): Schema(
        closed_object({"name": _NAME, "parent_provider_uuid": _UUID_OR_NULL}, ["name"])
    ),
}


def _list_query(*names: str) -> Schema:
    properties = {name: UUID if name in ("uuid", "in_tree") else STRING for name in names}
    return Schema(closed_object(properties), strict_uuids=True)


LIST = {
    (1, 0): _list_query("name", "uuid"),
    (1, 3): _list_query("name", "uuid", "member_of"),
    (1, 4): _list_query("name", "uuid", "member_of", "resources"),
    (1, 14): _list_query("name", "uuid", "member_of", "resources", "in_tree"),
    (1, 18): _list_query("name", "uuid", "member_of", "resources", "in_tree", "required"),
}
