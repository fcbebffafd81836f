"""/berth/v1/openapi.json and .yaml: the API as OpenAPI (extensions.md 11)."""

import flask

from placement.http.call import NOW, Call
from placement.microversions import named
from placement.schemas import openapi as schemas


def show_json(call: Call) -> flask.Response:
    """GET /berth/v1/openapi.json

    Describe the API as OpenAPI 3.1.
    """
    return _described(call)


def show_yaml(call: Call) -> flask.Response:
    """GET /berth/v1/openapi.yaml

    Describe the API as OpenAPI 3.1, in YAML.
    """
    return _described(call)


def _described(call: Call) -> flask.Response:
    wanted = call.query(schemas.LIST).get("microversion")
    version = None if wanted is None else named(wanted)
    return call.reply(text=call.described(version, call.form), modified=NOW)
