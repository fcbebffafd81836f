import pytest

from placement.extensions.changes import handler
from tests.patience import PATIENCE


@pytest.fixture(autouse=True)
def _long_waits(monkeypatch):
    """Have the longest waits for changes end with what a test does, however slow the machine is."""
    waited = handler._waited

    def longer(call, cursor, seconds):
        return waited(call, cursor, PATIENCE if seconds == 30 else seconds)

    monkeypatch.setattr(handler, "_waited", longer)
