"""Texts of `--help` in lines that fit the terminal."""

import re
import shutil
import textwrap


def fitted(text: str) -> str:
    """Return a description or a list with lines as long as argparse makes the others.

    Lines of a paragraph that aren't indented are joined. An indented line stays a line, as in a
    list of exit codes; what doesn't fit goes on below its text.
    """
    width = shutil.get_terminal_size().columns - 2
    paragraphs = re.split(r"\n{2,}", text.strip("\n"))
    return "\n\n".join(_fitted_paragraph(paragraph, width) for paragraph in paragraphs)


def _fitted_paragraph(paragraph: str, width: int) -> str:
    lines: list[str] = []
    joined: list[str] = []
    for line in paragraph.splitlines():
        if not line.startswith(" "):
            joined.append(line)
            continue
        lines += textwrap.wrap(" ".join(joined), width)
        joined = []
        lines += _fitted_entry(line, width)
    return "\n".join(lines + textwrap.wrap(" ".join(joined), width))


def _fitted_entry(line: str, width: int) -> list[str]:
    """Return `  CODE  text` with further lines below the text."""
    term = re.match(r" *\S+ +(?=\S)|", line)
    indent = " " * len(term[0]) if term else ""
    return textwrap.wrap(line, width, subsequent_indent=indent, drop_whitespace=True) or [line]
