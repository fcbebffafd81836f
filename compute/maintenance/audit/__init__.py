"""Allocations whose consumer is gone."""
