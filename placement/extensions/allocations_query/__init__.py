"""What many consumers hold, in one answer (extensions.md 2)."""
