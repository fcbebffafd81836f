"""Why a request has no candidates, and what would help (extensions.md 5)."""
