"""Bars, streams of JSON, and how a move is told."""

import io
import json

import pytest

from compute.cli.commands.migration_report import described
from compute.cli.output.json_stream import JSONStream
from compute.cli.output.tree_drawing import bar
from compute.maintenance.migrate.moves import AmountMove

NAMES = {"a": "node", "b": "node_numa0"}


@pytest.mark.parametrize(
    ("used", "room", "blocks"),
    [(0, 10, 0), (1, 1000, 1), (5, 10, 5), (999, 1000, 9), (10, 10, 10), (20, 10, 10), (1, 0, 10)],
)
def test_a_bar_is_empty_only_if_nothing_is_used_and_full_only_if_all_is(used, room, blocks):
    assert bar(used, room).plain == "█" * blocks + "░" * (10 - blocks)


@pytest.mark.parametrize(
    ("move", "told"),
    [
        (AmountMove("VCPU", 2, "a", "b"), "2 VCPU: node → node_numa0"),
        (AmountMove("VCPU", 2, "a", None), "2 VCPU: lost, was on node"),
        (AmountMove("VCPU", 2, None, "b"), "2 VCPU: new on node_numa0"),
        (AmountMove("VCPU", 2, "a", "a", "PCPU"), "2 VCPU becomes PCPU: on node"),
        (AmountMove("VCPU", 2, "a", "b", "PCPU"), "2 VCPU becomes PCPU: node → node_numa0"),
        (AmountMove("VCPU", 2, "a", "unknown"), "2 VCPU: node → unknown"),
    ],
)
def test_a_move_is_told_by_names(move, told):
    assert described(move, NAMES) == told


def written(items, closing, error=None):
    file = io.StringIO()
    try:
        with JSONStream(file, {"host": "h"}, "nodes") as stream:
            for item in items:
                stream.add(item)
            if error:
                raise error
            stream.closing = closing
    except ZeroDivisionError:
        pass
    return json.loads(file.getvalue())


@pytest.mark.parametrize("items", [[], [{"a": 1}], [{"a": 1}, {"b": "…"}]])
def test_a_stream_is_one_object(items):
    assert written(items, {"code": 0}) == {"host": "h", "nodes": items, "code": 0}


def test_a_stream_that_breaks_off_is_still_one_object():
    assert written([1, 2], {}, ZeroDivisionError("away")) == {
        "host": "h",
        "nodes": [1, 2],
        "error": "away",
    }
