"""Which extensions a service offers (extensions.md 1)."""
