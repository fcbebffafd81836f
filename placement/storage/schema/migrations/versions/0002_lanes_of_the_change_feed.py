"""Give the rows of the change feed places in commit order.

Revision: 0002
Follows: 0001
"""

import sqlalchemy as sa
from alembic import op

from placement.storage.feed import feed_lanes
from placement.storage.schema.schema_upgrade import keep_first_version
from placement.storage.tables import change_lanes, provider_changes

revision = "0002"
down_revision = "0001"

#: the columns of a row's place
_PLACE = ("lane", "position", "before")
#: the lane of rows from before there were lanes: no reader follows it
_BYGONE = -1


def upgrade() -> None:
    """Add what is missing: MySQL commits each step, so an earlier try may have got anywhere.

    Workers of the version before go on meanwhile and afterwards; what they append gets its place
    when a worker of this version next searches.
    """
    connection = op.get_bind()
    keep_first_version(connection)
    inspector = sa.inspect(connection)
    there = {column["name"] for column in inspector.get_columns(provider_changes.name)}
    missing = [provider_changes.c[name] for name in _PLACE if name not in there]
    for column in missing:
        op.add_column(
            provider_changes.name,
            sa.Column(column.name, column.type, nullable=False, server_default=sa.text("0")),
        )
    if missing:
        lane = provider_changes.c.lane
        connection.execute(
            sa.update(provider_changes).where(lane == feed_lanes.NO_LANE).values(lane=_BYGONE)
        )
    indexes = {index["name"] for index in inspector.get_indexes(provider_changes.name)}
    for index in provider_changes.indexes:
        if index.name not in indexes:
            index.create(connection)
    change_lanes.create(connection, checkfirst=True)
    if connection.execute(sa.select(change_lanes.c.id)).first() is None:
        # its mark tells this database from others, though nothing is written yet
        feed_lanes.open_lane(connection)
