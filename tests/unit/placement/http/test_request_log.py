"""Requests are counted where they are logged: each once, however it ends."""

import pytest

from placement.http.environ import ROUTE
from placement.http.request_log import RequestLog


class Told:
    """A meter that remembers what it is told."""

    def __init__(self):
        self.begun, self.found = 0, []

    def began(self):
        self.begun += 1

    def answered(self, method, route, status, seconds, statements, search, conflict):
        assert seconds >= 0
        self.found.append((method, route, status))


def ask(application, meter, **environ):
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/traits", **environ}
    counted = RequestLog(application, cost_line=False, meter=meter)
    return list(counted(environ, lambda *_: None))


def test_a_request_is_counted_with_what_is_known_when_its_answer_begins():
    meter = Told()

    def application(environ, start):
        environ[ROUTE] = "/traits"
        assert (meter.begun, meter.found) == (1, [])
        start("200 OK", [])
        return [b"text"]

    assert ask(application, meter) == [b"text"]
    assert meter.found == [("GET", "/traits", "200 OK")]


def test_an_answer_that_begins_again_is_counted_once():
    meter = Told()

    def application(environ, start):
        start("200 OK", [])
        start("500 Internal Server Error", [], None)
        return []

    ask(application, meter)
    assert (meter.begun, meter.found) == (1, [("GET", None, "200 OK")])


def test_a_request_without_an_answer_is_a_failure():
    def raises(environ, start):
        raise SystemExit

    meter = Told()
    with pytest.raises(SystemExit):
        ask(raises, meter)
    assert (meter.begun, meter.found) == (1, [("GET", None, "500")])
    meter = Told()
    ask(lambda environ, start: [], meter)
    assert (meter.begun, meter.found) == (1, [("GET", None, "500")])


def test_a_request_that_another_layer_counts_is_not_counted_again():
    meter = Told()

    def application(environ, start):
        start("401 Unauthorized", [])
        return []

    ask(application, meter, **{ROUTE: "/healthcheck"})
    assert (meter.begun, meter.found) == (0, [])
