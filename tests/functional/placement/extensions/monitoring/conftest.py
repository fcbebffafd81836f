import functools

import pytest

from placement import search_parts
from placement.app import metrics_layout
from placement.extensions.monitoring.cloud import CloudMetrics
from placement.extensions.monitoring.counting import Counting
from placement.extensions.monitoring.providers import ProviderPage
from placement.extensions.monitoring.survivable import Survivable
from placement.extensions.monitoring.suspected import Suspected
from placement.metrics.slots import Slots
from tests.patience import PATIENCE
from tests.service_settings import AUDITED


@pytest.fixture(scope="session")
def layout():
    """Return the layout of what the service counts."""
    return metrics_layout()


@pytest.fixture
def counting(layout):
    """Return where a service of the test counts."""
    made = Counting.shared(layout, Slots.anonymous(layout.width))
    yield made
    made.close()


@pytest.fixture
def patient_pages(monkeypatch):
    """Have the pages of new services wait for their figures: a busy machine shows the same ones."""
    for kind in (CloudMetrics, Suspected, ProviderPage, Survivable):
        waiting = functools.partial(kind, patience=PATIENCE)
        monkeypatch.setattr(search_parts, kind.__name__, waiting)


@pytest.fixture
def counted(new_service, counting, patient_pages):
    """Return a service with metrics, whose snapshot can be audited, and without providers."""
    return new_service(counting=counting, **AUDITED)
