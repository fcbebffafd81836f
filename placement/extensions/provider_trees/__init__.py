"""Whole trees of providers in one answer (extensions.md 2)."""
