"""Provider trees for the terminal: inventories with bars, traits, consumers."""

import sys
from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from compute.cli.output.terminal import Terminal
from compute.maintenance.provider_details import ProviderDetails
from compute.provider_tree.allocation_records import Amounts
from compute.provider_tree.inventory_record import DEFAULTS, capacity, completed

BAR_WIDTH = 10
#: (least share in use, colour of the bar)
COLOURS = ((1.0, "red"), (0.8, "yellow"), (0.0, "green"))
#: wider than any terminal: without a terminal, lines aren't broken
WIDEST = 1_000_000

#: (provider uuid, resource class; None: the provider itself) → the remark beside it
Marks = Mapping[tuple[str, str | None], str]


def draw(
    providers: Sequence[ProviderDetails],
    names: Mapping[str, str] | None = None,
    traits: bool = True,
    marks: Marks | None = None,
) -> list[Tree]:
    """Draw providers as trees; a provider whose parent isn't given is a root.

    :param providers: the providers, parents before children
    :param names: consumer uuid → description
    :param traits: whether traits and aggregates are shown
    """
    marks = marks or {}
    drawn: dict[str, Tree] = {}
    roots = []
    for provider in providers:
        label = _label(provider) + _mark(marks, provider.uuid, None)
        parent = drawn.get(provider.parent_uuid or "")
        branch = Tree(label, guide_style="dim") if parent is None else parent.add(label)
        if parent is None:
            roots.append(branch)
        drawn[provider.uuid] = branch
        _draw_contents(branch, provider, names or {}, traits, marks)
    return roots


def marks_between(
    before: Sequence[ProviderDetails], after: Sequence[ProviderDetails]
) -> tuple[Marks, Marks]:
    """Return the remarks on providers and inventories that differ: before, after."""
    had = {provider.uuid: provider for provider in before}
    has = {provider.uuid: provider for provider in after}
    goes: dict[tuple[str, str | None], str] = {(uuid, None): "removed" for uuid in had - has.keys()}
    comes: dict[tuple[str, str | None], str] = {}
    for uuid in had.keys() & has.keys():
        old, new = had[uuid].inventories, has[uuid].inventories
        goes |= {(uuid, name): "moves away" for name in old.keys() - new.keys()}
        comes |= {(uuid, name): "new" for name in new.keys() - old.keys()}
        comes |= {
            (uuid, name): f"was {_stock(old[name])}"
            for name in old.keys() & new.keys()
            if _stock(old[name]) != _stock(new[name])
        }
    return goes, comes


def _mark(marks: Marks, uuid: str, name: str | None) -> Text:
    said = marks.get((uuid, name))
    return Text("" if said is None else f"  ← {said}", "bold")


def _label(provider: ProviderDetails) -> Text:
    # The uuid of a provider that doesn't exist yet isn't final.
    known = provider.generation is not None
    about = f"  {provider.uuid}  generation {provider.generation}" if known else "  new"
    return Text.assemble((provider.name, "bold"), (about, "dim"))


def _draw_contents(
    branch: Tree, provider: ProviderDetails, names: Mapping[str, str], traits: bool, marks: Marks
) -> None:
    classes = sorted({*provider.inventories, *provider.used})
    width = max(map(len, classes), default=0)
    for name in classes:
        branch.add(_inventory_line(provider, name, width) + _mark(marks, provider.uuid, name))
    if traits and provider.traits:
        branch.add(_said("traits", ", ".join(provider.traits)))
    if traits and provider.aggregates:
        branch.add(_said("aggregates", ", ".join(provider.aggregates)))
    for consumer, held in sorted(provider.holders.items()):
        who = names.get(consumer)
        shown = f"{consumer} ({who})" if who else consumer
        branch.add(_said("held by", f"{shown}  {amounts(held)}"))


def _said(what: str, content: str) -> Table:
    """Return a line that wraps below the beginning of its content."""
    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_column(width=len("aggregates"), no_wrap=True)
    line.add_column(overflow="fold")
    line.add_row(what, Text(content))
    return line


def _inventory_line(provider: ProviderDetails, name: str, width: int) -> Text:
    used = provider.used.get(name, 0)
    record = provider.inventories.get(name)
    if record is None:
        return Text.assemble(f"{name:<{width}}  ", (f"{used} used, no inventory", "red"))
    room = capacity(record)
    return Text.assemble(
        f"{name:<{width}}  ", bar(used, room), f"  {used} of {room} used  ({_stock(record)})"
    )


def _stock(record: Mapping[str, object]) -> str:
    """Return `total 10, reserved 2, ratio 4`, without default values."""
    full = completed(record)
    details = [f"total {full['total']}"]
    if full["reserved"] != DEFAULTS["reserved"]:
        details.append(f"reserved {full['reserved']}")
    if full["allocation_ratio"] != DEFAULTS["allocation_ratio"]:
        details.append(f"ratio {full['allocation_ratio']:g}")
    return ", ".join(details)


def bar(used: int, room: int) -> Text:
    """Return a bar of BAR_WIDTH blocks that shows how much of the room is used."""
    share = min(used / room, 1.0) if room > 0 else float(used > 0)
    # No block is filled only if nothing is used; all only if everything is.
    filled = min(max(round(share * BAR_WIDTH), int(used > 0)), BAR_WIDTH - int(share < 1))
    colour = next(colour for least, colour in COLOURS if share >= least)
    return Text.assemble(("█" * filled, colour), ("░" * (BAR_WIDTH - filled), "dim"))


def amounts(held: Amounts) -> str:
    """Return `2 VCPU, 512 MEMORY_MB`, sorted by the names of the classes."""
    return ", ".join(f"{amount} {name}" for name, amount in sorted(held.items()))


def as_json(provider: ProviderDetails) -> dict[str, object]:
    """Return a provider for --json, with the fields of placement's own answers."""
    return {
        "uuid": provider.uuid,
        "name": provider.name,
        "parent_provider_uuid": provider.parent_uuid,
        "generation": provider.generation,
        "inventories": {
            name: {
                **record,
                "capacity": provider.capacity(name),
                "used": provider.used.get(name, 0),
            }
            for name, record in sorted(provider.inventories.items())
        },
        "used": dict(provider.used),
        "traits": provider.traits,
        "aggregates": provider.aggregates,
        "allocations": {name: dict(held) for name, held in provider.holders.items()},
    }


def show(trees: Iterable[Tree], indent: int = 0) -> None:
    """Print trees, each line indented by so many blanks.

    On a terminal long lines are wrapped beside the branches; elsewhere lines aren't broken.
    """
    console = Terminal(file=sys.stdout, highlight=False)
    console.width = console.width - indent if sys.stdout.isatty() else WIDEST
    with console.capture() as captured:
        for drawn in trees:
            console.print(drawn)
    for line in captured.get().splitlines():
        # Not printed by this console: a progress bar replaces sys.stdout.
        print(" " * indent + line.rstrip())
