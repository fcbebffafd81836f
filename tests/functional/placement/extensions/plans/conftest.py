import pytest

from tests.functional.placement.extensions.evacuation.test_evacuations import (
    ONE,
    THREE,
    TWO,
    A,
    B,
    C,
    hold,
    provider,
)
from tests.functional.placement.small_cloud import numbered


@pytest.fixture
def three(service):
    """Return a service with three hosts of 8 VCPU: 2 and 4 of A are held, 5 of B, 6 of C."""
    for name, uuid in (("a", A), ("b", B), ("c", C)):
        provider(service, name, uuid, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 2}})
    hold(service, TWO, **{A: {"VCPU": 4}})
    hold(service, THREE, **{B: {"VCPU": 5}})
    hold(service, numbered("c", 4), **{C: {"VCPU": 6}})
    return service
