"""/berth/v1/openapi.json and .yaml: the API as OpenAPI (extensions.md 11)."""

from placement.extensions.openapi import schema as schemas
from placement.http import entity_tags
from placement.http.call import Answer, Call
from placement.microversions import named


def show_json(call: Call) -> Answer:
    """GET /berth/v1/openapi.json

    Describe the API as OpenAPI 3.1.
    """
    return _described(call)


def show_yaml(call: Call) -> Answer:
    """GET /berth/v1/openapi.yaml

    Describe the API as OpenAPI 3.1, in YAML.
    """
    return _described(call)


def _described(call: Call) -> Answer:
    query = call.query(schemas.LIST)
    query.refuse_repeated(schemas.OWN)
    wanted = query.get("microversion")
    found = call.described(None if wanted is None else named(wanted), call.form)
    if entity_tags.is_named(found.tag, call.environ.get("HTTP_IF_NONE_MATCH")):
        return call.unchanged(found.tag, by_form=False)
    return call.reply(text=found.text, cached=True, etag=found.tag)
