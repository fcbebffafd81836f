"""placement-manage openapi writes the whole document, or says why it can't."""

import contextlib
import io
import os
import sys

import pytest
import yaml

from placement.cli import manage
from placement.extensions.openapi.document import document
from placement.microversions import NEWEST, name


def _described(api, version):
    # short enough for a stream to keep it until the end, if that fails
    return {"info": {"title": "a → b", "version": name(version)}}


@pytest.fixture
def run(tmp_path, monkeypatch, own_logging):
    """Return a function that writes a document to a stream, and returns the exit code."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for each in [each for each in os.environ if each.startswith("OS_")]:
        monkeypatch.delenv(each)
    module = sys.modules[document.__module__]
    monkeypatch.setattr(module, "document", _described)

    def run(stream, *more):
        with contextlib.redirect_stdout(stream):
            return manage.main(["openapi", "--microversion", "latest", *more])

    return run


def test_a_locale_without_unicode_doesnt_change_the_document(run):
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii")
    assert run(stream, "--format", "yaml") == 0
    assert yaml.safe_load(written.getvalue())["info"] == _described(None, NEWEST)["info"]
    assert "→".encode() in written.getvalue()


def test_a_full_disk_is_told_in_one_line(run, capsys):
    # its end writes what the end of the process would write
    with open("/dev/full", "w") as full:
        assert run(full) == 1
    told = "placement-manage: the description can't be written: No space left on device\n"
    assert capsys.readouterr().err == told


def test_a_reader_may_leave_early(run, capsys):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as left:
        assert run(left) == 0
    assert capsys.readouterr().err == ""
