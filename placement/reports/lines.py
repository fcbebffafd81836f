"""Lines of text for a terminal, whatever the names in them are."""

import textwrap

from placement.config.logs import escaped

__all__ = ["WIDTH", "escaped", "wrapped"]

WIDTH = 80


def wrapped(text: str, indent: int = 0, hanging: int = 0, width: int = WIDTH) -> list[str]:
    """Return a text as lines, with control characters as escapes.

    :param indent: spaces before each line
    :param hanging: as many more before each line but the first
    """
    return textwrap.wrap(
        escaped(text),
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
    )
