"""What one provider has, read with its generation by one small statement."""

from typing import Any

import sqlalchemy as sa

from placement.errors import ProviderNotFound
from placement.storage.database.compiled import Compiled, Rows
from placement.storage.database.engine import Database
from placement.storage.tables import resource_providers as providers


class OfProvider:
    """A question about one provider.

    :param rows: table or join with the rows of all providers; the first table has `owner`
    :param owner: the column of `rows` with the provider's id
    :param columns: what is wanted of each row
    :param whole: how many of the first columns are NULL only where a joined row is missing; such
        rows are left out
    :param order: columns by which the rows are ordered
    :param grouped: columns by which the rows are grouped, beside the provider
    """

    def __init__(
        self,
        rows: sa.FromClause,
        owner: sa.Column[int],
        columns: tuple[sa.ColumnElement[Any], ...],
        order: tuple[sa.ColumnElement[Any], ...],
        grouped: tuple[sa.ColumnElement[Any], ...] = (),
        whole: int = 1,
    ) -> None:
        self._whole = slice(1, 1 + whole)
        select = (
            sa.select(providers.c.generation, *columns)
            .select_from(_after_provider(rows, owner))
            .where(providers.c.uuid == sa.bindparam("uuid"))
            .order_by(*order)
        )
        if grouped:
            select = select.group_by(providers.c.id, providers.c.generation, *grouped)
        self.statement = select
        self._select = Compiled(select)

    def ask(self, database: Database, uuid: str) -> tuple[int, Rows]:
        """Return the provider's generation, and its rows. Raises ProviderNotFound."""
        found = database.ask(self._select, uuid=uuid)
        if not found:
            raise ProviderNotFound(uuid=uuid)
        whole = self._whole
        return found[0][0], [row[1:] for row in found if None not in row[whole]]


def _after_provider(rows: sa.FromClause, owner: sa.Column[int]) -> sa.Join:
    """Join table by table, as SQLite reads a join within a join from its first row to its last."""
    if isinstance(rows, sa.Join):
        return _after_provider(rows.left, owner).outerjoin(rows.right, rows.onclause)
    return providers.outerjoin(rows, owner == providers.c.id)
