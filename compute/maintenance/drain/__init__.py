"""Moves that empty a host."""
