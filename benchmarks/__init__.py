"""Timings side by side with OpenStack Placement; not part of the tests."""
