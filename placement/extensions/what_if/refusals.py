"""Says where in a body the text is that was refused."""

import contextlib
from collections.abc import Iterator

from placement.errors import BadRequest


@contextlib.contextmanager
def refused_at(place: str) -> Iterator[None]:
    """Put the place before what is said of a text within the body. Raises BadRequest."""
    try:
        yield
    except BadRequest as refused:
        raise type(refused)(f"{place}: {refused.message}", **refused.facts) from refused
