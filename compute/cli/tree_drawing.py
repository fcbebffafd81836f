"""Provider trees for the terminal: inventories with bars, traits, who holds what."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from compute.manage.picture import Amounts, ProviderPicture, capacity

BAR_WIDTH = 10
#: how full a bar is from where on it has this colour
COLOURS = ((1.0, "red"), (0.8, "yellow"), (0.0, "green"))
#: nobody's terminal is wider; where there is none, lines aren't broken
WIDEST = 1000


def draw(
    pictures: Sequence[ProviderPicture],
    names: Mapping[str, str] | None = None,
    traits: bool = True,
) -> list[Tree]:
    """Draw the trees of providers given parents first; a tree for each whose parent isn't given.

    :param names: what consumers are called
    :param traits: whether traits and aggregates are shown
    """
    drawn: dict[str, Tree] = {}
    roots = []
    for provider in pictures:
        label = _label(provider)
        parent = drawn.get(provider.parent_uuid or "")
        branch = Tree(label, guide_style="dim") if parent is None else parent.add(label)
        if parent is None:
            roots.append(branch)
        drawn[provider.uuid] = branch
        _draw_contents(branch, provider, names or {}, traits)
    return roots


def _label(provider: ProviderPicture) -> Text:
    # Of one that isn't there yet the uuid may still be another in the end.
    known = provider.generation is not None
    about = f"  {provider.uuid}  generation {provider.generation}" if known else "  new"
    return Text.assemble((provider.name, "bold"), (about, "dim"))


def _draw_contents(
    branch: Tree, provider: ProviderPicture, names: Mapping[str, str], traits: bool
) -> None:
    classes = sorted({*provider.inventories, *provider.used})
    width = max(map(len, classes), default=0)
    for name in classes:
        branch.add(_inventory_line(provider, name, width))
    if traits and provider.traits:
        branch.add(Text(f"traits      {', '.join(provider.traits)}"))
    if traits and provider.aggregates:
        branch.add(Text(f"aggregates  {', '.join(provider.aggregates)}"))
    for consumer, held in sorted(provider.holders.items()):
        who = names.get(consumer)
        shown = f"{consumer} ({who})" if who else consumer
        branch.add(Text(f"held by     {shown}  {amounts(held)}"))


def _inventory_line(provider: ProviderPicture, name: str, width: int) -> Text:
    used = provider.used.get(name, 0)
    record = provider.inventories.get(name)
    if record is None:
        return Text.assemble(f"{name:<{width}}  ", (f"{used} used, no inventory", "red"))
    room = capacity(record)
    details = [f"total {record['total']}"]
    if record.get("reserved"):
        details.append(f"reserved {record['reserved']}")
    if record.get("allocation_ratio", 1.0) != 1.0:
        details.append(f"ratio {record['allocation_ratio']:g}")
    return Text.assemble(
        f"{name:<{width}}  ",
        bar(used, room),
        f"  {used} of {room} used",
        f"  ({', '.join(details)})",
    )


def bar(used: int, room: int) -> Text:
    """How much of the room is used, in BAR_WIDTH blocks."""
    share = min(used / room, 1.0) if room > 0 else float(used > 0)
    # None only if nothing is used, all only if all is.
    filled = min(max(round(share * BAR_WIDTH), int(used > 0)), BAR_WIDTH - int(share < 1))
    colour = next(colour for least, colour in COLOURS if share >= least)
    return Text.assemble(("█" * filled, colour), ("░" * (BAR_WIDTH - filled), "dim"))


def amounts(held: Amounts) -> str:
    """`2 VCPU, 512 MEMORY_MB`, in the order of the classes' names."""
    return ", ".join(f"{amount} {name}" for name, amount in sorted(held.items()))


def as_json(provider: ProviderPicture) -> dict[str, Any]:
    """A provider for --json: like placement's own answers, put together."""
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
    """Print trees, each line pushed to the right by so many blanks and none of them broken."""
    wide = None if sys.stdout.isatty() else WIDEST
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True, width=wide)
    with console.capture() as captured:
        for drawn in trees:
            console.print(drawn)
    for line in captured.get().splitlines():
        # Not by the console: a bar below must know of it.
        print(" " * indent + line.rstrip())
