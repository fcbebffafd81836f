"""placement-manage compare: known deviations, and a cloud that changes meanwhile."""

import threading

import pytest

from tests.functional.placement.cli.compare.cloud import PATH, SEARCH, changed_answer, changed_body
from tests.functional.placement.served import Tampered, served
from tests.functional.placement.small_cloud import CHILD, HOLDER


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
