"""placement-manage compare: two services, one of which may be wrong."""

import copy
import gzip
import json
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import pytest

from placement.cli import compare_command, manage
from placement.compare import report
from placement.compare.answers import Reader
from placement.compare.asking import WSGIService
from placement.compare.request import read_requests
from placement.compare.run import Comparison
from placement.compare.verdict import Judge
from tests.functional.placement.served import Recorded, Tampered, served
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import CHILD, HOLDER, ROOT, fill, numbered

SECRET = "s3cr3t-token"
PATH = f"/resource_providers/{ROOT}"
SEARCH = "/allocation_candidates?resources=VCPU:1"


@pytest.fixture
def database_kind():
    return "sqlite"


@pytest.fixture
def service(database_url, monkeypatch):
    """Return a service with a small cloud; its database is the configured one."""
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database_url)
    monkeypatch.setenv("OS_TOKEN", "admin")
    monkeypatch.setattr(compare_command, "_LONGEST_PAUSE", 0)
    service = Service(database_url, berth__noauth2_admin_roles=["admin", "service"])
    fill(service)
    return service


@pytest.fixture
def application(service):
    return service.app.application


@pytest.fixture
def url(application):
    with served(application) as url:
        yield url


@pytest.fixture
def run(capfd, own_logging, monkeypatch, tmp_path):
    """Return a function that runs the command and returns exit code, output and errors."""
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(*arguments):
        try:
            code = manage.main(["compare", "--rate", "0", *arguments])
        except SystemExit as end:
            code = end.code
        told = capfd.readouterr()
        return code, told.out, told.err

    return run


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a file of requests and returns the options for it."""

    def write(*lines):
        path = tmp_path / "requests"
        path.write_text("".join(f"{line}\n" for line in lines))
        return ["--requests", str(path)]

    return write


def counts(out):
    """Return the numbers of the JSON report."""
    return {kind: number for kind, number in json.loads(out)["counts"].items() if number}


def test_requests_made_from_the_cloud_have_the_same_answers(run, service, url):
    before = service.tables()
    code, out, _ = run("--with", url, "--format", "json")
    told = json.loads(out)
    assert (code, counts(out)) == (0, {"same": told["requests"]}), out
    assert told["requests"] > 150
    assert {"200", "204", "400", "404", "406"} >= told["statuses"].keys() >= {"200", "400", "404"}
    assert told["statuses"]["200"] > 120
    assert service.tables() == before


def test_they_are_about_everything_that_the_cloud_has(run, service, application):
    recorded = Recorded(application)
    with served(recorded) as url:
        run("--with", url)
    paths = {path for _, path, _ in recorded.requests}
    assert {"/", "/traits", "/resource_classes/CUSTOM_A", f"/allocations/{HOLDER}"} <= paths
    for part in ("", "/inventories", "/usages", "/aggregates", "/traits", "/allocations"):
        assert {f"/resource_providers/{uuid}{part}" for uuid in (ROOT, CHILD)} <= paths
    searches = [path for path in paths if path.startswith("/allocation_candidates")]
    for word in ("limit=", "required=", "member_of=", "in_tree=", "isolate", "same_subtree"):
        assert [path for path in searches if word in path], word
    versions = {headers.get("openstack-api-version") for _, _, headers in recorded.requests}
    assert {None, "placement 1.0", "placement 1.28", "placement 1.39"} <= versions


def test_two_running_services_are_compared_without_a_database(
    run, url, application, monkeypatch, file
):
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION")
    with served(application) as second:
        code, out, _ = run("--with", url, "--url", second, *file(f"GET {PATH}"))
    assert (code, f"this service:   {second}\n" in out) == (0, True)
    assert f"other service:  {url}\n" in out


def test_only_get_requests_without_a_body_are_sent(run, service, application):
    recorded = Recorded(application)
    with served(recorded) as url:
        run("--with", url, "--sample", "1")
    assert {method for method, _, _ in recorded.requests} == {"GET"}
    sent = {name for _, _, headers in recorded.requests for name in headers}
    assert sent & {"content-length", "transfer-encoding", "content-type"} == set()


def changed_body(path, change):
    """Return a fault of one path: a function changes the body, or returns another one."""

    def fault(asked, status, headers, body):
        if asked == path and status == 200:
            body = copy.deepcopy(body)
            body = change(body) or body
        return status, headers, body

    return fault


def changed_header(name, value):
    def fault(asked, status, headers, body):
        if asked == PATH:
            headers = {k: v for k, v in headers.items() if k.lower() != name}
            if value is not None:
                headers[name] = value
        return status, headers, body

    return fault


def changed_answer(path, status, body=None):
    def fault(asked, was, headers, content):
        return (
            (status, headers, content if body is None else body)
            if asked == path
            else (
                was,
                headers,
                content,
            )
        )

    return fault


def first_candidate(change):
    def of_body(body):
        change(body["allocation_requests"][0]["allocations"])

    return changed_body("/allocation_candidates", of_body)


def of_stock(change):
    return changed_body(f"{PATH}/inventories", lambda body: change(body["inventories"]["VCPU"]))


def double(amounts):
    for part in amounts.values():
        part["resources"]["VCPU"] *= 2


FAULTS = {
    "another status": (changed_answer(PATH, 404), "status: other 200, this 404"),
    "a crash": (changed_answer(PATH, 500), "status: other 200, this 500"),
    "a redirection": (changed_answer(PATH, 302), "status: other 200, this 302"),
    "no JSON": (changed_answer(PATH, 200, b"<html>"), "body: other"),
    "nothing": (changed_answer(PATH, 200, b""), "body: other"),
    "a value": (of_stock(lambda one: one.update(total=9)), "VCPU.total: other 8, this 9"),
    "a type": (of_stock(lambda one: one.update(total=8.0)), "VCPU.total: other 8, this 8.0"),
    "a float": (
        of_stock(lambda one: one.update(allocation_ratio=1.0001)),
        "allocation_ratio: other 1.0, this 1.0001",
    ),
    "a missing key": (of_stock(lambda one: one.pop("reserved")), "reserved: other 0, this -"),
    "one key more": (of_stock(lambda one: one.update(more=1)), "VCPU.more: other -, this 1"),
    "a missing item": (
        changed_body("/resource_providers", lambda body: body["resource_providers"].pop()),
        "body.resource_providers: other",
    ),
    "an item twice": (
        changed_body(f"{PATH}/traits", lambda body: body["traits"].append("CUSTOM_T")),
        "body.traits: other",
    ),
    "another text of an error": (
        changed_answer("/nothing", 404, b'{"errors": []}'),
        "body.errors: other",
    ),
    "no version header": (changed_header("openstack-api-version", None), "openstack-api-version"),
    "another version": (
        changed_header("openstack-api-version", "placement 1.38"),
        "openstack-api-version: other placement 1.39, this placement 1.38",
    ),
    "no vary": (changed_header("vary", None), "header vary"),
    "no cache-control": (changed_header("cache-control", None), "cache-control: other no-cache"),
    "no last-modified": (changed_header("last-modified", None), "header last-modified"),
    "an old last-modified": (
        changed_header("last-modified", "Mon, 01 Jan 2001 00:00:00 GMT"),
        "this Mon, 01 Jan 2001",
    ),
    "another type of content": (changed_header("content-type", "text/html"), "content-type"),
    "a location": (changed_header("location", "http://elsewhere/"), "header location"),
    "a missing candidate": (
        changed_body("/allocation_candidates", lambda body: body["allocation_requests"].clear()),
        "body.allocation_requests",
    ),
    "another amount": (first_candidate(double), "resources.VCPU"),
    "another summary": (
        changed_body(
            "/allocation_candidates",
            lambda body: body["provider_summaries"][ROOT].update(traits=[]),
        ),
        "traits",
    ),
}
QUESTIONS = (
    *(f"GET {path}" for path in (PATH, f"{PATH}/inventories", f"{PATH}/traits", "/nothing")),
    *("GET /resource_providers", f"GET {SEARCH}", f"GET {SEARCH}&limit=1000"),
)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """Return the application of a service that no test changes."""
    url = f"sqlite:///{tmp_path_factory.mktemp('lasting')}/placement.db"
    service = Service(url)
    fill(service)
    return service.app.application


class Nothing:
    """A cloud without anything that deviations depend on."""

    has_sharing_providers = optimizes_wide_trees = False


@pytest.mark.parametrize("kind", FAULTS)
def test_a_wrong_answer_is_found(kind, lasting):
    fault, shown = FAULTS[kind]
    caller = {"X-Auth-Token": "admin"}
    other = WSGIService("right", lasting, headers=caller)
    this = WSGIService("wrong", Tampered(lasting, fault), headers=caller)
    judge = Judge(Reader(), Reader(), "", "", Nothing())
    tally = Comparison(other, this, judge, tries=1).run(read_requests(QUESTIONS, "1.39"))
    compared = report.Compared("wrong", "right", len(QUESTIONS), tally, {})
    text = report.text(compared, 20)
    assert report.exit_code(compared) == 1, text
    assert ("DIFFERENT  GET " in text, shown in text) == (True, True), text


def test_a_wrong_answer_is_found_over_http(run, application, url, file):
    fault, shown = FAULTS["a value"]
    with served(Tampered(application, fault)) as wrong:
        code, out, _ = run("--with", url, "--url", wrong, *file(*QUESTIONS))
    assert (code, "DIFFERENT  GET " in out, shown in out) == (1, True, True), out
    assert "The services answer differently." in out


def turned_around(body):
    """Return the same with other orders of keys and lists, another request id and other links."""
    if isinstance(body, dict):
        return {
            key: "req-11111111-1111-1111-1111-111111111111"
            if key == "request_id"
            else turned_around(value)
            for key, value in reversed(body.items())
        }
    return [turned_around(item) for item in reversed(body)] if isinstance(body, list) else body


def test_what_no_client_may_rely_on_is_no_difference(run, application, url, file):
    def change(asked, status, headers, body):
        links = isinstance(body, dict) and "links" in body
        headers = {name.title(): value for name, value in headers.items()}
        headers |= {"Via": "1.1 proxy"}
        if "Vary" in headers:
            headers["Vary"] = "Accept-Encoding, openstack-api-version"
        if "Content-Type" in headers:
            headers["Content-Type"] = "application/JSON"
        # the order of links is defined
        return status, headers, body if links else turned_around(body)

    questions = [line for line in QUESTIONS if line != "GET /resource_providers"]
    with served(Tampered(application, change)) as turned:
        code, out, _ = run("--with", url, "--url", turned, *file(*questions))
    assert (code, f"{len(questions)}  same\n" in out) == (0, True), out


def below(application, prefix):
    """Mount an application below a path, as a proxy or server does."""

    def mounted(environ, start_response):
        assert environ["PATH_INFO"].startswith(f"{prefix}/")
        environ["SCRIPT_NAME"] += prefix
        environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix(prefix)
        return application(environ, start_response)

    return mounted


def test_services_below_different_paths_have_the_same_links(run, application, url):
    with served(below(application, "/placement")) as mounted:
        whole = f"{mounted}/placement"
        ways = (["--with", f"{whole}/"], ["--with", url, "--url", whole])
        codes = [run(*way, "--sample", "2")[0] for way in ways]
    assert codes == [0, 0]


# Candidates under a limit


@pytest.fixture
def many(service):
    """Add providers, so that a search finds more than a limit lets through."""
    for number in range(10, 16):
        body = {"name": f"more-{number}", "uuid": numbered("a", number)}
        service.write("POST", "/resource_providers", body)
        stock = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}
        service.write("PUT", f"/resource_providers/{body['uuid']}/inventories", stock)


def last_ones(count, spoil=lambda candidates: None):
    """Return a fault of searches with a limit: the last candidates of all instead of the first."""

    def fault(asked, status, headers, body):
        if asked == "/allocation_candidates" and len(body["allocation_requests"]) == count:
            body = copy.deepcopy(last_ones.all)
            body["allocation_requests"] = body["allocation_requests"][-count:]
            spoil(body["allocation_requests"])
        elif asked == "/allocation_candidates":
            last_ones.all = body
        return status, headers, body

    return fault


@pytest.mark.parametrize(
    ("spoil", "code", "shown"),
    [
        (lambda candidates: None, 0, "1  same"),
        (lambda candidates: candidates.pop(), 1, "choice: candidates: 2 instead of 3"),
        (lambda candidates: double(candidates[0]["allocations"]), 1, "choice: not among all"),
    ],
    ids=["all are right", "too few", "a wrong one"],
)
def test_a_choice_under_a_limit_is_judged_by_all_candidates(
    spoil, code, shown, run, application, url, file, service, many
):
    last_ones.all = json.loads(service.get(SEARCH).data)
    with served(Tampered(application, last_ones(3, spoil))) as other_choice:
        given = run("--with", url, "--url", other_choice, *file(f"GET {SEARCH}&limit=3"))
    assert (given[0], shown in given[1]) == (code, True), given[1]


def test_a_choice_that_can_not_be_judged_is_not_called_the_same(
    run, application, url, file, service, many
):
    last_ones.all = json.loads(service.get(SEARCH).data)
    turn = last_ones(3)

    def busy(asked, status, headers, body):
        if asked == "/allocation_candidates" and len(body["allocation_requests"]) > 3:
            return 503, headers, {}
        return status, headers, body

    def both(asked, *answer):
        return busy(asked, *turn(asked, *answer))

    questions = file(f"GET {SEARCH}&limit=3", f"GET {PATH}")
    with (
        served(Tampered(application, busy)) as first,
        served(Tampered(application, both)) as second,
    ):
        code, out, _ = run("--with", first, "--url", second, *questions, "--format", "json")
    assert (code, counts(out)) == (3, {"same": 1, "undecided": 1}), out


def test_as_many_candidates_as_are_generated_at_most_can_not_be_judged(
    run, application, url, file, service, many
):
    drop = changed_body("/allocation_candidates", lambda body: body.update(allocation_requests=[]))
    with served(Tampered(application, drop)) as wrong:
        options = ["--with", url, "--url", wrong, *file(f"GET {SEARCH}", f"GET {PATH}")]
        assert run(*options)[0] == 1
        code, out, _ = run(*options, "--max-candidates", "7")
    assert (code, "1  undecided" in out) == (3, True), out


# Known deviations


def test_a_known_deviation_is_counted_apart(run, application, url, file):
    lost = changed_body("/allocation_candidates", lambda body: body["allocation_requests"].clear())
    crash = changed_answer("/usages", 500)
    sharing = "resources=VCPU:1&resources1=VGPU:1&required1=!CUSTOM_T&group_policy=none"
    questions = file(f"GET /allocation_candidates?{sharing}", "GET /usages?project_id=p")

    def shares(path, *answer):
        if path == "/resource_providers":
            return answer[0], answer[1], {"resource_providers": [{}]}
        return lost(path, *crash(path, *answer))

    with served(Tampered(application, shares)) as reference:
        code, out, _ = run("--with", reference, *questions)
        assert run("--with", url, "--url", reference, *questions)[0] == 1
    assert code == 0, out
    assert "2  same but for known deviations" in out
    assert "candidates are lost at all anchors but one" in out
    assert "1  Requests that crash the reference are refused: Usages by consumer type" in out


@pytest.mark.parametrize(
    ("query", "error", "code"),
    [
        ("resources=VCPU:1&required=!CUSTOM_T", "InvalidTextRepresentation", 0),
        ("resources=VCPU:1&required=!CUSTOM_T", "UndefinedTable", 1),
        ("resources=VCPU:1", "InvalidTextRepresentation", 1),
    ],
)
def test_only_a_search_for_forbidden_traits_may_crash_on_postgresql(
    run, application, url, file, query, error, code
):
    body = {"errors": [{"status": 500, "detail": f"(psycopg2.errors.{error}) ungültig"}]}
    crash = changed_answer("/allocation_candidates", 500, body)
    with served(Tampered(application, crash)) as reference:
        questions = file(f"GET /allocation_candidates?{query}", "GET /traits")
        done, out, _ = run("--with", reference, *questions)
    assert (done, "Forbidden traits are answered" in out) == (code, code == 0), out


# The cloud lives meanwhile


def test_a_provider_that_is_deleted_meanwhile_is_counted_apart(run, service, application, file):
    gone = f"/resource_providers/{CHILD}"
    deleted = threading.Event()

    def other(environ, start_response):
        answer = application(environ, start_response)
        if environ["PATH_INFO"] == gone and not deleted.is_set():
            deleted.set()
            service.delete("/allocations/c0000000-0000-4000-8000-000000000002")
            assert service.delete(gone).status_code == 204
        return answer

    with served(other) as url:
        code, out, _ = run("--with", url, *file(f"GET {gone}", f"GET {PATH}"))
    assert code == 0
    assert "1  same\n" in out
    assert "1  changed meanwhile (1 of them agree now)" in out
    assert f"CHANGED MEANWHILE  GET {gone}" in out


def test_an_answer_that_never_holds_still_is_counted_apart(run, application, url, file):
    moving = iter(range(100, 1000))

    def move(asked, status, headers, body):
        if asked == f"{PATH}/inventories":
            body = {**body, "resource_provider_generation": next(moving)}
        return status, headers, body

    unsteady = Tampered(application, move)
    with served(unsteady) as first, served(unsteady) as second:
        questions = file(f"GET {PATH}/inventories", f"GET {PATH}")
        code, out, _ = run("--with", first, "--url", second, *questions)
        one_sided = run("--with", url, "--url", second, *questions)
    assert (code, "1  changed meanwhile (0 of them agree now)" in out) == (0, True), out
    assert one_sided[0] == 1
    assert "only the answers of the other service stayed" in one_sided[1]


def test_a_search_sees_what_was_written_since_the_last_pass(run, service, application, file):
    written = threading.Event()

    def other(environ, start_response):
        if environ["PATH_INFO"] == "/resource_classes" and not written.is_set():
            return application(environ, start_response)
        if environ["PATH_INFO"] == "/allocation_candidates" and not written.is_set():
            answer = application(environ, start_response)
            written.set()
            return answer
        return application(environ, start_response)

    questions = file(f"GET {SEARCH}", f"GET {PATH}", "GET /allocation_candidates?resources=VCPU:5")

    def late(environ, start_response):
        if "VCPU:5" in environ["QUERY_STRING"]:
            service.delete(f"/allocations/{HOLDER}")
        return other(environ, start_response)

    with served(late) as url:
        code, out, _ = run("--with", url, *questions, "--concurrency", "1")
    assert code == 0, out
    assert "1  changed meanwhile (1 of them agree now)" in out


# Services that don't answer


def test_a_service_that_is_not_there_is_named(run, service):
    code, out, err = run("--with", "http://127.0.0.1:1")
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert "http://127.0.0.1:1 can't be reached: " in err
    assert "Connection refused" in err


def test_what_is_no_placement_service_is_named(run, service):
    def other(environ, start_response):
        start_response("200 OK", [("Content-Type", "application/json")])
        return [b'{"versions": {"values": []}}']

    with served(other) as url:
        code, _, err = run("--with", url)
    assert (code, f"{url} (--with) is no placement service" in err) == (3, True)


def test_a_service_that_only_redirects_is_named_with_the_place(run, service):
    def other(environ, start_response):
        start_response("302 Found", [("Location", "https://elsewhere.test/placement\x1b[31m")])
        return [b""]

    with served(other) as url:
        code, _, err = run("--with", url)
    told = f"{url} (--with) redirects to https://elsewhere.test/placement"
    assert (code, told in err, "\x1b" in err, err.count("\n")) == (3, True, False, 1), err


def test_a_service_that_ends_meanwhile_ends_the_run(run, application, file):
    class Ending:
        left = 12

    def ending(environ, start_response):
        Ending.left -= 1
        if not Ending.left:
            threading.Thread(target=stop.set).start()
        return application(environ, start_response)

    stop, running = threading.Event(), served(ending)
    url = running.__enter__()

    def end():
        stop.wait()
        running.__exit__(None, None, None)

    ender = threading.Thread(target=end)
    ender.start()
    questions = [f"GET {PATH}?n={number}" for number in range(200)]
    code, out, _ = run("--with", url, *file(*questions))
    stop.set()
    ender.join()
    assert code == 3, out
    assert f"The run ended early: {url} can't be reached" in out
    assert "requests were not compared" in out


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_service_is_no_difference_and_no_success(status, run, application, url, file):
    with served(Tampered(application, changed_answer(PATH, status))) as busy:
        code, out, _ = run("--with", url, "--url", busy, *file(f"GET {PATH}", "GET /traits"))
    assert (code, f"this service answered {status}" in out) == (3, True)


def test_a_busy_service_is_asked_again(run, application, url, file):
    left = iter([503, 503])

    def busy(asked, status, headers, body):
        return (next(left, status) if asked == PATH else status), headers, body

    with served(Tampered(application, busy)) as sometimes:
        code, out, _ = run("--with", url, "--url", sometimes, *file(f"GET {PATH}", "GET /traits"))
    assert (code, "2  same\n" in out) == (0, True), out


def test_two_services_that_fail_alike_are_no_success(run, application, file):
    with served(Tampered(application, changed_answer(PATH, 500))) as broken:
        code, out, _ = run("--with", broken, "--url", broken, *file(f"GET {PATH}", "GET /traits"))
    assert (code, "both services answered 500" in out) == (3, True)


def test_nothing_granted_is_no_success(run, url, file):
    code, out, _ = run("--with", url, *file("GET /nothing", "GET /resource_providers/1"))
    assert (code, "granted none of the requests" in out) == (3, True)


def test_a_slow_answer_is_given_up(run, application, url, file):
    released = threading.Event()

    def slow(environ, start_response):
        if environ["PATH_INFO"] == PATH:
            released.wait(30)
        return application(environ, start_response)

    with served(slow) as late:
        code, out, _ = run(
            *("--with", url, "--url", late, "--timeout", "0.3", "--tries", "1"),
            *file(f"GET {PATH}", "GET /traits"),
        )
        released.set()
    assert (code, "this service: no answer in time" in out) == (3, True), out


def test_a_redirection_is_not_followed(run, application, url, file):
    recorded = Recorded(application)
    with served(recorded) as elsewhere:

        def moved(asked, status, headers, body):
            if asked == PATH:
                return 301, headers | {"Location": f"{elsewhere}/traits"}, b""
            return status, headers, body

        with served(Tampered(application, moved)) as moving:
            questions = file(f"GET {PATH}", "GET /traits")
            code, out, _ = run("--with", moving, "--url", moving, *questions)
    assert (code, recorded.requests) == (0, []), out


# Tokens


@pytest.fixture
def guarded(application):
    """Serve the application to callers with SECRET, at most `left` times."""

    class Guard:
        left = 10_000

        def __call__(self, environ, start_response):
            if environ["PATH_INFO"] != "/":
                self.left -= 1
                if environ.get("HTTP_X_AUTH_TOKEN") != SECRET or self.left < 0:
                    start_response("401 Unauthorized", [("Content-Type", "application/json")])
                    return [b"{}"]
                environ["HTTP_X_AUTH_TOKEN"] = "admin"
            return application(environ, start_response)

    return Guard()


@pytest.mark.parametrize("way", ["--token", "--token-with", "OS_TOKEN"])
def test_a_token_reaches_the_service_and_is_never_shown(way, run, guarded, file, monkeypatch):
    given = [way, SECRET] if way.startswith("--") else []
    if not given:
        monkeypatch.setenv("OS_TOKEN", SECRET)
    with served(guarded) as url:
        code, out, err = run("--with", url, *given, *file(f"GET {PATH}"))
    assert (code, SECRET in out + err) == (0, False)


def test_each_service_may_have_its_own_token(run, guarded, url, file):
    with served(guarded) as other:
        options = ["--with", other, "--url", url, *file(f"GET {PATH}")]
        assert run(*options, "--token", "admin", "--token-with", SECRET)[0] == 0
        assert run(*options, "--token", "admin")[0] == 3


def test_a_refused_token_is_said_in_a_line(run, guarded, service):
    with served(guarded) as url:
        code, out, err = run("--with", url, "--token", "wrong-secret")
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert f"{url} refuses the token (401)" in err
    assert "wrong-secret" not in err


def test_a_token_that_expires_meanwhile_ends_the_run_with_what_is_known(run, guarded, file):
    guarded.left = 6
    questions = [f"GET {PATH}?n={number}" for number in range(20)]
    with served(guarded) as url:
        # of two requests at a time, either may be the last with a valid token
        options = ["--token", SECRET, "--concurrency", "1"]
        code, out, err = run("--with", url, *options, *file(*questions))
    assert code == 3
    assert f"The run ended early: {url} refuses the token (401): it is wrong, has expired" in out
    assert "5  same\n" in out
    assert SECRET not in out + err


def test_a_token_without_a_role_is_said_in_a_line(run, url, service):
    code, _, err = run("--with", url, "--token", "somebody")
    assert (code, "needs the role `admin` or `service`" in err) == (3, True)


# The command line


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--with", "ftp://x"], "--with: it must begin with http://"),
        (["--with", f"http://user:{SECRET}@x"], "--with: it must have no user and no password"),
        (["--with", "http://x?a=b"], "--with: it must end with a path or the port"),
        (["--with", "http://x:y"], "--with: it can't be parsed"),
        (["--with", "http://x", "--url", "x"], "--url: it must begin with http://"),
        (["--with", "http://x", "--cacert", "/nowhere"], "--cacert: /nowhere can't be read"),
        (["--with", "http://x", "--rate", "fast"], "'fast' is no number from 0 to"),
        (["--with", "http://x", "--tries", "0"], "'0' is no number from 1 to"),
        (["--with", "http://x", "--requests", "a", "--from-access-log", "b"], "not allowed with"),
    ],
)
def test_a_wrong_command_line_is_refused(options, said, run, service):
    code, out, err = run(*options)
    assert (code, out, said in err, SECRET in err) == (2, "", True, False), err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("PUT /traits/CUSTOM_X", "line 2: PUT is refused, because only GET requests are sent."),
        ("delete /traits/CUSTOM_X", "line 2: DELETE is refused"),
        ("GET traits", "line 2: 'traits' is no path"),
        ("GET /traits 1", "line 2: '1' is no microversion"),
        ("    X-Auth-Token: x", "line 2: X-Auth-Token can't be in the file"),
        ("    Content-Length: 5", "line 2: Content-Length can't be set"),
    ],
)
def test_a_file_with_another_request_is_refused_before_anything_is_sent(
    line, said, run, application, file
):
    recorded = Recorded(application)
    with served(recorded) as url:
        code, out, err = run("--with", url, *file("GET /traits", line))
    assert (code, out, said in err) == (2, "", True), err
    assert [path for _, path, _ in recorded.requests] == ["/", "/resource_classes"]


@pytest.mark.parametrize("option", ["--requests", "--from-access-log"])
def test_a_file_that_is_not_there_is_a_wrong_command_line(option, run, url):
    code, _, err = run("--with", url, option, "/nowhere/file")
    assert (code, "/nowhere/file can't be read: No such file" in err) == (2, True)


def test_without_a_database_the_options_are_named(run, url, monkeypatch):
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION")
    code, _, err = run("--with", url)
    assert (code, "connection isn't configured" in err, "--url" in err) == (3, True, True)


def test_an_unusable_database_is_no_difference(run, url, monkeypatch):
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", "sqlite:////nowhere/placement.db")
    code, out, err = run("--with", url)
    assert (code, out, err.count("\n")) == (3, "", 1)


def test_the_service_s_own_log_file_is_left_alone(run, url, file, tmp_path, monkeypatch):
    monkeypatch.setenv("OS_DEFAULT__LOG_FILE", str(tmp_path / "placement.log"))
    assert run("--with", url, *file(f"GET {PATH}"))[0] == 0
    assert not (tmp_path / "placement.log").exists()


def test_the_database_s_password_is_not_shown(monkeypatch):
    url = "postgresql://placement:s3cr3t@127.0.0.1/placement?password=s3cr3t"
    assert "s3cr3t" not in compare_command.shown_url(url)
    assert compare_command.shown_url(url) == "postgresql://placement:***@127.0.0.1/placement"


# Requests from logs


def test_the_requests_of_a_log_are_sent_with_their_microversions(run, application, tmp_path):
    log = tmp_path / "access.log.gz"
    lines = [
        '::1 - - [05/Jan/2026:10:00:00 +0000] "GET /placement/traits HTTP/1.1" 200 9 "-" "x"',
        '::1 - - [05/Jan/2026:10:00:00 +0000] "PUT /placement/traits/CUSTOM_A HTTP/1.1" 201 0',
        "2026-01-05 10:00:00.000 7 INFO placement.requestlog [req-1] 127.0.0.1 "
        f'"GET /placement{PATH}" status: 200 len: 9 microversion: 1.14',
        "nothing of interest",
    ]
    log.write_bytes(gzip.compress("\n".join([*lines, *lines]).encode()))
    recorded = Recorded(application)
    with served(recorded) as url:
        code, out, _ = run("--with", url, "--from-access-log", str(log), "--microversion", "1.20")
    assert code == 0, out
    sent = {(path, headers["openstack-api-version"]) for _, path, headers in recorded.requests[2:]}
    assert sent == {("/traits", "placement 1.20"), (PATH, "placement 1.14")}
    assert "2  skipped: requests with another method than GET\n" in out
    assert "2  skipped: requests that were there before\n" in out
    assert "2  skipped: lines without a request\n" in out


def test_a_log_without_requests_is_no_success(run, url, tmp_path):
    (tmp_path / "log").write_text("nothing\n")
    code, _, err = run("--with", url, "--from-access-log", str(tmp_path / "log"))
    assert (code, "There is no request to send (1 lines without a request)." in err) == (3, True)


# As a program


@pytest.fixture
def program():
    return [str(Path(sysconfig.get_path("scripts")) / "placement-manage"), "compare"]


def test_requests_may_come_from_standard_input(program, url):
    done = subprocess.run(
        [*program, "--with", url, "--requests", "-"],
        input=f"GET {PATH}\n",
        capture_output=True,
        text=True,
    )
    assert (done.returncode, "1  same\n" in done.stdout) == (0, True), done.stderr


def test_an_interruption_shows_what_is_known_so_far(program, application):
    asked = threading.Event()

    def slow(environ, start_response):
        if "n=5" in environ["QUERY_STRING"]:
            asked.set()
            time.sleep(0.2)
        return application(environ, start_response)

    questions = "".join(f"GET {PATH}?n={number}\n" for number in range(400))
    with served(slow) as url:
        running = subprocess.Popen(
            [*program, "--with", url, "--requests", "-", "--rate", "50"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.stdin.write(questions)
        running.stdin.close()
        assert asked.wait(60)
        running.send_signal(signal.SIGINT)
        out, err = running.stdout.read(), running.stderr.read()
        running.wait()
    assert (running.returncode, "Traceback" in err) == (130, False), err
    assert "The run ended early: interrupted" in out
    assert "requests were not compared" in out


def test_two_running_services_are_compared_without_loading_the_service():
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, placement.compare.run, placement.compare.sample\n"
            "import placement.cli.compare_command\n"
            "print([name for name in sys.modules if name.startswith(('placement.app', 'sqlalchemy',"
            " 'flask', 'numpy', 'placement.storage'))])",
        ],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    assert loaded.stdout == "[]\n"
