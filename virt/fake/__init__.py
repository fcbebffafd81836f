"""Drivers without a hypervisor, for tests and rehearsals (compute.md §6.4)."""

from virt.fake.driver import (
    FakeDriver,
    FakeMultiNodeDriver,
    MediumFakeDriver,
    MediumFakeDriverWithNestedCustomResources,
    PredictableNodeUUIDDriver,
    SmallFakeDriver,
)
from virt.fake.legacy import LegacyInventoryDriver, ResourceOnlyDriver
from virt.fake.reshape import (
    FakeBadReshapeDriver,
    FakeNUMAReshapeDriver,
    FakeRCRenameDriver,
    FakeReshapeFailDriver,
    FakeReshapeVGPUDriver,
    FakeSharedStorageDriver,
    PhysicalFunction,
)

__all__ = [
    "FakeBadReshapeDriver",
    "FakeDriver",
    "FakeMultiNodeDriver",
    "FakeNUMAReshapeDriver",
    "FakeRCRenameDriver",
    "FakeReshapeFailDriver",
    "FakeReshapeVGPUDriver",
    "FakeSharedStorageDriver",
    "LegacyInventoryDriver",
    "MediumFakeDriver",
    "MediumFakeDriverWithNestedCustomResources",
    "PhysicalFunction",
    "PredictableNodeUUIDDriver",
    "ResourceOnlyDriver",
    "SmallFakeDriver",
]
