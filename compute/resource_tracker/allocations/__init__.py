"""Allocations of instances: who writes them, where they lie, which are stale."""
