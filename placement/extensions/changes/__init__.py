"""What changed since a position of the change feed (extensions.md 7)."""
