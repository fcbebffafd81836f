"""The exceptions of the compute side, with the names and meanings they have in nova.

::

    NovaException                                    code 500
    ├── ReshapeNeeded                                a driver says: inventory must move
    ├── ReshapeFailed
    │   ├── PlacementReshapeConflict                 (is a PlacementAPIConflict as well)
    │   └── ReshapeUnanswered                        done or not: nobody knows
    ├── PlacementAPIConflict                         409 of any kind
    │   ├── PlacementReshapeConflict
    │   ├── ResourceProviderUpdateConflict
    │   │   └── ProviderForgotten
    │   ├── ResourceProviderCreationConflict         (is a ResourceProviderCreationFailed as well)
    │   └── ResourceProviderVanished                 (is a ResourceProviderRetrievalFailed as well)
    ├── PlacementAPIConnectFailure
    ├── ResourceProviderCreationFailed
    ├── ResourceProviderRetrievalFailed
    ├── ResourceProviderAggregateRetrievalFailed
    ├── ResourceProviderTraitRetrievalFailed
    ├── ResourceProviderAllocationRetrievalFailed
    ├── ResourceProviderUpdateFailed
    ├── ResourceProviderSyncFailed
    ├── ResourceProviderInUse
    ├── ResourceProviderDeletionFailed
    ├── TraitCreationFailed
    ├── TraitRetrievalFailed
    ├── ConsumerAllocationRetrievalFailed
    ├── AllocationUpdateFailed
    ├── AllocationDeleteFailed
    ├── AllocationMoveFailed
    ├── UsagesRetrievalFailed
    ├── PlacementPciException
    │   ├── PlacementPciDependentDeviceException
    │   ├── PlacementPciMixedResourceClassException
    │   └── PlacementPciMixedTraitsException
    ├── ProviderConfigException
    ├── AssignedResourceNotFound
    ├── VirtDriverNotReady
    ├── NoResourceClass
    ├── TooManyComputesForHost
    ├── ComputeServiceInUse
    ├── ObjectActionError
    ├── HealPlaceUnknown
    ├── HealvGPUAllocationNotSupported
    ├── HealDeviceProfileAllocationNotSupported
    ├── UnableToQueryPorts
    ├── UnableToUpdatePorts
    ├── UnableToRollbackPortUpdates
    ├── NotFound                                     code 404
    │   ├── ResourceProviderNotFound
    │   ├── InstanceNotFound
    │   └── ComputeHostNotFound
    └── Invalid                                      code 400
        ├── ComputeResourcesUnavailable
        ├── ServiceNotUnique
        ├── InvalidInput
        ├── InvalidInventory
        │   └── InventoryInUse
        ├── InvalidResourceClass
        └── InvalidConfiguration
            └── InvalidNodeConfiguration        code 500, as in nova

Raise them with the keyword arguments their `msg_fmt` names, or with one ready-made message.

Import them from here. `placement` has what fails between this host and placement, `host` what fails
on the host itself, `healing` what ends the healing of an instance, `root` the root of the family.
"""

from compute.exceptions.healing import *  # noqa: F403
from compute.exceptions.host import *  # noqa: F403
from compute.exceptions.placement import *  # noqa: F403
from compute.exceptions.root import *  # noqa: F403
