"""What looks wrong in a database, and since when (extensions.md 12)."""
