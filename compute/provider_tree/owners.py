"""Traits that say whose a provider is: `OWNER_NOVA`, `OWNER_CYBORG` and the like."""

from collections.abc import Iterable

import os_traits

#: The compute service's own. Nova's scheduler asks for it on roots and in groups of PCI devices.
COMPUTE = os_traits.OWNER_NOVA

_OWNER = "OWNER_"


def has_other_owner(traits: Iterable[str]) -> bool:
    """Say whether traits name an owner of their provider other than the compute service."""
    return any(trait.startswith(_OWNER) and trait != COMPUTE for trait in traits)
