"""placement-manage compare: services that don't answer, or answer something else."""

import select
import threading

import pytest
import urllib3

from tests.functional.placement.cli.compare.cloud import PATH, changed_answer
from tests.functional.placement.served import Recorded, Tampered, served
from tests.patience import PATIENCE


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
        if Ending.left <= 0:
            stop.set()
            # its end takes a while: the run must not be over before
            select.select([environ["werkzeug.socket"]], [], [], PATIENCE)
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


def test_a_slow_answer_is_given_up(run, application, url, file, monkeypatch):
    released, urlopen = threading.Event(), urllib3.HTTPConnectionPool.urlopen

    def slow(environ, start_response):
        if environ["PATH_INFO"] == PATH:
            released.wait(PATIENCE)
        return application(environ, start_response)

    def hurried(pool, method, path, **options):
        limit = pool.timeout
        assert limit.connect_timeout == limit.read_timeout == PATIENCE
        # all other answers have time
        if path == PATH and late.endswith(f":{pool.port}"):
            limit = urllib3.Timeout(0.1)
        return urlopen(pool, method, path, timeout=limit, **options)

    monkeypatch.setattr(urllib3.HTTPConnectionPool, "urlopen", hurried)
    with served(slow) as late:
        code, out, _ = run(
            *("--with", url, "--url", late, "--timeout", str(PATIENCE), "--tries", "1"),
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
