"""Write doc/messages.rst: each error of the API and each message that ends a start, with its cure.

    python doc/messages_page.py

Texts and causes come from the code. The cures are in doc/message_cures.yaml; one that is missing,
or that no message needs any more, is an error.
"""

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import yaml

from placement.app import api
from placement.errors import PlacementError, kinds_of
from placement.errors.placement_error import UNDEFINED

HERE = Path(__file__).parent
ROOT = HERE.parent
PAGE = HERE / "messages.rst"
WIDTH = 118
#: what ends the start of a program with one line
_ENDS = {
    *("ConfigurationRefused", "DatabaseUnusable", "DriverMissing", "LogUnusable"),
    *("IdentityUnusable", "SharedEnvironment", "UnusableInstallation", "ConfigFileValueError"),
    *("InvalidConfiguration", "DriverLoadError", "UnusableEnvironment"),
}
_PROGRAMS = {"placement": "The service and its commands", "compute": "The agent and nova-manage"}
_OPENING = """\
========
Messages
========

*For operators and people who write clients.*

Each error that the API answers with, and each message with which a program ends at its start: what
it says, why, and what cures it. `Troubleshooting <troubleshooting.rst>`_ begins with what you see.
In the texts, ``…`` stands for a name, a number or a reason. ``doc/messages_page.py`` writes this
page from the code.

The body of an error has its status, its title and its text, from microversion 1.23 also a code.
Clients should go by the status and the code: texts may change.
"""


def page() -> str:
    """Return the text of the page. Raises KeyError where a cure is missing, or is nobody's."""
    # libyaml's loader is ten times faster
    text = (HERE / "message_cures.yaml").read_text(encoding="utf-8")
    cures = yaml.load(text, yaml.CSafeLoader)
    errors, starts = cures["errors"], cures["starts"]
    lines = [_OPENING]
    needed = {kind.__name__ for kinds in _by_status().values() for kind in kinds}
    if needed ^ set(errors):
        raise KeyError(f"errors with a cure and without: {sorted(needed ^ set(errors))}")
    for status, general in sorted(cures["statuses"].items()):
        lines += [*_title(f"{status} {general['title']}", "="), *_folded(general["cure"])]
        for kind in _by_status().get(status, []):
            lines += _entry(_blanked(kind), _because(kind), errors[kind.__name__])
    used = set()
    for package, title in _PROGRAMS.items():
        lines += _title(title, "=")
        for text in sorted(set(_starts(package)), key=str.lower):
            key = next((key for key in starts if key in text), text)
            used.add(key)
            lines += _entry(text, "", starts[key])
    if used != set(starts):
        raise KeyError(f"cures that no message needs: {sorted(set(starts) - used)}")
    return "\n".join(lines).rstrip() + "\n"


def _by_status() -> dict[int, list[type[PlacementError]]]:
    """Return the errors that say something of their own, by status."""
    # makes the classes of all parts of the service known
    api(extensions=True)
    found: dict[int, list[type[PlacementError]]] = {}
    for kind in kinds_of(PlacementError):
        own = {"text", "code"} & set(vars(kind))
        if own and kind is not PlacementError and kind.__module__.startswith("placement."):
            found.setdefault(kind.status, []).append(kind)
    return {
        status: sorted(kinds, key=lambda kind: kind.__name__) for status, kinds in found.items()
    }


def _blanked(kind: type[PlacementError]) -> str:
    return re.sub(r"\{\w+\}", "…", kind.text)


def _because(kind: type[PlacementError]) -> str:
    said = " ".join((vars(kind).get("__doc__") or "").split("\n\n")[0].split())
    code = "" if kind.code == UNDEFINED else f"Code ``{kind.code}``."
    return f"{said.replace('`', '``')} {code}".strip()


def _entry(text: str, cause: str, cure: str) -> Iterator[str]:
    """Yield a definition: the message, or without one its cause, and below it what to do."""
    said = f"{cause} {cure}".strip() if text else cure
    yield f"``{text}``" if text else cause
    yield from _folded(said or "The text says what to do.", "    ")


def _folded(text: str, indent: str = "") -> Iterator[str]:
    yield from textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield ""


def _starts(package: str) -> Iterator[str]:
    """Yield the texts of what is raised at a start, where the code has the text there."""
    for file in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                text = _text(node.exc.args[0])
                # without words of its own, it hands on the text of another one
                if _name(node.exc.func) in _ENDS and re.search(r"\w{3}", text):
                    yield text


def _name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    return "…"


def _title(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
