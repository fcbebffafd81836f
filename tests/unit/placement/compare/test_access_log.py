"""GET requests in the logs of services and servers."""

import gzip
import io
import json

import pytest

from placement.compare import access_log
from placement.compare.access_log import (
    BEYOND,
    CUT_OFF,
    NO_REQUEST,
    OTHER_METHOD,
    OTHER_PATH,
    REPEATED,
    choose,
    lines_of,
)
from placement.compare.request import Request

COMMON = '192.0.2.7 - - [05/Jan/2026:10:00:00 +0000] "{} HTTP/1.1" 200 123'
COMBINED = f'{COMMON} "-" "nova-scheduler"'
OWN = (
    "2026-01-05 10:00:00.000 7 INFO placement.requestlog [req-1] "
    '192.0.2.7 "{}" status: 200 len: 9 microversion: 1.36'
)
UWSGI = (
    "[pid: 7|app: 0|req: 1/1] ::1 () {{30 vars in 400 bytes}} [Mon Jan  5 10:00:00 2026] {} => "
    "generated 9 bytes in 3 msecs (HTTP/1.1 200) 5 headers in 200 bytes"
)
HAPROXY = (
    "Jan  5 10:00:00 lb haproxy[7]: ::1:4711 [05/Jan/2026:10:00:00.000] api placement/a "
    '0/0/1/9/10 200 12 - - ---- 1/1/0/0/0 0/0 {{}} "{} HTTP/1.1"'
)
FORMS = {"common": COMMON, "combined": COMBINED, "own": OWN, "uwsgi": UWSGI, "haproxy": HAPROXY}


def only(line, prefix=None):
    """Return the only request of a line, or the reason why there is none."""
    chosen = choose([line], 10, 0, "1.39", prefix)
    if chosen.requests:
        assert not chosen.skipped
        return chosen.requests[0]
    (reason,) = chosen.skipped
    return reason


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("prefix", ["", "/placement"])
def test_every_format_is_read(form, prefix):
    path = "/allocation_candidates?resources=VCPU%3A1,DISK_GB:2&limit=10"
    version = "1.36" if form == "own" else "1.39"
    assert only(FORMS[form].format(f"GET {prefix}{path}")) == Request(path, version)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "HEAD"])
def test_other_methods_are_left_out(form, method):
    assert only(FORMS[form].format(f"{method} /traits")) == OTHER_METHOD


@pytest.mark.parametrize("form", FORMS)
def test_paths_of_other_services_are_left_out(form):
    assert only(FORMS[form].format("GET /v3/auth/tokens")) == OTHER_PATH


def test_placements_log_may_be_json():
    line = json.dumps(
        {"levelname": "INFO", "message": OWN.partition("[req-1] ")[2].format("GET /")}
    )
    assert only(line) == Request("/", "1.36")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", NO_REQUEST),
        ("Starting", NO_REQUEST),
        ("{broken", NO_REQUEST),
        ('{"message": 5}', NO_REQUEST),
        (COMMON.format("GET /traits").replace('"', ""), NO_REQUEST),
        (HAPROXY.partition("{}")[0] + ' "<BADREQ>"', NO_REQUEST),
        (HAPROXY.format("GET /resource_providers?name=aaaa").replace(" HTTP/1.1", ""), CUT_OFF),
    ],
)
def test_what_is_no_request_is_counted(line, reason):
    assert only(line) == reason


def test_another_prefix_may_be_named():
    line = COMMON.format("GET /cloud/a/traits")
    assert only(line) == OTHER_PATH
    assert only(line, "/cloud/a/") == Request("/traits", "1.39")
    assert only(COMMON.format("GET /traits"), "/cloud/a") == OTHER_PATH
    assert only(COMMON.format("GET /cloud/a"), "/cloud/a") == Request("/", "1.39")


@pytest.mark.parametrize(
    ("logged", "sent"),
    [
        (r"/traits?name=in:\xc3\xa9", "/traits?name=in:%c3%a9"),
        ('/traits/a\\"b', "/traits/a%22b"),
        ("/traits/é", "/traits/%C3%A9"),
        ("/traits/%C3%A9%20", "/traits/%C3%A9%20"),
    ],
)
def test_paths_are_sent_percent_encoded(logged, sent):
    assert only(COMMON.format(f"GET {logged}")).path == sent


def test_a_line_is_read_from_the_last_beginning_of_a_request():
    """Each beginning would otherwise be tried to the line's end: 20 seconds for 64 KiB."""
    assert only(OWN.format('GET "GET ' * 10 + '"GET /traits')).path == "/traits"
    assert only('"GET ' * (access_log.LONGEST_LINE // 5)) == access_log.NO_REQUEST


def test_the_reference_logs_a_path_decoded():
    assert only(OWN.format("GET /resource_providers?name=a b")).path == (
        "/resource_providers?name=a%20b"
    )


def test_a_microversion_in_a_format_of_the_operators_own_is_used():
    assert only(f'{COMBINED.format("GET /traits")} "placement 1.21"').version == "1.21"
    assert only(f'{COMBINED.format("GET /traits")} "placement 9.x"').version == "1.39"


def test_each_request_is_chosen_once():
    lines = [COMMON.format(f"GET /traits/A{number % 3}") for number in range(9)]
    chosen = choose(lines, 10, 0, None)
    assert [request.path for request in chosen.requests] == [f"/traits/A{n}" for n in range(3)]
    assert chosen.skipped == {REPEATED: 6}


def test_a_rare_kind_is_chosen_beside_a_frequent_one():
    lines = [COMMON.format(f"GET /resource_providers/{n}/usages") for n in range(1000)]
    lines.insert(900, COMMON.format("GET /usages?project_id=p"))
    chosen = choose(lines, 10, 0, None)
    assert len(chosen.requests) == 10
    assert Request("/usages?project_id=p") in chosen.requests
    assert chosen.skipped == {BEYOND: 991}
    assert choose(lines, 10, 0, None) == chosen
    assert choose(lines, 10, 1, None) != chosen


def test_the_memory_is_bounded_however_many_kinds_there_are():
    lines = [COMMON.format(f"GET /traits?a{n}=1") for n in range(2000)]
    assert len(choose(lines, 5000, 0, None).requests) == 2000
    assert len(choose(lines, 3, 0, None).requests) == 3


def opened(content):
    return lambda: io.BufferedReader(io.BytesIO(content))


def test_files_may_be_compressed():
    files = [opened(b"a\r\nb\n"), opened(gzip.compress(b"c\n")), opened(b""), opened(b"d")]
    assert list(lines_of(files)) == ["a", "b", "c", "d"]


def test_a_long_line_is_cut(monkeypatch):
    monkeypatch.setattr(access_log, "LONGEST_LINE", 4)
    assert list(lines_of([opened(b"123456789012\nab\nabc\n")])) == ["1234", "ab", "abc"]


def test_bytes_that_are_no_text_are_sent_as_they_were():
    (line,) = lines_of(
        [opened(COMMON.format("GET /traits/").replace("/ H", "/\xff H").encode("latin-1"))]
    )
    assert only(line).path == "/traits/%FF"
