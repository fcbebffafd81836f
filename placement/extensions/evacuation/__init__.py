"""Whether all that providers hold would find room elsewhere (extensions.md 6)."""
