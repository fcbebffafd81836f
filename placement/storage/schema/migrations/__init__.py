"""The scripts of alembic that change our tables."""
