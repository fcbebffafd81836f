"""`nova-manage placement tree`: provider trees with what is used of them, and by whom."""

import sys
from collections.abc import Iterator, Sequence

from compute.cli.json_stream import JSONStream
from compute.cli.looking import Tree, WhoIsWho, look, options
from compute.cli.tree_drawing import as_json, draw, show
from compute.records.cell_database import CellDatabase


def tree(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Show provider trees: inventories, how full they are, traits, aggregates, who holds what."""
    asked = options("tree", tree.__doc__ or "").parse_args(arguments)
    return look(asked, config_arguments, _as_json if asked.json else _as_text)


def _as_text(trees: Iterator[Tree], cell: CellDatabase) -> None:
    known = WhoIsWho(cell)
    for pictures in trees:
        consumers = {consumer for provider in pictures for consumer in provider.holders}
        described = {consumer: known.described(consumer) for consumer in consumers}
        names = {consumer: what for consumer, what in described.items() if what}
        show(draw(pictures, names))


def _as_json(trees: Iterator[Tree], cell: CellDatabase) -> None:
    with JSONStream(sys.stdout, {}, "resource_providers") as stream:
        for pictures in trees:
            for provider in pictures:
                stream.add(as_json(provider))
