"""/traits (rest-api.md 3.12)."""

from placement.domain.names import is_valid_custom
from placement.errors import BadRequest, TraitNotFound
from placement.http.call import Answer, Call, newest
from placement.http.query import Query
from placement.operations import traits as operations
from placement.schemas import traits as schemas
from placement.storage import traits
from placement.storage.traits import TraitFilter


def list_all(call: Call) -> Answer:
    """GET /traits"""
    call.authorize("placement:traits:list")
    wanted = read_filter(call.query(schemas.LIST))
    found = call.database.read(lambda connection: traits.listed(connection, wanted))
    modified = newest(trait.modified for trait in found)
    return call.reply({"traits": [trait.name for trait in found]}, modified=modified)


def read_filter(query: Query) -> TraitFilter:
    """Parse the query of GET /traits. Raises BadRequest."""
    names, prefix = _read_name(query.get("name"))
    return TraitFilter(names, prefix, _read_associated(query.get("associated")))


def _read_name(value: str | None) -> tuple[tuple[str, ...] | None, str | None]:
    if value is None:
        return None, None
    operator, colon, operand = value.partition(":")
    if not colon:
        raise BadRequest(
            "Badly formatted name parameter. Expected name query string parameter in form: "
            f'?name=[in|startswith]:[name1,name2|prefix]. Got: "{value}"'
        )
    if operator == "in":
        return tuple(operand.split(",")), None
    # the reference accepts other operators and ignores them
    return None, operand if operator == "startswith" else None


def _read_associated(value: str | None) -> bool | None:
    if value is None:
        return None
    if value.lower() not in ("true", "false"):
        raise BadRequest('The query parameter "associated" only accepts "true" or "false"')
    return value.lower() == "true"


def show(call: Call, name: str) -> Answer:
    """GET /traits/{name}"""
    call.authorize("placement:traits:show")
    trait = call.database.read(lambda connection: traits.named(connection, [name])).get(name)
    if trait is None:
        raise TraitNotFound(name=name)
    return call.reply(modified=trait.modified)


def create(call: Call, name: str) -> Answer:
    """PUT /traits/{name}"""
    call.authorize("placement:traits:update")
    if not is_valid_custom(name):
        raise BadRequest(
            "The trait is invalid. A valid trait must be no longer than 255 characters, start "
            'with the prefix "CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"'
        )
    trait, created = operations.ensure_trait(call.database, name)
    return call.reply(
        status=201 if created else 204, modified=trait.modified, location=f"/traits/{name}"
    )


def delete(call: Call, name: str) -> Answer:
    """DELETE /traits/{name}"""
    call.authorize("placement:traits:delete")
    operations.delete_trait(call.database, name)
    return call.reply()
