"""Faults of SQLite: another program holds its single lock, or the disk is full."""

import concurrent.futures
import contextlib
import resource
import sqlite3
from pathlib import Path

import pytest

from tests.faults.forking import running
from tests.faults.running import eventually
from tests.functional.placement.small_cloud import NEW, ROOT, holding, stock

#: bytes that can still be written when the disk counts as full
LEFT = 40_000


@pytest.fixture
def file(tmp_path):
    return tmp_path / "placement.db"


@pytest.fixture
def service(file):
    with running(f"sqlite:///{file}", arguments=["--debug"]) as service:
        assert service.post("/resource_providers", {"name": "root", "uuid": ROOT}).status == 200
        path = f"/resource_providers/{ROOT}/inventories"
        assert service.put(path, stock(0, VCPU=4)).status == 200
        yield service


def claim(service):
    return service.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))


def test_a_write_waits_for_another_program_and_readers_do_not(service, file):
    with (
        concurrent.futures.ThreadPoolExecutor() as beside,
        contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        answer = beside.submit(claim, service)
        # a write that can't wait for the lock would be answered, and not with 204
        eventually(lambda: f"PUT /allocations/{NEW}" in service.log.read_text(), service.said)
        assert service.get(f"/resource_providers/{ROOT}").status == 200
        assert service.get("/allocation_candidates?resources=VCPU:1").status == 200
        assert not answer.done()
        other.execute("ROLLBACK")
        assert answer.result().status == 204


@contextlib.contextmanager
def full(service, file):
    """Limit the growth of the workers' files to LEFT bytes."""
    files = [file, Path(f"{file}-wal")]
    size = max(file.stat().st_size for file in files if file.exists())
    pids = service.workers()
    unlimited = resource.prlimit(pids[0], resource.RLIMIT_FSIZE)
    for pid in pids:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size + LEFT, unlimited[1]))
    try:
        yield
    finally:
        for pid in pids:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)


def fill_up(service):
    """Create providers until a request fails; return its response, and the number of providers."""
    for number in range(1000):
        answer = service.post("/resource_providers", {"name": f"{number:0200}"})
        if answer.status != 200:
            return answer, number
    raise AssertionError("1000 providers found room")


def test_a_full_disk_is_reported_and_leaves_no_partial_write(service, file):
    workers = service.workers()
    with full(service, file):
        answer, created = fill_up(service)
        assert answer.status in (503, 507)
        found = service.get("/resource_providers")
        assert (found.status, len(found.body["resource_providers"])) == (200, 1 + created)
        assert service.get("/allocation_candidates?resources=VCPU:1").status == 200

    assert claim(service).status == 204
    assert len(service.get("/resource_providers").body["resource_providers"]) == 1 + created
    with contextlib.closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert service.workers() == workers
