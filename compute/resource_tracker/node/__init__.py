"""One node: its record, its traits, and what is counted of it."""
