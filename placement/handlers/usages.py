"""Usages of a provider and of a project (rest-api.md 3.6, 3.13)."""

from typing import Any

import flask

from placement.errors import NotFound, ProviderNotFound, worded
from placement.handlers.provider_requests import provider_with
from placement.http.call import NOW, Call
from placement.http.query import Query
from placement.schemas import usages as schemas
from placement.storage import allocations, usages


@worded((ProviderNotFound, NotFound, "No resource provider with uuid {uuid} found: {error}"))
def of_provider(call: Call, uuid: str) -> flask.Response:
    """GET /resource_providers/{uuid}/usages"""
    call.authorize("placement:resource_providers:usages")
    provider, used = provider_with(call, uuid, allocations.usage_of_provider)
    body = {"resource_provider_generation": provider.generation, "usages": used}
    return call.reply(body, modified=NOW)


def of_project(call: Call) -> flask.Response:
    """GET /usages"""
    project = Query(call.environ.get("QUERY_STRING", "")).get("project_id")
    call.authorize("placement:usages", {"project_id": project})
    query = call.query(schemas.LIST)
    user, wanted = query.get("user_id"), query.get("consumer_type")
    found = call.database.read(
        lambda connection: usages.of_project(connection, query.last()["project_id"], user)
    )
    body: dict[str, Any] = found.totals()
    if call.at_least(38):
        body = found.by_type(wanted)
    return call.reply({"usages": body}, modified=NOW)
