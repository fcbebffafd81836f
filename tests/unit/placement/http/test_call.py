"""Answers send their headers in the reference's order, with the length of their body."""

from unittest import mock

import pytest

from placement.http.call import Answer, Call

FORM = ("Content-Type", "application/json")
LOCATION = ("Location", "http://h/place")


def sent(answer, method="GET"):
    """Return status, headers and body of an answer to which two headers are added, as always."""
    begun = []
    answer.headers += [("served", "1.0")]
    body = answer({"REQUEST_METHOD": method}, lambda *told: begun.append(told))
    ((status, headers),) = begun
    return status, headers, b"".join(body)


@pytest.fixture
def call():
    environ = {"wsgi.url_scheme": "http", "HTTP_HOST": "h", "REQUEST_METHOD": "GET"}
    return Call(environ, (1, 0), None, mock.Mock())


def test_a_text_has_its_length_behind_its_form(call):
    status, headers, body = sent(call.reply({"a": "é"}, 201, location="/place"))
    length = ("Content-Length", str(len(body)))
    assert (status, headers) == ("201 CREATED", [LOCATION, FORM, length, ("served", "1.0")])


def test_pieces_have_their_length_at_the_end(call):
    status, headers, body = sent(call.reply(pieces=[b"[", b"]"], etag="t"))
    assert headers == [("ETag", '"t"'), FORM, ("served", "1.0"), ("Content-Length", "2")]
    assert (status, body) == ("200 OK", b"[]")


@pytest.mark.parametrize("answer", [Answer(204, []), Answer(304, [])])
def test_some_have_no_body_and_no_length(answer):
    assert sent(answer)[1:] == ([("served", "1.0")], b"")


def test_a_creation_without_a_body_says_so(call):
    _, headers, body = sent(call.reply(status=201, location="/place"))
    assert (headers, body) == ([LOCATION, ("served", "1.0"), ("Content-Length", "0")], b"")


def test_head_gets_the_headers_alone():
    _, headers, body = sent(Answer(200, [], [b"ab"]), "HEAD")
    assert (headers, body) == ([("served", "1.0"), ("Content-Length", "2")], b"")
