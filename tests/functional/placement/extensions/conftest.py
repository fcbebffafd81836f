import pytest

from placement.extensions.evacuation import operation
from placement.extensions.plans import room
from placement.extensions.survives import judging
from tests.patience import PATIENCE


@pytest.fixture(autouse=True)
def unhurried_plans(monkeypatch):
    """Have no search of a plan end early, however slow the machine is: two seconds are usual."""
    for planning in (operation, room, judging):
        monkeypatch.setattr(planning, "_LONGEST", PATIENCE)
