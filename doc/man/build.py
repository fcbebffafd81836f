"""Write the manual pages of all commands.

    python doc/man/build.py                bring the pages in doc/man/ up to date
    python doc/man/build.py --troff DIR    write them for man, as DIR/COMMAND.8

The pages are written by hand, except for their generated regions: synopsis, options, commands and
exit codes. These come from what `--help` of each command prints.
"""

import argparse
import contextlib
import datetime
import importlib.metadata
import io
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from docutils.core import publish_string
from docutils.writers.manpage import Writer

from compute.cli.nova_manage import CATEGORIES
from placement.cli import serve

DISTRIBUTION = "openstack-berth"
HERE = Path(__file__).parent
SECTION = 8
#: wide enough for every line of a help text
WIDEST = 10_000
#: oslo.log's option in some releases only
NOT_IN_EVERY_RELEASE = ("--watch-log-file", "--nowatch-log-file")

_REGION = re.compile(r"^\.\. begin (?P<name>[a-z ]+)\n.*?^\.\. end \1$", re.M | re.S)
_SUBCOMMANDS = re.compile(r"\{([\w,]+)\} \.\.\.")


@dataclass
class Help:
    """What `--help` of a command or a subcommand says.

    `lists` are the titled lists, as title → [(term, text)]: options, exit codes, …
    `paragraphs` stand before them, `remarks` after them.
    """

    command: str
    usage: str = ""
    paragraphs: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    lists: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def listed(self) -> list[tuple[str, str]]:
        """Return the entries of all lists."""
        return [entry for entries in self.lists.values() for entry in entries]


def commands() -> dict[str, Callable[[Sequence[str]], object]]:
    """Return command → its main function, of every command of the distribution."""
    points = importlib.metadata.distribution(DISTRIBUTION).entry_points
    # placement-api is a file of its own, because servers load it, too
    return {"placement-api": serve.main} | {
        point.name: point.load() for point in sorted(points) if point.group == "console_scripts"
    }


def help_of(command: str, *subcommands: str) -> Help:
    """Return what `command subcommands --help` says."""
    text = _printed(commands()[command], [*subcommands, "--help"])
    return read(" ".join([command, *subcommands]), text)


def _printed(main: Callable[[Sequence[str]], object], arguments: Sequence[str]) -> str:
    """Return what a command prints, in lines as long as they may be and without colours."""
    before = dict(os.environ)
    os.environ.update(COLUMNS=str(WIDEST), NO_COLOR="1")
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
            main(arguments)
    finally:
        os.environ.clear()
        os.environ.update(before)
    return out.getvalue()


def read(command: str, text: str) -> Help:
    """Read a help text whose lines argparse didn't wrap."""
    found = Help(command)
    title = ""
    for block in re.split(r"\n{2,}", text.strip()):
        first, _, rest = block.partition("\n")
        if first.startswith("usage: "):
            found.usage = " ".join(block.removeprefix("usage: ").split())
        elif block.startswith(" ") or (first.endswith(":") and rest.startswith(" ")):
            if not block.startswith(" "):
                title, block = first.rstrip(":"), rest
            entries, after = _entries(block)
            found.lists.setdefault(title, []).extend(entries)
            found.remarks += [after] if after else []
        else:
            found.paragraphs.append(" ".join(block.split()))
    return found


def _entries(text: str) -> tuple[list[tuple[str, str]], str]:
    """Return the entries of a titled list, and the unindented text that follows them."""
    entries: list[tuple[str, str]] = []
    after: list[str] = []
    margin = 0
    for line in text.splitlines():
        if not line.startswith(" "):
            after.append(line)
            continue
        indent = len(line) - len(line.lstrip())
        term, _, told = line.strip().partition("  ")
        if entries and indent > margin:  # more of what the entry says
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}".strip())
        elif not term.startswith("{"):
            entries.append((_shared_value(term), told.strip()))
            margin = indent
    wanted = [entry for entry in entries if not entry[0].startswith(NOT_IN_EVERY_RELEASE)]
    return wanted, " ".join(after)


def _shared_value(term: str) -> str:
    """Return `-f, --file PATH` for `-f PATH, --file PATH`, as newer Pythons write it."""
    names = term.split(", ")
    values = {name.partition(" ")[2] for name in names}
    if len(names) == 1 or len(values) > 1:
        return term
    return ", ".join([*(name.partition(" ")[0] for name in names[:-1]), names[-1]])


def helps_of(command: str) -> list[Help]:
    """Return what the command and all its subcommands say, the command first."""
    found = [help_of(command)]
    if command == "nova-manage":
        names = [(category, name) for category in CATEGORIES for name in CATEGORIES[category]]
        return [*found, *(help_of(command, *name) for name in names)]
    waiting = [((name,), found[0]) for name in _subcommands(found[0])]
    while waiting:
        names, above = waiting.pop(0)
        told = help_of(command, *names)
        if not told.paragraphs:
            told.paragraphs += [text for name, text in above.listed() if name == names[-1] and text]
        below = [((*names, name), told) for name in _subcommands(told)]
        waiting = below + waiting
        if not below:
            found.append(told)
    return found


