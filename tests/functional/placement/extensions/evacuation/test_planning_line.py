"""One plan of a process is made at a time; the others wait in line (extensions.md 6)."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace

import pytest

from placement.extensions.evacuation import planning_line
from placement.extensions.evacuation.planning_line import MOST_WAITING
from placement.http.environ import PREFIX, STAND_IN, STOPPING
from tests.faults.running import eventually
from tests.functional.placement.small_cloud import ROOT, expect, fill
from tests.patience import PATIENCE

pytestmark = pytest.mark.spread_over_databases

PLANS = {
    "/plans/room": {"query": "resources=VCPU:1"},
    "/plans/survives": {"each": "root"},
    "/capacity/evacuate": {"without": [ROOT]},
}


class Line:
    """Requests that plan, while this test has the turn."""

    def __init__(self, service, stack):
        self.service = service
        #: counts who waits and lets another thread answer
        self.waits = threading.Semaphore(0)
        self.threads = stack.enter_context(ThreadPoolExecutor(MOST_WAITING + 1))
        self.turn = stack.enter_context(ExitStack())
        self.turn.enter_context(planning_line.turn_of(SimpleNamespace(stand_in=nullcontext)))

    def ask(self, path="/capacity/evacuate", **environ):
        @contextmanager
        def stand_in():
            self.waits.release()
            yield

        environ = {STAND_IN: stand_in} | environ
        asked = self.service.post(f"{PREFIX}{path}", PLANS[path], environ_overrides=environ)
        return asked.status_code, asked.json.get("errors", [{}])[0].get("code")

    def wait(self, *given, **environ):
        """Ask in a thread, and return when the request waits in line."""
        answer = self.threads.submit(self.ask, *given, **environ)
        assert self.waits.acquire(timeout=PATIENCE)
        return answer


@pytest.fixture
def line(service, monkeypatch):
    # who waits does so for as long as the test, however slow the machine is
    monkeypatch.setattr(planning_line, "LONGEST_WAIT", PATIENCE)
    fill(service)
    with ExitStack() as stack:
        yield Line(service.unjudged(), stack)


@pytest.mark.parametrize("path", PLANS)
def test_a_plan_waits_for_its_turn_while_others_are_answered(line, path):
    waiting = line.wait(path)
    expect(line.service.get("/resource_providers"), 200)
    assert not waiting.done()
    line.turn.close()
    assert waiting.result(PATIENCE) == (200, None)


def test_the_line_has_an_end(line):
    waiting = [line.wait() for _ in range(MOST_WAITING)]
    refused = line.service.post(f"{PREFIX}/plans/room", PLANS["/plans/room"])
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "20")
    assert refused.json["errors"][0]["code"] == "berth.too_many_plans"
    line.turn.close()
    assert {one.result(PATIENCE) for one in waiting} == {(200, None)}
    assert line.ask() == (200, None)


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        ({"waitress.client_disconnected": lambda: True}, "berth.search_abandoned"),
        ({STOPPING: lambda: True}, "berth.too_many_plans"),
    ],
)
def test_who_needs_no_plan_any_more_leaves_the_line(line, monkeypatch, environ, code):
    monkeypatch.setattr(planning_line, "LOOK_EVERY", 0.001)
    assert line.wait(**environ).result(PATIENCE) == (503, code)


def test_nobody_waits_for_ever(line, monkeypatch):
    monkeypatch.setattr(planning_line, "LONGEST_WAIT", 0)
    monkeypatch.setattr(planning_line, "LOOK_EVERY", 0.001)
    assert line.ask() == (503, "berth.too_many_plans")


@pytest.mark.parametrize(("server", "waiting"), [({}, 0), ({"wsgi.multithread": True}, 1)])
def test_fewer_wait_for_whom_no_thread_stands_in(line, server, waiting):
    server = {"environ_overrides": server}
    path, plan = f"{PREFIX}/plans/room", PLANS["/plans/room"]
    answers = [line.threads.submit(line.service.post, path, plan, **server) for _ in range(waiting)]
    eventually(lambda: len(planning_line._line) == waiting)
    refused = line.service.post(path, plan, **server)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "20")
    line.turn.close()
    for one in answers:
        expect(one.result(PATIENCE), 200)


@pytest.mark.parametrize(
    ("query", "user", "status"), [("resources=VCPU:1", "nobody", 403), ("nothing=1", "admin", 400)]
)
def test_what_is_refused_anyway_does_not_wait(line, query, user, status):
    caller = {"x-auth-token": user, "x-roles": user}
    refused = line.service.post(f"{PREFIX}/plans/room", {"query": query}, headers_more=caller)
    assert refused.status_code == status
