"""${message}

Revision: ${up_revision}
Follows: ${down_revision | comma,n}
"""

from alembic import op
import sqlalchemy as sa

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Change the schema."""
    ${upgrades if upgrades else "..."}
