"""Records that another version wrote, that another user owns, or that are damaged."""

import contextlib
import os
import pathlib
import shutil
import sqlite3
import tempfile

import pytest

from compute.cli import berth_compute, nova_manage
from compute.records.cell_database import schema, sqlite
from tests.databases.fresh import SQLiteFiles
from tests.functional.compute.maintenance.http_service import REPOSITORY
from tests.functional.compute.maintenance.site import Site
from tests.functional.forked import PATIENCE, PROCESSES
from tests.offenders import assert_each
from virt.fake import MediumFakeDriver

LOOKING = [
    ("tree",),
    ("consumers",),
    ("audit",),
    ("devices",),
    ("heal_allocations", "--dry-run"),
    ("migrate_compute_inventory", "--dry-run"),
    ("audit", "--delete", "--dry-run"),
    ("drain", "--host", "host1", "--plan"),
]
WRITING = [("heal_allocations",), ("audit", "--delete"), ("migrate_compute_inventory",)]
#: the user nobody
STRANGER = 65534


@pytest.fixture
def site(sqlite_site):
    """Return a host with a guest and a leftover."""
    root = sqlite_site.started(MediumFakeDriver)
    sqlite_site.guest()
    with sqlite_site.placement() as outsider:
        outsider.allocate({root: {"VCPU": 1}})
    return sqlite_site


def named(commands):
    """Return name → words of commands."""
    return {" ".join(words): words for words in commands}


def changed(site, *statements):
    with contextlib.closing(sqlite3.connect(site.state / sqlite.FILE_NAME)) as file:
        for statement in statements:
            file.execute(statement)
        file.commit()


def contents(site):
    return {path.name: path.read_bytes() for path in site.state.iterdir() if path.is_file()}


NEWER = f"UPDATE {schema.VERSION_TABLE} SET version_num = '0099'"
SENTENCE = "were written by a newer version of Berth: their schema is 0099"


class TestOfANewerVersion:
    def test_looking_works_where_the_columns_are_there(self, site):
        expected = {command: site.run(*command) for command in LOOKING}
        changed(site, NEWER, "ALTER TABLE instances ADD COLUMN color TEXT", "CREATE TABLE new (a)")
        before = contents(site)

        def check(*command):
            found = site.run(*command)
            assert (found.code, found.err) == expected[command][::2]
            assert contents(site) == before

        assert_each(named(LOOKING), check)

    def test_without_them_it_is_told_in_a_sentence(self, site):
        changed(site, NEWER, "ALTER TABLE instances RENAME COLUMN host TO machine")
        self.check_refused(site, LOOKING + WRITING)

    def test_so_is_what_writes(self, site):
        changed(site, NEWER)
        self.check_refused(site, WRITING)

    def check_refused(self, site, commands):
        before, rows = contents(site), site.rows()

        def check(*command):
            ended = site.run(*command)
            assert (ended.code, ended.out, ended.err.count("\n")) == (127, "", 1)
            assert SENTENCE in ended.err
            assert (contents(site), site.rows()) == (before, rows)

        assert_each(named(commands), check)

    def test_the_agent_ends_with_a_code_that_the_unit_does_not_restart(self, site, capsys):
        changed(site, NEWER)
        before = contents(site)
        with site.file.open("a") as file:
            file.write("[placement]\nauth_type = none\nendpoint_override = http://127.0.0.1:9\n")
        code = berth_compute.main([f"--config-file={site.file}"])
        told = capsys.readouterr().err
        unit = (REPOSITORY / "contrib/systemd/berth-compute.service").read_text()
        prevented = unit.partition("RestartPreventExitStatus=")[2].splitlines()[0].split()
        assert str(code) in prevented
        assert SENTENCE in told
        assert "Traceback" not in told
        assert contents(site) == before


def test_an_older_version_s_are_read_and_stay_as_they_are(site):
    expected = site.run("audit", "--json").json["allocations"]
    changed(
        site,
        "DROP TABLE own_allocations",
        f"UPDATE {schema.VERSION_TABLE} SET version_num = '0001'",
    )
    before = contents(site)
    found = site.run("audit", "--json").json["allocations"]
    assert [one["consumer"] for one in found] == [one["consumer"] for one in expected]
    assert contents(site) == before


def test_a_damaged_file_says_so(site):
    (site.state / sqlite.FILE_NAME).write_bytes(b"no database " * 1000)

    def check(*command):
        ended = site.run(*command)
        assert (ended.code, ended.out, ended.err.count("\n")) == (127, "", 1)
        assert f"records in {site.state / sqlite.FILE_NAME} are damaged" in ended.err

    assert_each(named(LOOKING + WRITING), check)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
@pytest.mark.usefixtures("forking")
class TestAnotherUser:
    @pytest.fixture
    def site(self, capsys, own_logging):
        """Return a host whose files everybody reads and root alone writes."""
        folder = pathlib.Path(tempfile.mkdtemp())
        url = SQLiteFiles.filled(folder / "placement.db")
        with contextlib.closing(Site(folder, url, capsys.readouterr)) as site:
            site.started(MediumFakeDriver)
            site.guest()
            for path in (folder, *folder.rglob("*")):
                path.chmod(0o755 if path.is_dir() else 0o644)
            yield site
        shutil.rmtree(folder)

    def test_may_look(self, site):
        """At rest, and while the agent writes."""
        before = set(site.state.iterdir())
        mine, theirs = PROCESSES.Pipe()
        process = PROCESSES.Process(target=_as_stranger, args=(site.file, theirs))
        process.start()
        theirs.close()

        def answer():
            assert mine.poll(PATIENCE)
            return mine.recv()

        with mine:
            expected = answer()
            assert answer() == expected
            with site.cell() as cell:
                cell.own_allocations.add("consumer", "node")
                for path in site.state.iterdir():
                    path.chmod(0o644)
                mine.send("busy")
                assert answer() == expected
        process.join(PATIENCE)
        assert set(site.state.iterdir()) <= before | {
            site.state / f"{sqlite.FILE_NAME}{more}" for more in ("-wal", "-shm")
        }


def _as_stranger(file, tells):
    """Tell the codes of the commands: as the owner, as a stranger, and again when asked to."""
    commands = [[f"--config-file={file}", "placement", *command] for command in LOOKING]

    def tell():
        tells.send([nova_manage.main(command) for command in commands])

    # the stranger may not read the files of this Python: they are imported before
    tell()
    os.setgid(STRANGER)
    os.setuid(STRANGER)
    tell()
    tells.recv()
    tell()
