"""Servers for the tests that load the files of contrib/ with the programs they are for."""

from tests.functional.placement.serving.conftest import start, start_for_module

__all__ = ["start", "start_for_module"]
