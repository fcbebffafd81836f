"""Usages of a provider and of a project (rest-api.md 3.6, 3.13)."""

from typing import Any

from placement.errors import NotFound, ProviderNotFound, worded
from placement.http.call import NOW, Answer, Call
from placement.http.query import Query
from placement.schemas import usages as schemas
from placement.storage import allocations


@worded((ProviderNotFound, NotFound, "No resource provider with uuid {uuid} found: {error}"))
def of_provider(call: Call, uuid: str) -> Answer:
    """GET /resource_providers/{uuid}/usages"""
    call.authorize("placement:resource_providers:usages")
    generation, used = allocations.usage_of_provider(call.database, uuid)
    body = {"resource_provider_generation": generation, "usages": used}
    return call.reply(body, modified=NOW)


def of_project(call: Call) -> Answer:
    """GET /usages"""
    project = Query(call.environ.get("QUERY_STRING", "")).get("project_id")
    call.authorize("placement:usages", {"project_id": project})
    query = call.query(schemas.LIST)
    user, wanted = query.get("user_id"), query.get("consumer_type")
    by_type = call.at_least(38)
    found = call.usages.of_project(query.last()["project_id"], user, by_type)
    body: dict[str, Any] = found.by_type(wanted) if by_type else found.totals()
    return call.reply({"usages": body}, modified=NOW)
