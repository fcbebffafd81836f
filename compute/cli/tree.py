"""`nova-manage placement tree`: provider trees, their usage, and their consumers."""

import sys
from collections.abc import Iterator, Sequence

from compute.cli.json_stream import JSONStream
from compute.cli.recorded_consumers import RecordedConsumers
from compute.cli.tree_commands import Tree, options_of, show_trees
from compute.cli.tree_drawing import as_json, draw, show
from compute.records.cell_database import CellDatabase


def tree(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Show provider trees: inventories with usage, traits, aggregates, and consumers."""
    asked = options_of("tree", tree.__doc__ or "").parse_args(arguments)
    return show_trees(asked, config_arguments, _as_json if asked.json else _as_text)


def _as_text(trees: Iterator[Tree], cell: CellDatabase) -> None:
    known = RecordedConsumers(cell)
    for providers in trees:
        consumers = {consumer for provider in providers for consumer in provider.holders}
        described = {consumer: known.described(consumer) for consumer in consumers}
        names = {consumer: what for consumer, what in described.items() if what}
        show(draw(providers, names))


def _as_json(trees: Iterator[Tree], cell: CellDatabase) -> None:
    with JSONStream(sys.stdout, {}, "resource_providers") as stream:
        for providers in trees:
            for provider in providers:
                stream.add(as_json(provider))
