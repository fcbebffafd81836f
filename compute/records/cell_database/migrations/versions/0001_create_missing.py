"""Build a fresh file, or take over one from before there was a history.

Revision: 0001
Follows: nothing
"""

from alembic import op

from compute.records.cell_database.schema import create_missing

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create what is missing: such a file has compute nodes and services already."""
    create_missing(op.get_bind())
