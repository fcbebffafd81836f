"""Rendering of errors (rest-api.md 1.5, 1.6)."""

import json

import pytest

from placement import errors, microversions
from placement.http import error_body
from placement.http.environ import CONTEXT, VERSION
from placement.http.identity.authentication import RequestContext
from placement.microversions import NEWEST, UnacceptableVersion

CONTEXT_OF_REQUEST = RequestContext()


def answer(error, accept="application/json", version=(1, 39), **environ):
    return error_body.answer(
        {
            "REQUEST_METHOD": "PUT",
            "HTTP_ACCEPT": accept,
            CONTEXT: CONTEXT_OF_REQUEST,
            VERSION: version,
            **environ,
        },
        error,
    )


def described(error, **circumstances):
    return json.loads(answer(error, **circumstances).body)["errors"][0]


def test_an_error_has_status_title_detail_code_and_request_id_in_this_order():
    assert list(described(errors.ProviderNotFound(uuid="u")).items()) == [
        ("status", 404),
        ("title", "Not Found"),
        (
            "detail",
            "The resource could not be found.\n\n No resource provider with uuid u found  ",
        ),
        ("code", "placement.undefined_code"),
        ("request_id", CONTEXT_OF_REQUEST.request_id),
    ]


@pytest.mark.parametrize("accept", ["application/json", "text/plain", "text/html"])
def test_a_message_that_repeats_a_long_body_is_cut_in_its_middle(accept):
    text = answer(errors.BadRequest("begin " + "x" * 2**20 + " end"), accept=accept).text
    assert ("begin x" in text, "x end" in text) == (True, True)
    assert "(1028586 characters are left out)" in text
    assert len(text) < error_body.LONGEST + 1_000


def test_a_message_of_the_longest_length_is_not_cut():
    message = "m" * error_body.LONGEST
    assert described(errors.BadRequest(message))["detail"].endswith(f"\n\n {message}  ")


@pytest.mark.parametrize(
    ("version", "has_code"), [((1, 22), False), ((1, 23), True), (None, False)]
)
def test_errors_have_a_code_from_1_23_on(version, has_code):
    assert ("code" in described(errors.DuplicateName("x"), version=version)) is has_code


@pytest.mark.parametrize(
    ("error", "start", "end"),
    [
        (errors.BadRequest("m"), "The server could not comply with the request", "\n\n m  "),
        (errors.Forbidden("m"), "Access was denied to this resource.", "\n\n m  "),
        (errors.NotFound(""), "The resource could not be found.", "\n\n   "),
        (errors.Conflict("m"), "There was a conflict when trying to complete", "\n\n m  "),
        (errors.PlacementError("m"), "The server has either erred or is incapable", "\n\n m  "),
        (
            errors.MethodNotAllowed(),
            "The method PUT is not allowed for this resource. ",
            "resource.",
        ),
        (
            errors.NotAcceptable("m"),
            "The resource could not be generated that was acceptable to your browser (content of "
            "type application/json. ",
            "\n\n m",
        ),
    ],
)
def test_each_status_has_its_explanation(error, start, end):
    detail = described(error)["detail"]
    assert (detail.startswith(start), detail.endswith(end)) == (True, True)


@pytest.mark.parametrize(
    ("declared", "named"),
    [
        ({"CONTENT_TYPE": "text/plain"}, "text/plain"),
        ({}, "None"),
        ({"CONTENT_TYPE": ""}, "None"),
    ],
)
def test_a_media_type_that_is_not_supported_is_named(declared, named):
    error = errors.UnsupportedMediaType(media_type=named)
    assert described(error, **declared)["detail"] == (
        f"The request media type {named} is not supported by this server. \n\n "
        f"The media type {named} is not supported, use application/json"
    )


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("one\ntwo", "one two"),
        ("one\rtwo", "onetwo"),
        ("a <b>bold</b> name", "a bold name"),
        ("a < b > c", "a  c"),
        ("fish & chips 'x' \"y\"", "fish & chips 'x' \"y\""),
        ("one<br>two", "one\ntwo"),
    ],
)
def test_line_ends_and_tags_are_removed_from_the_message(message, shown):
    assert described(errors.NotFound(message))["detail"].endswith(f"\n\n {shown}  ")


def test_the_error_of_a_version_that_is_not_served_names_the_served_ones():
    found = described(UnacceptableVersion(why="x"), version=None)
    assert (found["max_version"], found["min_version"]) == (microversions.name(NEWEST), "1.0")


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("application/json", "application/json"),
        ("text/html", "text/html; charset=UTF-8"),
        ("text/*", "text/html; charset=UTF-8"),
        ("text/html, */*", "text/html; charset=UTF-8"),
        ("text/plain", "text/plain; charset=UTF-8"),
        ("image/png", "text/plain; charset=UTF-8"),
    ],
)
def test_the_form_of_an_error_is_the_one_the_client_accepts(accept, content_type):
    assert answer(errors.NotFound("x"), accept).headers["content-type"] == content_type


def test_the_plain_form_has_the_status_and_the_detail():
    text = answer(errors.NotFound("gone"), "text/plain").text
    assert text.startswith("404 Not Found\n\nThe resource could not be found.\n\n gone")


def test_markup_in_the_html_form_is_escaped():
    assert "<script>" not in answer(errors.NotFound("<script>alert(1)</script>"), "text/html").text


def test_allow_has_the_order_of_the_route():
    error = errors.MethodNotAllowed(allow=("GET", "PUT"))
    assert answer(error).headers["allow"] == "GET, PUT"


def test_a_method_that_an_old_version_lacks_is_rejected_without_allow():
    assert "allow" not in answer(errors.MethodNotAllowed("")).headers


def test_a_401_has_no_list_of_errors():
    environ = {"REQUEST_METHOD": "GET", "HTTP_ACCEPT": "application/json"}
    body = json.loads(error_body.unauthorized(environ).body)
    assert (sorted(body), body["code"]) == (["code", "message", "title"], "401 Unauthorized")
