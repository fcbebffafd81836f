"""/metrics and /metrics/providers for callers with a token (extensions.md 8)."""

from typing import cast

import flask

from placement.http.call import Call


def show(call: Call) -> flask.Response:
    """GET /metrics"""
    return _page(call, "/metrics")


def show_providers(call: Call) -> flask.Response:
    """GET /metrics/providers"""
    return _page(call, "/metrics/providers")


def _page(call: Call, path: str) -> flask.Response:
    call.authorize("berth:metrics")
    answer = flask.Response.from_app(call.pages[path], call.environ)
    return cast(flask.Response, answer)
