"""/resource_classes (rest-api.md 3.11)."""

from placement.errors import (
    BadRequest,
    Conflict,
    ResourceClassInUse,
    SchemaMismatch,
    StandardNameFixed,
    worded,
)
from placement.http.call import Answer, Call, newest
from placement.operations import resource_classes as operations
from placement.schemas import resource_classes as schemas
from placement.schemas.json_schema import pick
from placement.storage import resource_classes


def body_of(call: Call, name: str) -> dict[str, object]:
    """Return a resource class as bodies show it."""
    href = call.path("resource_classes", name)
    return {"name": name, "links": [{"rel": "self", "href": href}]}


def list_all(call: Call) -> Answer:
    """GET /resource_classes"""
    call.authorize("placement:resource_classes:list")
    found = call.database.read(resource_classes.all_of_them)
    bodies = [body_of(call, resource_class.name) for resource_class in found]
    modified = newest(resource_class.modified for resource_class in found)
    return call.reply({"resource_classes": bodies}, modified=modified)


def create(call: Call) -> Answer:
    """POST /resource_classes"""
    call.authorize("placement:resource_classes:create")
    name = call.read(schemas.NAMED)["name"]
    operations.create_resource_class(call.database, name)
    return call.reply(status=201, location=f"/resource_classes/{name}")


def show(call: Call, name: str) -> Answer:
    """GET /resource_classes/{name}"""
    call.authorize("placement:resource_classes:show")
    found = call.database.read(lambda connection: resource_classes.get(connection, name))
    return call.reply(body_of(call, found.name), modified=found.modified)


def rename(call: Call, name: str) -> Answer:
    """PUT /resource_classes/{name}, until 1.6"""
    call.authorize("placement:resource_classes:update")
    new_name = call.read(schemas.NAMED)["name"]
    operations.rename_resource_class(call.database, name, new_name)
    return call.reply(body_of(call, new_name))


def ensure(call: Call, name: str) -> Answer:
    """PUT /resource_classes/{name}, from 1.7 on"""
    call.authorize("placement:resource_classes:update")
    reason = pick(schemas.NAMED, call.version).why_not({"name": name})
    if reason is not None:
        raise SchemaMismatch(why=reason)
    created = operations.ensure_resource_class(call.database, name)
    return call.reply(status=201 if created else 204, location=f"/resource_classes/{name}")


@worded(
    (StandardNameFixed, BadRequest, "Error in delete resource class: {error}"),
    (ResourceClassInUse, Conflict, "Error in delete resource class: {error}"),
)
def delete(call: Call, name: str) -> Answer:
    """DELETE /resource_classes/{name}"""
    call.authorize("placement:resource_classes:delete")
    operations.delete_resource_class(call.database, name)
    return call.reply()
