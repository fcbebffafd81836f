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
"""

from __future__ import annotations

from typing import Any


class NovaException(Exception):
    """The root of the family.

    `message` is used as it stands; without one the class's `msg_fmt` is filled from `kwargs`, and
    where that doesn't work out `msg_fmt` itself is the message: an error about an error helps
    nobody. `kwargs` always holds a `code`, the HTTP status that fits.
    """

    msg_fmt = "An unknown exception occurred."
    code = 500

    def __init__(self, message: str | BaseException | None = None, **kwargs: Any) -> None:
        self.kwargs = kwargs
        self.kwargs.setdefault("code", self.code)
        self.message = str(message) if message else self._formatted()
        super().__init__(self.message)

    def _formatted(self) -> str:
        try:
            return self.msg_fmt % self.kwargs
        except (KeyError, TypeError, ValueError):
            return self.msg_fmt

    def format_message(self) -> str:
        """Return the message alone, as it is shown to people."""
        return self.message

    def __repr__(self) -> str:
        shown = {key: value for key, value in self.kwargs.items() if key != "code"}
        return f"{type(self).__name__}({self.message!r}, {shown!r})"


class NotFound(NovaException):
    """Something asked for by name doesn't exist."""

    msg_fmt = "Resource could not be found."
    code = 404


class Invalid(NovaException):
    """Something given to us is unacceptable."""

    msg_fmt = "Bad Request - Invalid Parameters"
    code = 400


# Reshape


class ReshapeNeeded(NovaException):
    """A driver found inventory that must move to another provider or resource class."""

    msg_fmt = "Virt driver indicates that provider inventories need to be moved."


class ReshapeFailed(NovaException):
    """The data migration of inventory and allocations failed; fatal to the compute service."""

    msg_fmt = "Resource provider inventory and allocation data migration failed: %(error)s"


class ReshapeUnanswered(ReshapeFailed):
    """The request was sent, and no answer tells whether it was carried out."""

    msg_fmt = (
        "The reshape was sent to placement, and no answer tells what became of it: either all of "
        "it is done or nothing. Start again: that looks at placement first and does what is left. "
        "(%(error)s)"
    )


# Placement answers 409


class PlacementAPIConflict(NovaException):
    """Any 409 from placement."""

    msg_fmt = (
        "A conflict was encountered attempting to invoke the placement API at URL %(url)s: "
        + ("%(error)s")
    )


class PlacementReshapeConflict(ReshapeFailed, PlacementAPIConflict):
    """`POST /reshaper` met `placement.concurrent_update`.

    It is worth retrying, and fatal like any `ReshapeFailed` when the attempts are used up.
    """

    msg_fmt = (
        "A conflict was encountered attempting to reshape a provider tree: %(error)s. "
        "Another writer changed a provider or a consumer since they were read."
    )


class ResourceProviderUpdateConflict(PlacementAPIConflict):
    """409 on PUT of a provider's inventories, aggregates or traits. `generation` is an int."""

    msg_fmt = (
        "A conflict was encountered attempting to update resource provider %(uuid)s "
        "(generation %(generation)d): %(error)s"
    )


class ProviderForgotten(ResourceProviderUpdateConflict):
    """The client was made to forget a provider at work: what is written by then isn't known."""


class PlacementAPIConnectFailure(NovaException):
    """Placement can't be reached."""

    msg_fmt = "Unable to communicate with the Placement API."


# Resource providers


class ResourceProviderCreationFailed(NovaException):
    """The provider could not be created."""

    msg_fmt = "Failed to create resource provider %(name)s"


class ResourceProviderCreationConflict(ResourceProviderCreationFailed, PlacementAPIConflict):
    """Another writer of the same tree was quicker: worth a retry, from a fresh tree."""

    msg_fmt = "Another writer made resource provider %(name)s at the same time."


class ResourceProviderRetrievalFailed(NovaException):
    """A GET of the provider, its tree or its inventory failed."""

    msg_fmt = "Failed to get resource provider with UUID %(uuid)s"


class ResourceProviderVanished(ResourceProviderRetrievalFailed, PlacementAPIConflict):
    """Another writer deleted a provider while it was read: worth a retry, from a fresh tree."""

    msg_fmt = "Resource provider %(uuid)s was deleted while it was read."


