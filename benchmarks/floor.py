"""The floor: a Flask application that only returns fixed bytes."""

import functools
import os
from pathlib import Path

import flask

application = flask.Flask("floor")


@functools.cache
def _content(name: str) -> bytes:
    return Path(os.environ["FLOOR_FOLDER"], name).read_bytes()


@application.get("/<name>")
def answer(name: str) -> flask.Response:
    """Return the bytes of that name."""
    return flask.Response(_content(name), mimetype="application/json")
