"""GET /healthcheck and GET /berth/v1/health: no token, no log line, bounded time."""

import contextlib
import functools
import logging
import sqlite3
import threading

import pytest
import sqlalchemy as sa
from oslo_config import cfg
from sqlalchemy import event

from placement import app
from placement.extensions.monitoring import health
from tests.functional.placement.service import statements
from tests.patience import PATIENCE

HEALTH = "/berth/v1/health"


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Have the reports of services wait for the database's answer, however slow the machine is."""
    monkeypatch.setattr(app, "Health", functools.partial(health.Health, patience=PATIENCE))


def ask(service, path, **more):
    """Send a GET without a token, as a load balancer does."""
    return service.client.get(path, **more)


def checks(response):
    """Return the status of each check, by name."""
    assert response.content_type == "application/health+json"
    return {name: each["status"] for name, (each,) in response.json["checks"].items()}


def test_healthcheck_answers_without_a_token_and_without_the_database(service):
    with statements(service.database) as sent:
        response = ask(service, "/healthcheck", headers={"accept": "text/plain"})
    assert (response.status_code, response.content_type[:10]) == (200, "text/plain")
    assert service.client.head("/healthcheck").status_code == 204
    assert sent == []


def test_a_file_takes_the_node_out_of_service(new_service, tmp_path):
    file = tmp_path / "drained"
    service = new_service(
        healthcheck__backends=["disable_by_file"], healthcheck__disable_by_file_path=str(file)
    )
    assert ask(service, "/healthcheck").status_code == 200
    file.touch()
    refused = ask(service, "/healthcheck", headers={"accept": "text/plain"})
    assert (refused.status_code, refused.text) == (503, "DISABLED BY FILE")
    # requests are served as before, until the load balancer sends them elsewhere
    assert service.get("/resource_classes").status_code == 200
    file.unlink()
    assert ask(service, "/healthcheck").status_code == 200


def test_an_address_that_may_not_ask_is_answered_as_openstack_placement_does(new_service):
    service = new_service(healthcheck__allowed_source_ranges=["192.0.2.0/24"])
    there = {"environ_overrides": {"REMOTE_ADDR": "192.0.2.1"}}
    elsewhere = {"environ_overrides": {"REMOTE_ADDR": "198.51.100.1"}}
    assert ask(service, "/healthcheck", **there).status_code == 200
    assert ask(service, "/healthcheck", **elsewhere).status_code == 401
    assert service.get("/healthcheck", **elsewhere).status_code == 404


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"backends": ["disabled_by_file"]}, "there is no disabled_by_file, only"),
        (
            {"backends": ["disable_by_files_ports"], "disable_by_file_paths": ["/drained"]},
            "disable_by_files_ports can't be used",
        ),
        ({"allowed_source_ranges": ["here"]}, "'here' does not appear to be"),
    ],
)
def test_options_that_cannot_work_are_refused_at_the_start(new_service, options, words):
    with pytest.raises(cfg.Error, match=words):
        new_service(**{f"healthcheck__{name}": value for name, value in options.items()})


def test_health_is_read_from_memory_after_a_request(filled, monkeypatch):
    monkeypatch.setattr(health, "FRESH", PATIENCE)
    filled.get("/allocation_candidates?resources=VCPU:1")
    with statements(filled.database) as sent:
        response = ask(filled, HEALTH)
    assert response.status_code == 200
    assert response.json["status"] == "pass"
    assert checks(response) == {"database": "pass", "schema": "pass", "snapshot": "pass"}
    assert response.json["checks"]["snapshot"][0]["observedValue"] < 60
    assert sent == []


def test_health_asks_the_database_when_there_were_no_requests(service):
    response = ask(service, HEALTH)
    assert (response.status_code, checks(response)["database"]) == (200, "pass")
    assert response.json["checks"]["snapshot"][0]["observedValue"] == "not loaded"


def test_health_leaves_no_line_in_the_request_log(service, caplog):
    caplog.set_level(logging.INFO, "placement.requestlog")
    ask(service, HEALTH)
    ask(service, "/healthcheck")
    assert [each for each in caplog.records if each.name == "placement.requestlog"] == []


