"""Naming the option because of which placement refuses to take VCPU away."""

import re

from oslo_config import cfg

from compute import exceptions

#: what an update raises if a class of which something is allocated goes
KINDS = (
    exceptions.InventoryInUse,
    exceptions.ReshapeFailed,
    exceptions.PlacementPciException,
)

_HINT = (
    "[compute]cpu_dedicated_set alone leaves no processor for VCPU, and guests hold some: name "
    "processors for them in [compute]cpu_shared_set."
)


def with_option(error: exceptions.NovaException, conf: cfg.ConfigOpts) -> exceptions.NovaException:
    """Return the error, with the option in its text if that is why it was raised."""
    shared = conf.compute.cpu_shared_set or conf.vcpu_pin_set
    is_why = conf.compute.cpu_dedicated_set and not shared and re.search(r"\bVCPU\b", str(error))
    if not is_why:
        return error
    named = type(error)(f"{str(error).strip()} {_HINT}")
    named.__cause__ = error.__cause__ or error
    return named
