"""Take over a database of OpenStack Placement, or build a fresh one.

Revision: 0001
Follows: nothing
"""

import sqlalchemy as sa
from alembic import op

from placement.storage.schema import create_missing
from placement.storage.tables import REFERENCE_HEAD, reference_version

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create what is missing; on a fresh database, also say so in the reference's own terms.

    The reference can then be started on the database and finds it at its head revision.
    """
    connection = op.get_bind()
    fresh = not sa.inspect(connection).has_table("resource_providers")
    create_missing(connection)
    if fresh:
        connection.execute(sa.delete(reference_version))
        connection.execute(sa.insert(reference_version).values(version_num=REFERENCE_HEAD))