def _subcommands(told: Help) -> list[str]:
    listed = _SUBCOMMANDS.search(told.usage)
    return listed[1].split(",") if listed else []


def regions(helps: Sequence[Help]) -> dict[str, str]:
    """Return the generated regions of a page: name → reStructuredText."""
    main, *others = helps
    codes = [told.lists.get("exit codes", []) for told in helps if "exit codes" in told.lists]
    shared = [entry for entry in codes[0] if all(entry in each for each in codes)] if codes else []
    return {
        "synopsis": _wrapped(f"**{main.command}** {_plain(main.usage[len(main.command) :])}"),
        "options": _options(main),
        "commands": "\n\n".join(_section(told, shared) for told in others),
        "exit codes": _definitions(shared),
    }


def _options(told: Help) -> str:
    entries = told.lists.get("positional arguments", []) + told.lists.get("options", [])
    return _definitions(entries)


def _section(told: Help, shared: Sequence[tuple[str, str]]) -> str:
    """Return the section of one subcommand, without the exit codes that all of them share."""
    title = " ".join(told.command.split()[1:])
    usage = told.usage.removeprefix(told.command).replace("[-h] ", "").removesuffix(" [-h]")
    parts = [f"{title}\n{'-' * len(title)}", _wrapped(f"**{told.command}** {_plain(usage)}")]
    parts += [_wrapped(_plain(paragraph)) for paragraph in told.paragraphs]
    told.lists["options"] = [
        entry for entry in told.lists.get("options", []) if not entry[0].startswith("-h, ")
    ]
    parts.append(_options(told))
    if codes := [entry for entry in told.lists.get("exit codes", []) if entry not in shared]:
        parts += ["Exit codes:", _definitions(codes)]
    parts += [_wrapped(_plain(remark)) for remark in told.remarks]
    return "\n\n".join(part for part in parts if part)


def _definitions(entries: Sequence[tuple[str, str]]) -> str:
    """Return a definition list."""
    return "\n".join(
        f"``{term}``\n{_wrapped(_plain(_of_any_machine(text)), indent=4)}" for term, text in entries
    )


def _of_any_machine(text: str) -> str:
    """Leave out which configuration files this machine has."""
    return re.sub(r"Defaults to (None|\[.*?\])\. ", "", text)


def _plain(text: str) -> str:
    """Return reStructuredText that means this text literally."""
    return re.sub(r"[\\`*|]|(?<=\w)_(?!\w)", r"\\\g<0>", " ".join(text.split()))


def _wrapped(text: str, indent: int = 0) -> str:
    lines = textwrap.wrap(text, 79 - indent, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent("\n".join(lines), " " * indent)


def up_to_date(page: str, command: str) -> str:
    """Return the text of a page with its generated regions written anew."""
    made = regions(helps_of(command))

    def region(old: re.Match[str]) -> str:
        name = old["name"]
        return f".. begin {name}\n\n{made[name]}\n\n.. end {name}"

    return _REGION.sub(region, page)


def troff(page: str, day: datetime.date) -> str:
    """Return a page for man, with the version of the distribution and a date."""
    version = importlib.metadata.version(DISTRIBUTION)
    group = ":Manual group: Berth\n"
    dated = page.replace(group, f"{group}:Version: {version}\n:Date: {day}\n", 1)
    bare = re.sub(r"^\.\. (begin|end) .*\n", "", dated, flags=re.M)
    settings = {"output_encoding": "unicode", "halt_level": 2, "report_level": 2}
    made = publish_string(bare, writer=Writer(), settings_overrides=settings)
    # Names of options and files are not broken at hyphens of the language.
    whole = re.sub(r"^\.TH .*$", r"\g<0>\n.nh\n.ad l", made, count=1, flags=re.M)
    # A title is followed by space anyway.
    return re.sub(r"^(\.S[HS] .*)\n\.sp$", r"\1", whole, flags=re.M)


def page_of(command: str) -> Path:
    """Return the file of a command's page."""
    return HERE / f"{command}.rst"


def pages() -> Iterator[tuple[str, Path]]:
    """Yield each command with its page."""
    for command in commands():
        yield command, page_of(command)


def main() -> int:
    """Write the pages, or what man reads."""
    options = argparse.ArgumentParser(description="Write the manual pages of all commands.")
    options.add_argument("--troff", type=Path, metavar="DIR", help="write DIR/COMMAND.8")
    folder = options.parse_args().troff
    day = datetime.datetime.fromtimestamp(
        int(os.environ.get("SOURCE_DATE_EPOCH", datetime.datetime.now().timestamp())), datetime.UTC
    ).date()
    for command, path in pages():
        if folder is None:
            text = path.read_text(encoding="utf-8")
            path.write_text(up_to_date(text, command), encoding="utf-8")
            continue
        folder.mkdir(parents=True, exist_ok=True)
        made = troff(path.read_text(encoding="utf-8"), day)
        (folder / f"{command}.{SECTION}").write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
