"""Take over a database of OpenStack Placement, or build a fresh one.

Revision: 0001
Follows: nothing
"""

import sqlalchemy as sa
from alembic import op

from placement.storage.schema.schema_upgrade import create_missing
from placement.storage.tables import REFERENCE_HEAD, reference_version

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create what is missing; unless the reference did, say in its terms what there is now.

    The reference can then be started on the database and finds it at its head revision.
    """
    connection = op.get_bind()
    create_missing(connection)
    if connection.execute(sa.select(reference_version)).first() is None:
        connection.execute(sa.insert(reference_version).values(version_num=REFERENCE_HEAD))
