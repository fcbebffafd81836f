"""Trees on a terminal and elsewhere, and what is said beside what changes."""

import io
import re
import sys

import pytest

from compute.cli.console import in_any_encoding
from compute.cli.output.tree_drawing import draw, marks_between, show
from compute.maintenance.provider_details import ProviderDetails

STYLE = re.compile(r"\x1b\[[\d;]*m")
HOLDER = "0a7d7a6c-3ae0-4c3a-8d5c-6f2b8d3e9f01"


def provider(uuid, parent=None, holders=None, **inventories):
    """Make a provider whose name is its uuid."""
    records = {name: {"total": total} for name, total in inventories.items()}
    return ProviderDetails(uuid, uuid, parent, 1, records, [], [], {}, holders or {})


@pytest.fixture
def shown(monkeypatch):
    """Return what is printed of a tree on a terminal of 60 columns, or without one."""

    def shown(trees, terminal, encoding="utf-8"):
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, encoding=encoding)
        stream.isatty = lambda: terminal
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setenv("COLUMNS", "60")
        monkeypatch.setenv("TERM", "xterm")
        in_any_encoding(stream)
        show(trees, indent=4)
        stream.flush()
        return STYLE.sub("", raw.getvalue().decode(encoding)).splitlines()

    return shown


TREE = [
    provider("root", DISK_GB=10),
    provider("cell", "root", {HOLDER: {"VCPU": 2, "MEMORY_MB": 4096}}, VCPU=4),
    provider("last", "root"),
]


def test_elsewhere_no_line_is_broken(shown):
    assert shown(draw(TREE), terminal=False) == [
        "    root  root  generation 1",
        "    ├── DISK_GB  ░░░░░░░░░░  0 of 10 used  (total 10)",
        "    ├── cell  cell  generation 1",
        "    │   ├── VCPU  ░░░░░░░░░░  0 of 4 used  (total 4)",
        f"    │   └── held by     {HOLDER}  4096 MEMORY_MB, 2 VCPU",
        "    └── last  last  generation 1",
    ]


def test_elsewhere_even_the_longest_line_is_not_broken(shown):
    holders = {HOLDER: {f"CUSTOM_{number:0200}": 1 for number in range(100)}}
    assert len(shown(draw([provider("root", None, holders)]), terminal=False)) == 2


def test_on_a_terminal_a_long_line_goes_on_below_where_it_began(shown):
    lines = shown(draw(TREE), terminal=True)
    assert max(map(len, lines)) <= 60
    assert lines[4:6] == [
        f"    │   └── held by     {HOLDER}",
        "    │                   4096 MEMORY_MB, 2 VCPU",
    ]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_where_there_are_no_such_characters_others_do(shown, encoding):
    assert shown(draw(TREE), terminal=False, encoding=encoding)[:2] == [
        "    root  root  generation 1",
        "    +-- DISK_GB  ..........  0 of 10 used  (total 10)",
    ]


def test_what_goes_and_what_comes_is_marked():
    before = [provider("root", VCPU=4, VGPU=2), provider("old", "root", VCPU=1)]
    after = [provider("root", VCPU=8, DISK_GB=1), provider("new", "root", VGPU=2)]
    assert marks_between(before, after) == (
        {("old", None): "removed", ("root", "VGPU"): "moves away"},
        {("root", "DISK_GB"): "new", ("root", "VCPU"): "was total 4"},
    )


def test_marks_are_beside_what_they_are_about(shown):
    marks = {("cell", None): "removed", ("root", "DISK_GB"): "was total 4"}
    lines = shown(draw(TREE[:2], marks=marks), terminal=False)
    assert lines[1].endswith("(total 10)  ← was total 4")
    assert lines[2].endswith("cell  cell  generation 1  ← removed")
