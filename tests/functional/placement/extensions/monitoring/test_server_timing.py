"""[berth]server_timing: each answer says what it cost."""

import re
import time

import pytest
from sqlalchemy import event

from placement.storage.database import engine
from tests.functional.placement.small_cloud import NEW, ROOT, fill, holding

pytestmark = pytest.mark.spread_over_databases

FORM = re.compile(r'app;dur=(\d+\.\d), db;dur=(\d+\.\d);desc="(\d+) statements?"')


@pytest.fixture
def timed(new_service):
    """Return the filled service, whose answers have the header."""
    service = new_service(berth__server_timing=True)
    fill(service)
    return service


def cost(response):
    """Return the milliseconds of a request and of its database, and the statements."""
    total, waited, count = FORM.fullmatch(response.headers["server-timing"]).groups()
    return float(total), float(waited), int(count)


def test_reads_and_writes_say_what_they_cost(timed):
    for response in (
        timed.get(f"/resource_providers/{ROOT}"),
        timed.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}})),
        timed.get("/allocation_candidates?resources=VCPU:1"),
    ):
        total, waited, count = cost(response)
        assert 0 <= waited <= total
        assert count >= 1


def test_the_time_of_the_database_is_that_of_its_statements(timed):
    before = timed.database.seconds
    timed.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))
    assert timed.database.seconds > before


def test_a_connection_that_fails_is_time_of_the_database_and_nothing_before_it(timed, monkeypatch):
    monkeypatch.setattr(engine, "LONGEST_PAUSE", 0)
    timed.get(f"/resource_providers/{ROOT}")
    statement = time.monotonic()

    def refuse(*_):
        # long enough to be seen, and after a pause since the last statement
        time.sleep(0.02)
        raise timed.database.engine.dialect.loaded_dbapi.OperationalError("unable to connect")

    timed.database.close()
    time.sleep(0.02)
    event.listen(timed.database.engine, "do_connect", refuse)
    response = timed.unjudged().get(f"/resource_providers/{ROOT}")
    assert response.status_code == 503
    total, waited, _ = cost(response)
    assert 20 <= waited <= total < 1000 * (time.monotonic() - statement)


def test_refusals_say_it_too(timed):
    assert cost(timed.client.get("/traits"))[1:] == (0.0, 0)
    assert timed.get("/no/such/path").headers["server-timing"]


def test_one_statement_is_not_plural(timed):
    timed.get("/allocation_candidates?resources=VCPU:1")
    header = timed.get("/allocation_candidates?resources=VCPU:1").headers["server-timing"]
    assert header.endswith(';desc="1 statement"')


def test_probes_have_no_such_header(timed):
    assert "server-timing" not in timed.client.get("/berth/v1/health").headers


def test_by_default_no_answer_has_it(service):
    assert "server-timing" not in service.get("/traits").headers
