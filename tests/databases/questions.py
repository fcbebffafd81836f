"""Run SQL on the database of a URL, without the service."""

import contextlib
from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from placement.storage.database.engine import DatabaseSettings
from placement.storage.driver.dialects import prepare, read_url


def kind_of(url: str) -> str:
    """Return the kind of database, whatever the driver."""
    return url.partition(":")[0].partition("+")[0]


@contextlib.contextmanager
def connected(url: str) -> Iterator[sa.Connection]:
    """Yield a separate connection."""
    prepared = prepare(read_url(url), DatabaseSettings(url))[0]
    engine = sa.create_engine(prepared, poolclass=NullPool)
    with engine.connect() as connection:
        yield connection


def ask(url: str, question: str, **values: object) -> list[tuple]:
    """Return the rows of a query, whose parameters are written `:name`."""
    with connected(url) as connection:
        return [tuple(row) for row in connection.execute(sa.text(question), values)]
