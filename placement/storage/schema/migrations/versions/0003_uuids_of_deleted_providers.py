"""Keep the uuids of deleted providers in the change feed.

Revision: 0003
Follows: 0002
"""

import sqlalchemy as sa
from alembic import op

from placement.storage.tables import provider_changes

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column. Workers of the versions before don't name it, so it stays empty there."""
    there = {
        column["name"] for column in sa.inspect(op.get_bind()).get_columns(provider_changes.name)
    }
    column = provider_changes.c.resource_provider_uuid
    if column.name not in there:
        op.add_column(provider_changes.name, sa.Column(column.name, column.type, nullable=True))
