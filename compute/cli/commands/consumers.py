"""`nova-manage placement consumers`: what each consumer holds of the providers."""

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from compute.cli.commands.tree_commands import Tree, options_of, show_trees
from compute.cli.output.json_stream import JSONStream
from compute.cli.output.recorded_consumers import RecordedConsumers
from compute.cli.output.tree_drawing import amounts
from compute.provider_tree.allocation_records import Amounts
from compute.records.cell_database import CellDatabase
from placement.reports.lines import escaped


class HeldOfProvider(NamedTuple):
    """What a consumer holds of one provider."""

    uuid: str
    name: str
    resources: Amounts


#: consumer → what it holds, provider by provider
Holdings = dict[str, list[HeldOfProvider]]


def consumers(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Show each consumer with what it holds of the requested providers."""
    asked = options_of("consumers", consumers.__doc__ or "").parse_args(arguments)
    return show_trees(asked, config_arguments, _as_json if asked.json else _as_text)


def _holdings(trees: Iterator[Tree]) -> Holdings:
    found: Holdings = {}
    for providers in trees:
        for provider in providers:
            for consumer, held in provider.holders.items():
                part = HeldOfProvider(provider.uuid, provider.name, held)
                found.setdefault(consumer, []).append(part)
    return dict(sorted(found.items()))


def _as_text(trees: Iterator[Tree], cell: CellDatabase) -> None:
    known, holdings = RecordedConsumers(cell), _holdings(trees)
    width = max(
        (len(escaped(part.name)) for parts in holdings.values() for part in parts), default=0
    )
    for consumer, parts in holdings.items():
        what = known.described(consumer)
        print(f"{consumer}  {what}" if what else consumer)
        for part in parts:
            print(f"  {escaped(part.name):<{width}}  {amounts(part.resources)}")


def _as_json(trees: Iterator[Tree], cell: CellDatabase) -> None:
    known = RecordedConsumers(cell)
    with JSONStream(sys.stdout, {}, "consumers") as stream:
        for consumer, parts in _holdings(trees).items():
            kind, host = known.kind_and_host(consumer)
            stream.add(
                {
                    "uuid": consumer,
                    "kind": kind,
                    "host": host,
                    "allocations": {
                        part.uuid: {"name": part.name, "resources": dict(part.resources)}
                        for part in parts
                    },
                }
            )
