"""placement-manage compare, when the other service or the operator's files are not as they should.

A crash would end with exit code 1, which says that the services differ.
"""

import json
import subprocess
import sys
import threading
from email.utils import formatdate
from types import SimpleNamespace

import pytest

from placement.compare import asking_in_process
from placement.compare.answers import ReceivedAnswer
from placement.compare.asking import HTTPService, Unanswered
from placement.compare.asking_in_process import WSGIService
from placement.compare.request import Request
from placement.compare.sample import NoSample, make
from placement.compare.tokens import GivenToken, NoToken
from placement.compare.verdict import header_differences
from tests.clock import Clock
from tests.functional.placement.served import served

DEEP = b"[" * 200_000 + b"]" * 200_000


def always(body):
    return lambda request: ReceivedAnswer(200, {}, body)


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"[]",
        b"{}",
        b"NaN",
        b'{"resource_providers": 5}',
        b'{"resource_providers": [null], "resource_classes": [], "traits": []}',
        b'{"resource_providers": [], "resource_classes": [{"name": "\\ud800"}], "traits": []}',
        json.dumps(
            {
                "resource_providers": [{"uuid": "a", "name": "a"}],
                "resource_classes": [],
                "traits": ["HW_A"],
                "aggregates": [],
                "allocations": {},
                "inventories": {"VCPU": {"step_size": 0, "min_unit": 1, "max_unit": 1}},
            }
        ).encode(),
        DEEP,
        b"[" + b"9" * 10_000 + b"]",
    ],
    ids=lambda body: body[:20].decode(),
)
def test_a_cloud_in_another_form_is_said_in_a_sentence(body):
    with pytest.raises(NoSample, match="The answer"):
        make(always(body), 39, 5, 0)


@pytest.mark.parametrize(
    "modified",
    [
        "Sun, 22 Nov 2026 10:00:00 -0000",
        "Sun, 22 Nov 99999999999999999999 10:00:00 GMT",
        "no date",
    ],
)
def test_a_date_that_is_none_is_a_difference(modified):
    date = "Sun, 22 Nov 2026 10:00:00 GMT"
    mine = ReceivedAnswer(200, {"last-modified": date, "date": date}, b"")
    theirs = ReceivedAnswer(200, {"last-modified": modified, "date": date}, b"")
    assert header_differences(theirs, mine) == [("header last-modified", modified, date)]


def test_a_slow_answer_in_this_process_has_the_date_of_its_end(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(asking_in_process, "time", SimpleNamespace(time=clock))

    def slow(environ, start_response):
        clock.now += 3
        start_response("200 OK", [("last-modified", formatdate(clock.now, usegmt=True))])
        clock.now += 3
        return [b""]

    headers = WSGIService("inside", slow).ask(Request("/traits", "1.6")).headers
    assert headers["date"] == headers["last-modified"]


@pytest.mark.parametrize("token", ["s3cr3t\n", "s3cr3t\r", "s3cr€t", "s3 cr3t", "s3cr3t\0"])
def test_a_token_that_can_not_be_sent_is_not_shown(token):
    with pytest.raises(NoToken) as raised:
        GivenToken(token)
    assert "s3" not in str(raised.value)


@pytest.mark.parametrize("headers", [[], [("Content-Length", "100000")]], ids=["chunks", "length"])
def test_an_answer_that_never_ends_is_given_up(headers):
    released = threading.Event()

    def dripping(environ, start_response):
        start_response("200 OK", [("Content-Type", "application/json"), *headers])
        while not released.wait(0.05):
            yield b" "

    with served(dripping) as url:
        try:
            with pytest.raises(Unanswered, match="no answer in time"):
                HTTPService(url, GivenToken(None), 0.5).ask(Request("/traits", "1.6"))
        finally:
            released.set()


@pytest.mark.parametrize("name", ["Accept", "accept", "ACCEPT"])
def test_a_header_of_a_file_is_sent_alone(name):
    seen = []

    def recording(environ, start_response):
        seen.append(environ["HTTP_ACCEPT"])
        start_response("200 OK", [])
        return [b""]

    request = Request("/traits", "1.6", ((name, "text/html"),))
    with served(recording) as url:
        HTTPService(url, GivenToken(None), 10).ask(request)
    WSGIService("inside", recording).ask(request)
    assert seen == ["text/html", "text/html"]


def test_a_result_that_can_not_be_written_is_said_in_a_sentence():
    code = (
        "import sys; from placement.cli import compare_command as compare; "
        "sys.exit(compare._shown('same', 0))"
    )
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True
        )
    said = "placement-manage compare: the result can't be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (3, said)
