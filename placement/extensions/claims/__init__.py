"""Find a candidate and allocate it in one request (extensions.md 4)."""
