"""Why heal_allocations writes nothing for an instance."""

from compute.exceptions.root import NovaException


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
