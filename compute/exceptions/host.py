"""What fails on this host: devices, configuration, records, drivers, claims."""

from compute.exceptions.root import Invalid, NotFound, NovaException

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
