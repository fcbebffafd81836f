"""Keep what trackers allocate themselves; find the migrations of an instance.

Revision: 0002
Follows: 0001
"""

from alembic import op

from compute.records.cell_database.schema import create_missing
from compute.records.cell_database.tables import migrations

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create what is missing."""
    create_missing(op.get_bind())
    for index in migrations.indexes:
        index.create(op.get_bind(), checkfirst=True)
