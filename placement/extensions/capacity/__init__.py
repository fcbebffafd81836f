"""How many more of a request fit into the cloud (extensions.md 6)."""
