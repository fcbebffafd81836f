"""The code blocks of the pages in doc/: the blocks with a name are files."""

import re
import textwrap
from pathlib import Path

DOC = Path(__file__).parents[1] / "doc"
#: where the pages have the commands of Berth
PLACE = "/opt/berth/bin"
_BLOCK = re.compile(
    r"^\.\. code-block:: (?P<language>\S+)\n   :name: (?P<name>.+)\n\n"
    r"(?P<code>(?:(?: {4}.*)?\n)+)",
    re.M,
)


def text_of(page: str) -> str:
    """Return the page's text; `page` is the name of its file."""
    return (DOC / page).read_text(encoding="utf-8")


def files_of(page: str, language: str = "python") -> dict[str, str]:
    """Return name -> code of the page's files in a language, in the order of the page."""
    return {
        block["name"]: textwrap.dedent(block["code"]).rstrip() + "\n"
        for block in _BLOCK.finditer(text_of(page))
        if block["language"] == language
    }


def commands_of(page: str, section: str) -> list[str]:
    """Return the commands of Berth in the literal blocks of a section, in their order."""
    _, found, text = text_of(page).partition(f"\n{section}\n{'=' * len(section)}\n")
    assert found, (page, section)
    text = re.split(r"^=+$", text, maxsplit=1, flags=re.M)[0]
    return re.findall(rf"^ {{4,}}((?:[A-Z_]+=\S+ )?{PLACE}/.+)$", text, re.M)
