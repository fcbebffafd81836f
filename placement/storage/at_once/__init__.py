"""Writes that PostgreSQL gets in one message, if they are usual: see `statement`."""
