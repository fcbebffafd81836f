"""Fixtures of the candidates' tests."""

from tests.unit.placement.candidates.snapshots import clouds

__all__ = ["clouds"]
