import pytest

from placement.extensions.claims import claim_batch, claim_plan, operation
from tests.patience import PATIENCE


@pytest.fixture
def unhurried(monkeypatch):
    """Have claims wait for each other's searches, and look for distributions, on any machine.

    A search beside others that takes a tenth of a second goes alone, and after a second no other
    distribution is tried. What takes a fifth of a second to judge again is searched again. A
    claim that waits for a second reads what its consumers hold.
    """
    monkeypatch.setattr(claim_batch, "LONGEST_SEARCH", PATIENCE)
    monkeypatch.setattr(claim_plan, "_SECONDS", PATIENCE)
    monkeypatch.setattr(operation, "_LONGEST_JUDGING", PATIENCE)
    monkeypatch.setattr(claim_batch, "LOOK_AFTER", PATIENCE)
