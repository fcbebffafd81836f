"""A whole tree of providers written by one request (extensions.md 3)."""