class ResourceProviderNotFound(NotFound):
    """There is no such provider."""

    msg_fmt = "No such resource provider %(name_or_uuid)s."


class ResourceProviderAggregateRetrievalFailed(NovaException):
    """The provider's aggregates can't be read."""

    msg_fmt = "Failed to get aggregates for resource provider with UUID %(uuid)s"


class ResourceProviderTraitRetrievalFailed(NovaException):
    """The provider's traits can't be read."""

    msg_fmt = "Failed to get traits for resource provider with UUID %(uuid)s"


class ResourceProviderAllocationRetrievalFailed(NovaException):
    """The allocations against the provider can't be read."""

    msg_fmt = "Failed to retrieve allocations for resource provider %(rp_uuid)s: %(error)s"


class ResourceProviderUpdateFailed(NovaException):
    """PUT of a provider's inventories, aggregates or traits failed other than by conflict."""

    msg_fmt = "Failed to update resource provider via URL %(url)s: %(error)s"


class ResourceProviderSyncFailed(NovaException):
    """update_from_provider_tree stopped half-way; the cache of that tree is dropped."""

    msg_fmt = (
        "Failed to synchronize the placement service with resource provider information "
        "supplied by the compute host."
    )


class ResourceProviderInUse(NovaException):
    """409 on DELETE: the provider has allocations or children."""

    msg_fmt = "Resource provider has allocations or children."


class ResourceProviderDeletionFailed(NovaException):
    """DELETE of the provider failed other than by being in use."""

    msg_fmt = "Failed to delete resource provider with UUID %(uuid)s"


# Resource classes, inventories, traits


class InvalidResourceClass(Invalid):
    """The custom resource class could not be ensured."""

    msg_fmt = "Resource class '%(resource_class)s' invalid."


class InvalidInventory(Invalid):
    """An inventory is unacceptable."""

    msg_fmt = (
        "Inventory for '%(resource_class)s' on resource provider '%(resource_provider)s' invalid."
    )


class InventoryInUse(InvalidInventory):
    """The new inventories would drop a class that still has allocations."""

    # The report client gives a ready-made message: placement's own words.
    msg_fmt = (
        "Inventory for '%(resource_class)s' on resource provider '%(resource_provider)s' in use."
    )


class TraitCreationFailed(NovaException):
    """The custom trait could not be created."""

    msg_fmt = "Failed to create trait %(name)s: %(error)s"


class TraitRetrievalFailed(NovaException):
    """The list of existing traits can't be read."""

    msg_fmt = "Failed to retrieve traits from the placement API: %(error)s"


# Allocations and usages


class ConsumerAllocationRetrievalFailed(NovaException):
    """The consumer's allocations can't be read."""

    msg_fmt = "Failed to retrieve allocations for consumer %(consumer_uuid)s: %(error)s"


class AllocationUpdateFailed(NovaException):
    """The consumer's allocations could not be written."""

    msg_fmt = "Failed to update allocations for consumer %(consumer_uuid)s. Error: %(error)s"


class AllocationDeleteFailed(NovaException):
    """The consumer's allocations could not be removed."""

    msg_fmt = "Failed to delete allocations for consumer %(consumer_uuid)s. Error: %(error)s"


class AllocationMoveFailed(NovaException):
    """Allocations could not be moved from one consumer to another."""

    msg_fmt = (
        "Failed to move allocations from consumer %(source_consumer)s "
        "to consumer %(target_consumer)s. Error: %(error)s"
    )


class UsagesRetrievalFailed(NovaException):
    """A project's or user's usages can't be read."""

    msg_fmt = "Failed to retrieve usages for project '%(project_id)s' and user '%(user_id)s'."


# PCI devices in placement


class PlacementPciException(NovaException):
    """PCI devices can't be represented in placement as configured."""

    msg_fmt = "Failed to gather or report PCI resources to Placement: %(error)s"


class PlacementPciDependentDeviceException(PlacementPciException):
    """A physical function and its virtual functions are configured together."""

    msg_fmt = (
        "Configuring both %(parent_dev)s and %(children_devs)s as PCI devices is not supported: "
        "one depends on the other."
    )


class PlacementPciMixedResourceClassException(PlacementPciException):
    """Virtual functions of one physical function are configured with different classes."""

    msg_fmt = (
        "VFs from the same PF cannot be configured with different resource classes: "
        "%(new_rc)s for %(new_dev)s, %(current_rc)s for %(current_devs)s."
    )


