"""placement-manage openapi writes the whole document, or says why it can't."""

import contextlib
import io
import os
import sys

import pytest
import yaml

from placement.cli import manage
from placement.extensions.openapi.document import document
from placement.microversions import name


def _described(api, version):
    return {"info": {"title": "a → b", "version": name(version)}}


@pytest.fixture
def run(monkeypatch, own_logging):
    """Return a function that writes a document to a stream, and to its end; it returns the code."""
    for each in [each for each in os.environ if each.startswith("OS_")]:
        monkeypatch.delenv(each)
    module = sys.modules[document.__module__]
    monkeypatch.setattr(module, "document", _described)

    def run(stream, *more):
        with stream, contextlib.redirect_stdout(stream):
            # closing it writes what the end of the process would write
            return manage.main(["openapi", "--microversion", "1.39", *more])

    return run


def test_a_locale_without_unicode_doesnt_change_the_document(run):
    class Kept(io.BytesIO):
        def close(self):
            self.kept = self.getvalue()

    written = Kept()
    assert run(io.TextIOWrapper(written, encoding="ascii"), "--format", "yaml") == 0
    assert "→".encode() in written.kept
    assert yaml.load(written.kept, yaml.CSafeLoader)["info"]["version"] == "1.39"


def test_a_full_disk_is_told_in_one_line(run, capsys):
    assert run(open("/dev/full", "w")) == 1
    told = "placement-manage: the description can't be written: No space left on device\n"
    assert capsys.readouterr().err == told


def test_a_reader_may_leave_early(run, capsys):
    reader, writer = os.pipe()
    os.close(reader)
    assert run(open(writer, "w")) == 0
    assert capsys.readouterr().err == ""
