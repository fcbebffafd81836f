"""The log of a request: the reference's line, the cost, and no secret (rest-api.md 1.9)."""

import json
import logging
import re

import pytest
from oslo_log import formatters

from tests.functional.placement.service import statements
from tests.functional.placement.small_cloud import NEW, ROOT, holding
from tests.functional.placement.topology import small_cloud_at

pytestmark = pytest.mark.spread_over_databases

#: the whole line, as tools for the reference's logs parse it
LINE = re.compile(r'^(\S+) "([A-Z]+) (\S*)" status: (\d{3}) len: (\d+|-) microversion: (1\.\d+|-)$')
CALLER = {"REMOTE_ADDR": "192.0.2.7"}
CLAIM = (f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))


@pytest.fixture
def records(caplog):
    """Return a function that gives the records of a logger."""

    def records(name="placement.requestlog"):
        return [record for record in caplog.records if record.name == name]

    caplog.set_level(logging.INFO)
    caplog.clear()
    return records


def test_a_request_has_one_line_in_the_reference_s_form(filled, records):
    filled.get(f"/resource_providers/{ROOT}?a=b", environ_overrides=CALLER)
    (record,) = records()
    fields = LINE.match(record.getMessage()).groups()
    assert (record.levelname, fields[:4], fields[5]) == (
        "INFO",
        ("192.0.2.7", "GET", f"/resource_providers/{ROOT}?a=b", "200"),
        "1.39",
    )


@pytest.mark.parametrize(
    ("path", "version", "tail"),
    [
        ("/resource_classes/VCPU", "1.39", r"status: 200 len: \d+ microversion: 1.39"),
        ("/nothing", "1.2", r"status: 404 len: \d+ microversion: 1.2"),
        ("/traits", "7.0", r"status: 406 len: \d+ microversion: -"),
        ("/traits/MISC_SHARES_VIA_AGGREGATE", "1.6", "status: 204 len: - microversion: 1.6"),
    ],
)
def test_the_line_describes_the_response(filled, records, path, version, tail):
    filled.get(path, version=version)
    (record,) = records()
    assert re.search(f'"GET {path}" {tail}$', record.getMessage())


def test_the_mount_point_is_logged(filled, records):
    filled.get("/traits", base_url="http://localhost/placement")
    assert '"GET /placement/traits"' in records()[0].getMessage()


def test_unauthenticated_requests_are_logged_too(filled, records):
    filled.client.get("/traits")
    (record,) = records()
    assert "status: 401" in record.getMessage()
    assert record.statements == 0


def test_the_cost_is_in_the_record_and_not_in_the_line(filled, records):
    with statements(filled.database) as sent:
        answer = filled.put(*CLAIM)
    (record,) = records()
    written = [statement for statement in sent if statement != "COMMIT"]
    assert record.extra == {
        "request_id": answer.headers["x-openstack-request-id"],
        "method": "PUT",
        "path": CLAIM[0],
        "status": 204,
        "duration_ms": record.duration_ms,
        "statements": len(written),
    }
    assert (record.duration_ms > 0, record.statements) == (True, len(written))


def test_each_request_s_statements_are_its_own(filled, records):
    for _ in range(2):
        filled.get(f"/resource_providers/{ROOT}")
    first, second = records()
    assert first.statements == second.statements > 0


def test_json_logs_show_the_cost(filled, records):
    filled.get("/traits")
    line = json.loads(formatters.JSONFormatter().format(records()[0]))
    assert {"duration_ms", "statements", "status"} < set(line["extra"])
    assert LINE.match(line["message"])


def test_the_cost_has_no_separate_line_by_default(filled, records):
    filled.get("/traits")
    assert records("placement.requestcost") == []


def test_the_cost_can_have_a_separate_line(new_service, records):
    service = new_service(berth__log_request_cost=True)
    answer = service.get("/resource_classes/VCPU")
    (record,) = records("placement.requestcost")
    assert re.fullmatch(
        f"request_id={answer.headers['x-openstack-request-id']} method=GET "
        r"path=/resource_classes/VCPU status=200 duration_ms=\d+\.\d statements=\d+",
        record.getMessage(),
    )


def test_an_unexpected_error_is_logged_with_its_cost(filled, records, monkeypatch):
    service = filled.unjudged()
    monkeypatch.setattr(service.database, "_run", lambda *given: 1 / 0)
    service.get("/traits")
    (record,) = records()
    assert ("status: 500" in record.getMessage(), record.statements) == (True, 0)


# Debugging


def conversation(service):
    """Send requests of many kinds; return the responses without variable parts."""
    requests = [
        ("GET", "/", None),
        ("GET", f"/resource_providers/{ROOT}", None),
        ("GET", "/allocation_candidates?resources=VCPU:1", None),
        ("PUT", *CLAIM),
        ("PUT", *CLAIM),
        ("POST", "/reshaper", {}),
        ("GET", "/nothing", None),
    ]
    told = []
    for method, path, body in requests:
        answer = service.request(method, path, body)
        text = re.sub(r"req-[0-9a-f-]{36}", "req", answer.text)
        headers = {k for k, v in answer.headers.items()}
        told.append((answer.status_code, headers, text))
    return told


def test_debugging_changes_no_response_and_no_statement(filled, new_service, caplog):
    # a copy, too: of a cloud that was written an hour ago, less is read
    other = new_service(content=small_cloud_at)
    with caplog.at_level(logging.INFO), statements(filled.database) as quiet:
        plain = conversation(filled)
    with caplog.at_level(logging.DEBUG), statements(other.database) as loud:
        debugged = conversation(other)
    assert (debugged, loud) == (plain, quiet)


def test_debugging_logs_the_beginning_of_a_request(filled, caplog):
    with caplog.at_level(logging.DEBUG, "placement.requestlog"):
        filled.get("/traits?name=x", environ_overrides=CALLER)
    first, second = (r for r in caplog.records if r.name == "placement.requestlog")
    assert first.getMessage() == 'Starting request: 192.0.2.7 "GET /traits?name=x"'
    assert second.levelname == "INFO"


def test_debugging_logs_few_lines_per_request(filled, caplog):
    filled.put(*CLAIM)
    caplog.clear()
    with caplog.at_level(logging.DEBUG):
        filled.get(f"/allocations/{NEW}")
    assert len(caplog.records) <= 5
