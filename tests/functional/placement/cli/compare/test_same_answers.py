"""placement-manage compare: two services that answer alike."""

import json

from placement.microversions import NEWEST, name
from tests.functional.placement.cli.compare.cloud import PATH, QUESTIONS, counts
from tests.functional.placement.served import Recorded, Tampered, served
from tests.functional.placement.small_cloud import CHILD, HOLDER, ROOT


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
    assert {None, "placement 1.0", "placement 1.28", f"placement {name(NEWEST)}"} <= versions


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


def test_services_below_different_paths_have_the_same_links(run, application, url, file):
    linked = file("GET /resource_providers", f"GET /resource_providers/{CHILD}")
    with served(below(application, "/placement")) as mounted:
        whole = f"{mounted}/placement"
        ways = (["--with", f"{whole}/"], ["--with", url, "--url", whole])
        codes = [run(*way, *linked)[0] for way in ways]
    assert codes == [0, 0]
