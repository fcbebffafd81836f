"""The bar, on a terminal and elsewhere."""

import io
import sys

import pytest

from compute.cli.output.progress import Bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def streams(monkeypatch):
    """Replace stdout and stderr by these streams."""

    def replaced(out, err):
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        return out, err

    return replaced


def work(**options):
    with Bar("nodes", 2, **options) as bar:
        for number in (1, 2):
            print(f"node {number} is done")
            bar.advance()


def test_on_a_terminal_what_is_printed_has_lines_of_its_own_above_the_bar(streams):
    out, _ = streams(Terminal(), io.StringIO())
    work()
    assert "2/2" in out.getvalue()
    plain = [line.rpartition("\x1b[2K")[2] for line in out.getvalue().splitlines()]
    assert [line for line in plain if line.startswith("node ")] == [
        "node 1 is done",
        "node 2 is done",
    ]


def test_where_only_stderr_is_a_terminal_the_bar_is_there(streams):
    out, err = streams(io.StringIO(), Terminal())
    work()
    assert (out.getvalue(), "2/2" in err.getvalue()) == ("node 1 is done\nnode 2 is done\n", True)


def test_without_a_terminal_there_are_plain_lines_alone(streams):
    out, err = streams(io.StringIO(), io.StringIO())
    work()
    assert (out.getvalue(), err.getvalue()) == ("node 1 is done\nnode 2 is done\n", "")


def test_a_bar_can_be_hidden(streams):
    out, _ = streams(Terminal(), io.StringIO())
    work(hidden=True)
    assert out.getvalue() == "node 1 is done\nnode 2 is done\n"
