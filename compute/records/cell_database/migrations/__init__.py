"""The history of the cell database's schema, for alembic."""
