"""An operator renames a backup over the file of SQLite's database while services run."""

import itertools
import os
import sqlite3

import pytest
from sqlalchemy import event

from placement.storage.driver import sqlite_sessions
from tests.functional.placement.extensions.claims.claiming import ask, got
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import expect, numbered, stock

ROOT = numbered("a", 1)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "placement.db"


@pytest.fixture
def workers(file):
    """Return two services of one database with a host, as its workers are."""
    workers = [Service(f"sqlite:///{file}").unjudged() for _ in range(2)]
    expect(workers[0].post("/resource_providers", {"name": "host", "uuid": ROOT}), 200)
    expect(workers[0].put(f"/resource_providers/{ROOT}/inventories", stock(0, VCPU=99)), 200)
    return workers


def backup(file):
    """Copy the database as `sqlite3 .backup` does, and return the copy."""
    copy = file.with_suffix(".backup")
    with sqlite3.connect(file) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    source.close()
    target.close()
    return copy


def stored(file):
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        found = [row[0] for row in connection.execute("SELECT consumer_id FROM allocations")]
    connection.close()
    return sorted(found)


def test_what_is_written_after_it_is_in_the_new_file(file, workers, caplog):
    copy = backup(file)
    for number, worker in enumerate(workers):
        assert got(ask(worker, numbered("c", number))) == [ROOT]
    os.replace(copy, file)
    for number in range(10, 14):
        assert got(ask(workers[number % 2], numbered("c", number))) == [ROOT]
    assert stored(file) == [numbered("c", number) for number in range(10, 14)]
    for worker in workers:
        usages = worker.get(f"/resource_providers/{ROOT}/usages").json["usages"]
        assert usages == {"VCPU": 4}
    assert f"its file {file} was replaced" in caplog.text


def test_a_write_that_was_under_way_is_not_acknowledged(file, workers):
    copy, worker = backup(file), workers[0]

    @event.listens_for(worker.database.engine, "commit")
    def replace(connection):
        if copy.exists():
            os.replace(copy, file)

    answer = worker.put("/traits/CUSTOM_LATE")
    assert answer.status_code == 503
    assert "The file of the database was replaced while" in answer.text
    assert worker.get("/traits/CUSTOM_LATE").status_code == 404
    assert worker.put("/traits/CUSTOM_LATE").status_code == 201
    assert workers[1].get("/traits/CUSTOM_LATE").status_code == 204


def test_a_file_that_is_gone_is_not_made_anew(file, workers):
    copy = backup(file)
    file.unlink()
    for worker in workers:
        assert worker.get("/traits").status_code == 503
        assert worker.put("/traits/CUSTOM_LOST").status_code == 503
    assert not file.exists()
    os.replace(copy, file)
    for worker in workers:
        assert worker.get(f"/resource_providers/{ROOT}").status_code == 200


def test_where_numbers_of_files_change_nothing_is_lost(file, workers, monkeypatch):
    """Network file systems may give a file other numbers. Its log is the only place of writes."""
    numbers, log = itertools.count(), file.with_name("placement.db-wal")
    kept = log.stat().st_ino
    monkeypatch.setattr(
        sqlite_sessions.OpenFile,
        "of",
        classmethod(lambda cls, path: cls(path, (0, next(numbers) // 3))),
    )
    for number in range(4):
        expect(workers[number % 2].put(f"/traits/CUSTOM_{number}"), 201)
    for worker in workers:
        assert len(worker.get("/traits?name=startswith:CUSTOM_").json["traits"]) == 4
    assert log.stat().st_ino == kept
