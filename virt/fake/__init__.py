"""Drivers without a hypervisor, for tests and rehearsals (compute.md §6.4).

`driver` has the usual ones, `reshaping` those that need a reshape, `failing` those that fail,
`legacy` those from before update_provider_tree, and `large_scale` a whole cloud.
"""

from virt.fake.driver import (
    EphEncryptionDriver,
    EphEncryptionDriverLUKS,
    EphEncryptionDriverPLAIN,
    FakeDriver,
    FakeDriverWithPciResources,
    FakeMultiNodeDriver,
    MediumFakeDriver,
    MediumFakeDriverWithNestedCustomResources,
    PowerUpdateFakeDriver,
    PredictableNodeUUIDDriver,
    RescueBFVDriver,
    SameHostColdMigrateDriver,
    SmallFakeDriver,
)
from virt.fake.failing import (
    FakeBuildAbortDriver,
    FakeBuildAbortDriverWithNestedCustomResources,
    FakeFinishMigrationFailDriver,
    FakeLiveMigrateDriver,
    FakeLiveMigrateDriverWithNestedCustomResources,
    FakeRescheduleDriver,
    FakeRescheduleDriverWithNestedCustomResources,
    FakeUnshelveSpawnFailDriver,
    FakeUnshelveSpawnFailDriverWithNestedCustomResources,
)
from virt.fake.large_scale import FakeLargeScaleDriver
from virt.fake.legacy import LegacyInventoryDriver, ResourceOnlyDriver
from virt.fake.reshaping import (
    FakeBadReshapeDriver,
    FakeNUMAReshapeDriver,
    FakeRCRenameDriver,
    FakeReshapeFailDriver,
    FakeReshapeVGPUDriver,
    FakeSharedStorageDriver,
)

__all__ = [
    "EphEncryptionDriver",
    "EphEncryptionDriverLUKS",
    "EphEncryptionDriverPLAIN",
    "FakeBadReshapeDriver",
    "FakeBuildAbortDriver",
    "FakeBuildAbortDriverWithNestedCustomResources",
    "FakeDriver",
    "FakeDriverWithPciResources",
    "FakeFinishMigrationFailDriver",
    "FakeLargeScaleDriver",
    "FakeLiveMigrateDriver",
    "FakeLiveMigrateDriverWithNestedCustomResources",
    "FakeMultiNodeDriver",
    "FakeNUMAReshapeDriver",
    "FakeRCRenameDriver",
    "FakeRescheduleDriver",
    "FakeRescheduleDriverWithNestedCustomResources",
    "FakeReshapeFailDriver",
    "FakeReshapeVGPUDriver",
    "FakeSharedStorageDriver",
    "FakeUnshelveSpawnFailDriver",
    "FakeUnshelveSpawnFailDriverWithNestedCustomResources",
    "LegacyInventoryDriver",
    "MediumFakeDriver",
    "MediumFakeDriverWithNestedCustomResources",
    "PowerUpdateFakeDriver",
    "PredictableNodeUUIDDriver",
    "RescueBFVDriver",
    "ResourceOnlyDriver",
    "SameHostColdMigrateDriver",
    "SmallFakeDriver",
]
