"""The operator's file of names: read again when it changes, told once when it can't be used."""

import json
import os

import pytest

from tests.functional.placement.service import Service

AGGREGATE = "11111111-2222-4333-8444-555555555555"
NONE = {"aggregates": {}, "projects": {}, "users": {}}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "names.json"


@pytest.fixture
def names(tmp_path, file):
    """Return a function that asks a service with that file for its names."""
    service = Service(f"sqlite:///{tmp_path}/placement.db", berth__names_file=str(file))
    yield lambda: service.get("/berth/v1/names").json
    service.close()


def warnings(caplog):
    return [record.message for record in caplog.records if record.levelname == "WARNING"]


def test_names_are_told_as_they_are(names, file):
    hostile = "<script>alert(1)</script>\u202e\u0007"
    file.write_text(json.dumps({"aggregates": {AGGREGATE.upper(): hostile}, "users": {"u": "Ann"}}))
    assert names() == NONE | {
        "aggregates": {AGGREGATE: hostile},
        "users": {"u": "Ann"},
        "problem": None,
    }


def test_a_change_is_seen(names, file):
    file.write_text('{"projects": {"p": "before"}}')
    assert names()["projects"] == {"p": "before"}
    other = file.with_name("other.json")
    other.write_text('{"projects": {"p": "behind"}}')
    os.replace(other, file)
    assert names()["projects"] == {"p": "behind"}


def test_a_change_is_seen_though_length_and_time_are_the_same(names, file):
    """As a program leaves it that copies a file with its time."""
    file.write_text('{"projects": {"p": "before"}}')
    before = file.stat()
    assert names()["projects"] == {"p": "before"}
    # clocks of file systems go by milliseconds
    while file.stat().st_ctime_ns == before.st_ctime_ns:
        file.write_text('{"projects": {"p": "behind"}}')
    os.utime(file, ns=(before.st_mtime_ns, before.st_mtime_ns))
    assert names()["projects"] == {"p": "behind"}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "can't be used: Expecting property name"),
        ("[" * 100_000, "can't be used: "),
        ("\udcff", "can't be used: 'utf-8' codec"),
        ("[]", "can't be used: it is no JSON object."),
        ('{"hosts": {}}', "can't be used: 'hosts' is none of aggregates, projects, users."),
        ('{"users": []}', "can't be used: users is no JSON object."),
        ('{"users": {"u": 7}}', "the name of 'u' in users is no text of 1 to 255 characters."),
        ('{"users": {"u": ""}}', "the name of 'u' in users is no text"),
        (json.dumps({"users": {"u": "n" * 256}}), "the name of 'u' in users is no text"),
        (" " * (8 * 2**20 + 1), "can't be used: it is longer than 8388608 bytes."),
    ],
)
def test_a_file_that_cant_be_used_is_told_once(names, file, caplog, content, problem):
    file.write_text(content, errors="surrogateescape")
    for _ in range(2):
        found = names()
        assert problem in found.pop("problem")
        assert found == NONE
    (warning,) = warnings(caplog)
    assert str(file) in warning
    assert problem in warning
    file.write_text('{"users": {"u": "Ann"}}')
    assert names() == NONE | {"users": {"u": "Ann"}, "problem": None}


def test_a_pipe_is_no_file(names, file):
    os.mkfifo(file)
    assert names()["problem"] == "The file of names can't be used: it is no regular file."


def test_a_folder_is_no_file_and_is_closed(names, file):
    file.mkdir()
    assert names()["problem"] == "The file of names can't be read: Is a directory."
    opened = (os.path.realpath(one.path) for one in os.scandir("/proc/self/fd"))
    assert str(file) not in opened
