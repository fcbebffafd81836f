"""Allocations that instances should have."""
