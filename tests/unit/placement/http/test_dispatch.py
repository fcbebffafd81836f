"""Checks of paths, Content-Length, Content-Type and Accept (rest-api.md 1.4, 1.5)."""

import re
import types

import pytest

from placement.errors import NoSuchRoute, NotAcceptable, UnreadableContent, UnsupportedMediaType
from placement.http import dispatch
from placement.http.environ import JSON, NDJSON
from placement.routes import ROUTES


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"CONTENT_LENGTH": ""},
        {"CONTENT_LENGTH": "0"},
        {"CONTENT_LENGTH": "5", "CONTENT_TYPE": "text/plain"},
    ],
)
def test_content_with_a_type_and_no_content_are_accepted(environ):
    assert dispatch.check_length(environ) is None


@pytest.mark.parametrize("declared", [{}, {"CONTENT_TYPE": ""}])
def test_content_without_a_type_is_rejected(declared):
    with pytest.raises(UnreadableContent, match="content-type header required"):
        dispatch.check_length({"CONTENT_LENGTH": "1", **declared})


def test_a_length_that_is_no_integer_is_rejected():
    with pytest.raises(UnreadableContent, match="content-length header must be an integer"):
        dispatch.check_length({"CONTENT_LENGTH": "much"})


@pytest.mark.parametrize("media_type", ["application/json", "application/json; charset=utf-8"])
def test_json_is_accepted_with_any_parameters(media_type):
    assert dispatch.check_is_json({"CONTENT_TYPE": media_type}) is None


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"CONTENT_TYPE": "text/plain"}, "text/plain"),
        ({"CONTENT_TYPE": "text/plain; charset=utf-8"}, "text/plain"),
        ({"CONTENT_TYPE": "application/jsonx"}, "application/jsonx"),
        ({"CONTENT_TYPE": ""}, "None"),
        ({}, "None"),
    ],
)
def test_other_media_types_are_not_supported(environ, named):
    with pytest.raises(UnsupportedMediaType) as refused:
        dispatch.check_is_json(environ)
    assert refused.value.message == (
        f"The media type {named} is not supported, use application/json"
    )


@pytest.mark.parametrize(
    "accept",
    [None, "application/json", "*/*", "application/*", "text/html, */*;q=0.1", "nonsense/;;"],
)
def test_clients_that_accept_json_are_served(accept):
    environ = {} if accept is None else {"HTTP_ACCEPT": accept}
    assert dispatch.accepted(environ) == "application/json"


@pytest.mark.parametrize(
    "accept",
    ["text/html", "application/json;q=0", "application/json;version=1", "text/*, image/png"],
)
def test_clients_that_do_not_accept_json_are_rejected(accept):
    with pytest.raises(NotAcceptable, match="Only application/json is provided"):
        dispatch.accepted({"HTTP_ACCEPT": accept})


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/x-ndjson", "application/x-ndjson"),
        ("application/x-ndjson, application/json", "application/json"),
        ("application/x-ndjson, application/json;q=0.9", "application/x-ndjson"),
        ("application/x-ndjson, */*;q=0.1", "application/x-ndjson"),
        ("nonsense/;;", "application/json"),
    ],
)
def test_the_client_chooses_among_the_forms(accept, form):
    environ = {} if accept is None else {"HTTP_ACCEPT": accept}
    assert dispatch.accepted(environ, (JSON, NDJSON)) == form


def test_clients_that_accept_no_form_are_rejected():
    with pytest.raises(NotAcceptable, match="Only application/json, application/x-ndjson is"):
        dispatch.accepted({"HTTP_ACCEPT": "text/html"}, (JSON, NDJSON))


@pytest.fixture
def application():
    options = types.SimpleNamespace(berth=types.SimpleNamespace(max_body_size=1))
    return dispatch.Placement(ROUTES, types.SimpleNamespace(conf=options))


@pytest.mark.parametrize("path", [path for path in ROUTES if "<" in path])
def test_an_empty_segment_is_no_name(application, path):
    with pytest.raises(NoSuchRoute):
        application._paths.find(re.sub("<.*?>", "", path))


def test_tools_find_the_paths_and_views_that_requests_find(application):
    paths = application.url_map.bind("placement")
    for path in ROUTES:
        example = re.sub("[<>]", "", path)
        name, names = paths.match(example)
        assert (application.view_functions[name], names) == application._paths.find(example)
