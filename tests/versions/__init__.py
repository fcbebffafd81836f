"""Berth beside the version before it."""
