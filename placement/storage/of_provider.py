"""What one provider has, read with its generation by one small statement."""

from typing import Any

import sqlalchemy as sa

from placement.errors import ProviderNotFound
from placement.storage.compiled import Compiled, Rows
from placement.storage.engine import Database
from placement.storage.tables import resource_providers as providers


class OfProvider:
    """A question about one provider.

    :param rows: table or join with the rows of all providers
    :param owner: the column of `rows` with the provider's id
    :param columns: what is wanted of each row; the first is never NULL
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
    ) -> None:
        select = (
            sa.select(providers.c.generation, *columns)
            .select_from(providers.outerjoin(rows, owner == providers.c.id))
            .where(providers.c.uuid == sa.bindparam("uuid"))
            .order_by(*order)
        )
        if grouped:
            select = select.group_by(providers.c.id, providers.c.generation, *grouped)
        self._select = Compiled(select)

    def ask(self, database: Database, uuid: str) -> tuple[int, Rows]:
        """Return the provider's generation, and its rows. Raises ProviderNotFound."""
        found = database.ask(self._select, uuid=uuid)
        if not found:
            raise ProviderNotFound(uuid=uuid)
        return found[0][0], [row[1:] for row in found if row[1] is not None]
