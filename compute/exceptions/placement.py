"""What fails between this host and placement."""

from compute.exceptions.root import Invalid, NotFound, NovaException

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
        "%(error)s"
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
