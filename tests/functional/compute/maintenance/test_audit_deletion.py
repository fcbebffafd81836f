"""`audit --delete` keeps a journal, and asks before it deletes."""

import errno
import os
import pty
import re
import stat
import sys

import pytest

from compute.cli.commands import audit as audit_command
from compute.maintenance.audit import deletion
from compute.maintenance.journal import entries
from tests.functional.compute.maintenance.two_hosts import (
    CPU,
    hosts,
    made,
    neighbours,
)

__all__ = ["hosts", "made", "neighbours"]


class TestTheJournalByDefault:
    def journals(self, hosts):
        return sorted(hosts.mine.state.glob("removed-allocations-*.jsonl"))

    def test_is_in_the_state_path_and_named_and_takes_it_back(self, hosts):
        consumer = hosts.allocate({hosts.root: CPU})
        ended = hosts.mine.run("audit", "--delete")
        (journal,) = self.journals(hosts)
        assert ended.out.splitlines()[0] == f"Journal of what is deleted: {journal}"
        assert re.fullmatch(r"removed-allocations-\d{8}T\d{6}Z-\d+\.jsonl", journal.name)
        assert hosts.held(consumer) == {}
        assert hosts.mine.run("audit", "--undo", str(journal)).code == 0
        assert hosts.held(consumer) == {hosts.root: CPU}

    def test_is_named_in_json(self, hosts):
        hosts.allocate({hosts.root: CPU})
        ended = hosts.mine.run("audit", "--delete", "--json")
        (journal,) = self.journals(hosts)
        assert ended.json["journal"] == str(journal)

    def test_is_written_before_anything_is_deleted(self, hosts, monkeypatch):
        consumer = hosts.allocate({hosts.root: CPU})
        noted = []

        def look(*args):
            noted.extend(
                entry["consumer"] for path in self.journals(hosts) for entry in entries(path)
            )

        monkeypatch.setattr(deletion, "write_consumer", look)
        hosts.mine.run("audit", "--delete")
        assert noted == [consumer]

    def test_is_flushed_to_the_disk_before_anything_is_deleted(self, hosts, monkeypatch):
        consumer = hosts.allocate({hosts.root: CPU})
        flush = os.fsync

        def fail_for_files(descriptor):
            flush(descriptor)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(os, "fsync", fail_for_files)
        ended = hosts.mine.run("audit", "--delete")
        assert (ended.code, "Input/output error" in ended.err) == (1, True)
        assert hosts.held(consumer) == {hosts.root: CPU}

    def test_of_each_run_is_a_file_of_its_own(self, hosts, monkeypatch):
        """Also of runs that begin in the same second."""
        for process in (1, 2):
            monkeypatch.setattr(os, "getpid", lambda number=process: number)
            hosts.allocate({hosts.root: CPU})
            assert hosts.mine.run("audit", "--delete").code == 4
        assert [len(entries(path)) for path in self.journals(hosts)] == [1, 1]

    def test_is_not_made_if_there_is_nothing_to_delete(self, hosts, neighbours):
        hosts.mine.run("audit", "--delete")
        assert self.journals(hosts) == []

    def test_that_can_t_be_made_keeps_everything(self, hosts, monkeypatch):
        consumer = hosts.allocate({hosts.root: CPU})
        nowhere = hosts.mine.state / "no" / "journal"
        monkeypatch.setattr(audit_command, "default_path", lambda folder: nowhere)
        ended = hosts.mine.run("audit", "--delete")
        assert (ended.code, ended.out) == (127, "")
        assert hosts.held(consumer) == {hosts.root: CPU}


class TestOnATerminal:
    @pytest.fixture
    def run(self, hosts, monkeypatch):
        """Return a function that runs the command while its standard input is a terminal."""

        def run(answer, *options):
            mine, theirs = pty.openpty()
            with os.fdopen(mine, "wb", buffering=0) as keyboard, os.fdopen(theirs) as terminal:
                keyboard.write(answer)
                monkeypatch.setattr(sys, "stdin", terminal)
                return hosts.mine.run("audit", *options)

        return run

    @pytest.fixture
    def leftover(self, hosts):
        return hosts.allocate({hosts.root: CPU})

    @pytest.mark.parametrize("answer", [b"y\n", b"yes\n"])
    def test_it_is_deleted_after_a_yes(self, run, hosts, leftover, answer):
        ended = run(answer, "--delete")
        assert (ended.code, hosts.held(leftover)) == (4, {})
        assert f"consumer UUID {leftover}" in ended.err
        assert ended.err.endswith("Delete this allocation? [y/N] ")

    @pytest.mark.parametrize("answer", [b"\n", b"n\n", b"delete\n", b"\x04"])
    def test_any_other_answer_leaves_it(self, run, hosts, leftover, answer):
        ended = run(answer, "--delete")
        assert (ended.code, hosts.held(leftover)) == (3, {hosts.root: CPU})
        assert "can be deleted" in ended.out
        assert not list(hosts.mine.state.glob("removed-allocations-*"))

    def test_yes_on_the_command_line_is_not_asked_again(self, run, hosts, leftover):
        ended = run(b"", "--delete", "--yes")
        assert (ended.code, ended.err, hosts.held(leftover)) == (4, "", {})

    def test_nothing_to_delete_is_no_question(self, run, hosts, neighbours):
        ended = run(b"", "--delete", "--all")
        assert (ended.code, ended.err) == (0, "")

    def test_looking_asks_nothing(self, run, hosts, leftover):
        ended = run(b"")
        assert (ended.code, ended.err) == (3, "")


def test_yes_is_for_deleting(sqlite_site):
    ended = sqlite_site.run("audit", "--yes")
    assert (ended.code, ended.err) == (127, "nova-manage: --yes is for --delete.\n")
