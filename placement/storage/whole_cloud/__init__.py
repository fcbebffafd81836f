"""Whole tables and rows of many providers, for snapshots."""
