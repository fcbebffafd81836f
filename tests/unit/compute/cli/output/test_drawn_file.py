"""`--html FILE`: what is written where, and what must stay as it is."""

import os
import stat
import threading

import pytest

from compute.cli.command_line import UnusableInput
from compute.cli.output import drawn_file

EMPTY = {"trees": [], "consumers": {}}


def write(path):
    drawn_file.check(str(path))
    drawn_file.write(str(path), "Provider trees", "tree", EMPTY)


def is_whole(path):
    text = path.read_text()
    return text.startswith("<!doctype html>") and text.endswith("</html>\n")


def test_a_device_stays_a_device(tmp_path):
    pipe = tmp_path / "device"
    os.mkfifo(pipe)
    with pytest.raises(UnusableInput, match="device is no file"):
        write(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["device"]


def test_a_link_to_a_device_stays_a_link(tmp_path):
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    with pytest.raises(UnusableInput, match="null is no file"):
        write(link)
    assert link.is_symlink()


def test_what_a_link_leads_to_is_written(tmp_path):
    shown, link = tmp_path / "shown" / "report.html", tmp_path / "latest.html"
    shown.parent.mkdir()
    link.symlink_to(shown)
    for _ in range(2):
        write(link)
        assert (link.is_symlink(), is_whole(shown)) == (True, True)
    assert os.listdir(shown.parent) == ["report.html"]


def test_a_link_to_itself_is_refused(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(UnusableInput, match="link"):
        write(link)


def test_nobody_may_read_more_than_before(tmp_path):
    path = tmp_path / "tree.html"
    path.touch(0o600)
    write(path)
    assert (stat.S_IMODE(path.stat().st_mode), is_whole(path)) == (0o600, True)


def test_a_long_name_is_a_name(tmp_path):
    path = tmp_path / ("x" * 250 + ".html")
    write(path)
    assert is_whole(path)


def test_a_folder_that_goes_meanwhile_is_told(tmp_path):
    path = tmp_path / "gone" / "tree.html"
    path.parent.mkdir()
    drawn_file.check(str(path))
    path.parent.rmdir()
    with pytest.raises(UnusableInput, match="gone"):
        drawn_file.write(str(path), "Provider trees", "tree", EMPTY)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_ends_early_leaves_what_was_there(tmp_path, monkeypatch, error):
    path = tmp_path / "tree.html"
    path.write_text("of last week")

    def fail(*_):
        raise error

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises((UnusableInput, KeyboardInterrupt)) as raised:
        write(path)
    assert isinstance(error, KeyboardInterrupt) or "No space left" in str(raised.value)
    assert (path.read_text(), os.listdir(tmp_path)) == ("of last week", ["tree.html"])


def test_two_writers_leave_one_whole_file(tmp_path):
    path = tmp_path / "tree.html"
    # the permissions of a new file are asked of the process, which its threads change for that
    path.write_text("of last week")
    writers = [threading.Thread(target=write, args=(path,)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (is_whole(path), os.listdir(tmp_path)) == (True, ["tree.html"])
