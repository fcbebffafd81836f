"""Read the files and commands on the deployment page."""

import textwrap
from pathlib import Path

PAGE = Path(__file__).parents[4] / "doc" / "deployment.rst"


def file_shown(path):
    """Return the content that the page shows for the file at this path."""
    _, found, rest = PAGE.read_text().partition(f"``{path}``::\n")
    assert found, f"the page shows no {path}"
    return _block(rest)


def command_shown(start):
    """Return the arguments of the command that begins with `start`, with continued lines joined."""
    (line,) = [
        line
        for line in PAGE.read_text().replace("\\\n", " ").splitlines()
        if line.strip().startswith(start)
    ]
    return line.split()


def _block(text):
    lines = []
    for line in text.splitlines():
        if line.strip() and not line.startswith(" "):
            break
        lines.append(line)
    return textwrap.dedent("\n".join(lines)).strip() + "\n"
