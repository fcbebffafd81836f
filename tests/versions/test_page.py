"""What upgrade.rst shows between versions works on a database of the version before."""

import shlex

import pytest

from placement.cli import manage, status
from tests.page_code import commands_of
from tests.versions import earlier

PROGRAMS = {"placement-manage": manage, "placement-status": status}


@pytest.fixture(scope="session", params=["sqlite"])
def database_kind(request):
    """Return SQLite only: test_meeting.py upgrades databases of all kinds."""
    return request.param


def test_the_commands_between_versions_work(new_database, before, tmp_path, monkeypatch, capsys):
    url = new_database(empty=True)
    assert earlier.manage(before, url, "db", "sync").returncode == 0
    commands = [
        shlex.split(line) for line in commands_of("upgrade.rst", "Between versions of Berth")
    ]
    assert [[words[0].split("/")[-1], *words[1:]] for words in commands] == [
        ["placement-status", "upgrade", "check"],
        ["placement-manage", "db", "sync"],
    ]
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", url)
    # the check again, after the schema was upgraded; 1 is the code of a warning
    for (program, *words), code in zip((*commands, commands[0]), (1, 0, 0), strict=True):
        capsys.readouterr()
        assert PROGRAMS[program.split("/")[-1]].main(words) == code, words
    # the table's lines are short, so a sentence has several
    told = " ".join(capsys.readouterr().out.replace("|", " ").split())
    assert "Berth 0.1.0 and later can serve on it" in told
