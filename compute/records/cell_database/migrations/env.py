"""Run by alembic: our migrations, on the connection the caller hands over."""

from alembic import context

from compute.records.cell_database.schema import VERSION_TABLE
from compute.records.cell_database.tables import metadata

if context.is_offline_mode():
    raise SystemExit("Migrations look at the database; they can't be written out as SQL.")
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