class PlacementPciMixedTraitsException(PlacementPciException):
    """Virtual functions of one physical function are configured with different traits."""

    msg_fmt = (
        "VFs from the same PF cannot be configured with different sets of traits: "
        "%(new_traits)s for %(new_dev)s, %(current_traits)s for %(current_devs)s."
    )


# The tracker, its configuration and the drivers


class ProviderConfigException(NovaException):
    """A provider.yaml file is unusable."""

    msg_fmt = "An error occurred while processing a provider config file: %(error)s"


class ComputeResourcesUnavailable(Invalid):
    """A claim failed."""

    msg_fmt = "Insufficient compute resources: %(reason)s."


class AssignedResourceNotFound(NovaException):
    """A resource assigned to an instance is no longer configured."""

    msg_fmt = "Assigned resources not found: %(reason)s."


class ComputeHostNotFound(NotFound):
    """The node or host is unknown."""

    msg_fmt = "Compute host %(host)s could not be found."


class VirtDriverNotReady(NovaException):
    """The driver can't list its nodes yet."""

    msg_fmt = "Virt driver is not ready."


class NoResourceClass(NovaException):
    """An ironic node has no resource class."""

    msg_fmt = "Resource class not found for Ironic node %(node)s."


class InvalidInput(Invalid):
    """An argument is unacceptable."""

    msg_fmt = "Invalid input received: %(reason)s"


class InvalidConfiguration(Invalid):
    """The service refuses to start with this configuration."""

    msg_fmt = "Configuration is Invalid."


class InvalidNodeConfiguration(InvalidConfiguration):
    """The node's recorded identity contradicts what the driver reports."""

    msg_fmt = "Invalid node identity configuration: %(reason)s"
    code = 500


class TooManyComputesForHost(NovaException):
    """One compute node was expected on the host and several were found."""

    msg_fmt = (
        "Unexpected number of compute node records (%(num_computes)d) found for host %(host)s."
    )


class ServiceNotUnique(Invalid):
    """More than one service answers to the description."""

    msg_fmt = "More than one possible service found."


class ComputeServiceInUse(NovaException):
    """The tracker already serves another service."""

    msg_fmt = "Compute service of host %(host)s is still in use."


class InstanceNotFound(NotFound):
    """There is no record of the instance."""

    msg_fmt = "Instance %(instance_id)s could not be found."


class ObjectActionError(NovaException):
    """A record changed under us."""

    msg_fmt = "Object action %(action)s failed because: %(reason)s"


# Healing allocations


class HealPlaceUnknown(NovaException):
    """Nobody knows which of several providers an instance has some of its resources from."""

    msg_fmt = (
        "It can't be told where instance %(instance_uuid)s has its %(resource_class)s: %(error)s. "
        "Nothing is written for it."
    )


class HealvGPUAllocationNotSupported(NovaException):
    """Nobody knows which device an instance has its virtual GPUs from."""

    msg_fmt = (
        "Healing allocation for instance %(instance_uuid)s with vGPU resource request "
        "is not supported."
    )


class HealDeviceProfileAllocationNotSupported(NovaException):
    """Allocations with a device profile can't be rebuilt from the flavor."""

    msg_fmt = (
        "Healing allocation for instance %(instance_uuid)s with Cyborg resource request "
        "is not supported."
    )


class UnableToQueryPorts(NovaException):
    """The network service didn't tell the instance's ports."""

    msg_fmt = "Unable to query ports for instance %(instance_uuid)s: %(error)s"


class UnableToUpdatePorts(NovaException):
    """The ports could not be updated; what was done is rolled back."""

    msg_fmt = (
        "Unable to update ports with allocations that are about to be created in placement: "
        "%(error)s. The healing of the instance is aborted. It is safe to try to heal the "
        "instance again."
    )


class UnableToRollbackPortUpdates(NovaException):
    """The ports were updated, the allocations not, and the ports could not be put back."""

    msg_fmt = (
        "Failed to update neutron ports with allocation keys and the automatic rollback of the "
        "previously successful port updates also failed: %(error)s. Make sure that the "
        "binding:profile.allocation key of the affected ports %(port_uuids)s are manually cleaned."
    )
