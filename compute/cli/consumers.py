"""`nova-manage placement consumers`: who holds what."""

import sys
from collections.abc import Iterator, Sequence

from compute.cell_database import CellDatabase
from compute.cli.json_stream import JSONStream
from compute.cli.looking import Tree, WhoIsWho, look, options
from compute.cli.tree_drawing import amounts
from compute.manage.picture import Amounts, ProviderPicture

#: consumer → what it holds, provider by provider
Holdings = dict[str, list[tuple[ProviderPicture, Amounts]]]


def consumers(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Show each consumer with what it holds of the providers looked at."""
    asked = options("consumers", consumers.__doc__ or "").parse_args(arguments)
    return look(asked, config_arguments, _as_json if asked.json else _as_text)


def _holdings(trees: Iterator[Tree]) -> Holdings:
    found: Holdings = {}
    for pictures in trees:
        for provider in pictures:
            for consumer, held in provider.holders.items():
                found.setdefault(consumer, []).append((provider, held))
    return dict(sorted(found.items()))


def _as_text(trees: Iterator[Tree], cell: CellDatabase) -> None:
    known, holdings = WhoIsWho(cell), _holdings(trees)
    width = max(
        (len(provider.name) for parts in holdings.values() for provider, _ in parts), default=0
    )
    for consumer, parts in holdings.items():
        what = known.described(consumer)
        print(f"{consumer}  {what}" if what else consumer)
        for provider, held in parts:
            print(f"  {provider.name:<{width}}  {amounts(held)}")


def _as_json(trees: Iterator[Tree], cell: CellDatabase) -> None:
    known = WhoIsWho(cell)
    with JSONStream(sys.stdout, {}, "consumers") as stream:
        for consumer, parts in _holdings(trees).items():
            kind, host = known.kind_and_host(consumer)
            stream.add(
                {
                    "uuid": consumer,
                    "kind": kind,
                    "host": host,
                    "allocations": {
                        provider.uuid: {"name": provider.name, "resources": dict(held)}
                        for provider, held in parts
                    },
                }
            )
