import pytest

from placement.app import metrics_layout
from placement.metrics.slots import Slots
from placement.monitoring.counting import Counting


@pytest.fixture(scope="session")
def layout():
    """Return the layout of what the service counts."""
    return metrics_layout()


@pytest.fixture
def counting(layout):
    """Return where a service of the test counts."""
    made = Counting.shared(layout, Slots.anonymous(layout.width))
    yield made
    made.meter.close()


@pytest.fixture
def counted(new_service, counting):
    """Return a service with metrics, and without providers."""
    return new_service(counting=counting)
