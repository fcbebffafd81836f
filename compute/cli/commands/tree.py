"""`nova-manage placement tree`: provider trees, their usage, and their consumers."""

import sys
from collections.abc import Callable, Iterator, Sequence

from compute.cli.commands.tree_commands import Tree, options_of, show_trees
from compute.cli.output import drawn_file
from compute.cli.output.json_stream import JSONStream
from compute.cli.output.recorded_consumers import RecordedConsumers
from compute.cli.output.tree_drawing import as_json, draw, show
from compute.records.cell_database import CellDatabase


def tree(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Show provider trees: inventories with usage, traits, aggregates, and consumers."""
    options = options_of("tree", tree.__doc__ or "")
    drawn_file.add_option(options, "the trees")
    asked = options.parse_args(arguments)
    if asked.html is None:
        return show_trees(asked, config_arguments, _as_json if asked.json else _as_text)
    if asked.json:
        options.error("argument --html: not allowed with argument --json")
    drawn_file.check(asked.html)
    wanted = asked.node or asked.provider
    title = f"Provider tree of {wanted}" if wanted else "Provider trees"
    return show_trees(asked, config_arguments, _as_file(asked.html, title))


def _as_text(trees: Iterator[Tree], cell: CellDatabase) -> None:
    known = RecordedConsumers(cell)
    for providers in trees:
        consumers = {consumer for provider in providers for consumer in provider.holders}
        described = {consumer: known.described(consumer) for consumer in consumers}
        names = {consumer: what for consumer, what in described.items() if what}
        show(draw(providers, names))


def _as_file(path: str, title: str) -> Callable[[Iterator[Tree], CellDatabase], None]:
    def show(trees: Iterator[Tree], cell: CellDatabase) -> None:
        known = RecordedConsumers(cell)
        read = list(trees)
        holders = {consumer for providers in read for one in providers for consumer in one.holders}
        data = {
            "trees": [[as_json(provider) for provider in providers] for providers in read],
            "consumers": {consumer: known.described(consumer) for consumer in sorted(holders)},
        }
        drawn_file.write(path, title, "tree", data)
        number = sum(map(len, read))
        print(f"{path} shows {number} {'provider' if number == 1 else 'providers'}.")

    return show


def _as_json(trees: Iterator[Tree], cell: CellDatabase) -> None:
    with JSONStream(sys.stdout, {}, "resource_providers") as stream:
        for providers in trees:
            for provider in providers:
                stream.add(as_json(provider))