def test_health_takes_no_other_method_and_gives_head_no_body(service):
    assert service.client.post(HEALTH).status_code == 405
    head = service.client.head(HEALTH)
    assert (head.status_code, head.data) == (200, b"")


def test_without_extensions_there_is_no_health(new_service):
    service = new_service(berth__extensions=False)
    assert ask(service, HEALTH).status_code == 401
    assert service.get(HEALTH).status_code == 404
    assert ask(service, "/healthcheck").status_code == 200


def test_health_fails_without_the_database_and_tells_no_secret(service, monkeypatch):
    def refuse(dialect, record, arguments, parameters):
        raise sqlite3.OperationalError("unable to open database file of user secret")

    # what the start of the service saw doesn't count
    monkeypatch.setattr(health, "FRESH", -1)
    service.database.close()
    event.listen(service.database.engine, "do_connect", refuse)
    response = ask(service, HEALTH)
    assert (response.status_code, response.json["status"]) == (503, "fail")
    assert checks(response)["database"] == "fail"
    assert "secret" not in response.text
    event.remove(service.database.engine, "do_connect", refuse)
    assert ask(service, HEALTH).json["status"] == "pass"


def test_health_fails_while_the_tables_are_missing(service, monkeypatch):
    connection = service.database.engine.connect
    with connection() as there:
        tables = sa.inspect(there).get_table_names()
        own = [name for name in tables if name.endswith("_version")]

    def rename(old, new):
        with connection() as changing, changing.begin():
            for name in own:
                changing.execute(sa.text(f"ALTER TABLE {old(name)} RENAME TO {new(name)}"))

    # what the start of the service saw doesn't count
    with monkeypatch.context() as hurried:
        hurried.setattr(health, "FRESH", -1)
        rename(str, "{}_away".format)
        assert ask(service, HEALTH).status_code == 503
    # the database has answered now, and lacks the tables as before
    response = ask(service, HEALTH)
    assert (response.status_code, checks(response)["schema"]) == (503, "fail")
    assert checks(response)["database"] == "pass"
    rename("{}_away".format, str)
    assert ask(service, HEALTH).status_code == 200


class Silent:
    """A database that answers nothing until `answers` is set."""

    def __init__(self, silence):
        self.answers = threading.Event()
        self.was_asked = threading.Event()
        self.asked = 0
        self.silence = silence
        self.is_prepared = True

    def ask(self, database):
        self.asked += 1
        self.was_asked.set()
        self.answers.wait(PATIENCE)
        return "0001"

    def seconds_since_answer(self):
        return self.silence


class Loaded:
    is_distrusted = False

    def age(self):
        return 1.0


@pytest.mark.parametrize(
    ("silence", "status"), [(3.0, "pass"), (20.0, "warn"), (31.0, "fail"), (float("inf"), "fail")]
)
def test_a_silent_database_is_doubted_first_and_given_up_later(silence, status):
    silent = Silent(silence)
    with contextlib.closing(Closing(silent)) as report:
        assert report(0.01)[0] == status


class Closing:
    def __init__(self, silent):
        self.silent = silent
        self.health = None

    def __call__(self, patience):
        if self.health is None:
            self.health = health.Health(
                self.silent, Loaded(), ask=self.silent.ask, patience=patience
            )
        return self.health.report()

    def close(self):
        self.silent.answers.set()


def test_a_silent_database_is_asked_once_however_many_probes_come():
    silent = Silent(20.0)
    with contextlib.closing(Closing(silent)) as report:
        found = [report(0.01)[0] for _ in range(20)]
        # the thread that asks may be later than all of them
        assert silent.was_asked.wait(PATIENCE)
    assert (found, silent.asked) == (["warn"] * 20, 1)


def test_the_snapshot_is_doubted_after_an_audit_found_a_difference(filled):
    filled.get("/allocation_candidates?resources=VCPU:1")
    snapshot = filled.running.snapshot
    snapshot._distrust(snapshot._held, "audit")
    response = ask(filled, HEALTH)
    assert (response.status_code, response.json["status"]) == (200, "warn")
    assert checks(response)["snapshot"] == "warn"
