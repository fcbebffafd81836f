"""Run by alembic: our migrations, on the connection the caller hands over."""

import os

import sqlalchemy as sa
from alembic import context

from placement.storage.schema.schema_upgrade import VERSION_TABLE
from placement.storage.tables import metadata


def run() -> None:
    """Run the migrations; `alembic` itself takes the URL from the environment."""
    connection = context.config.attributes.get("connection")
    if connection is not None:
        migrate(connection)
        return
    engine = sa.create_engine(os.environ["OS_PLACEMENT_DATABASE__CONNECTION"])
    with engine.begin() as own:
        migrate(own)


def migrate(connection: sa.Connection) -> None:
    """Bring the database behind `connection` to the revision that was asked for."""
    context.configure(connection=connection, target_metadata=metadata, version_table=VERSION_TABLE)
    with context.begin_transaction():
        context.run_migrations()


if context.is_offline_mode():
    raise SystemExit("Migrations look at the database; they can't be written out as SQL.")
run()
