"""Providers and their trees: read, compared, written."""
