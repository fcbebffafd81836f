"""Questions in SQL to the database of a URL, past the service."""

import contextlib
from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from placement.storage.dialects import prepare, read_url
from placement.storage.engine import DatabaseSettings


@contextlib.contextmanager
def connected(url: str) -> Iterator[sa.Connection]:
    """A connection that nobody else uses."""
    prepared = prepare(read_url(url), DatabaseSettings(url))[0]
    engine = sa.create_engine(prepared, poolclass=NullPool)
    with engine.connect() as connection:
        yield connection


def ask(url: str, question: str, **values: object) -> list[tuple]:
    """The rows that answer a question in SQL; its values are written `:name`."""
    with connected(url) as connection:
        return [tuple(row) for row in connection.execute(sa.text(question), values)]
