"""What a guest asks of placement."""

import collections
from collections.abc import Mapping
from dataclasses import dataclass

from compute.report.consumers.resource_request import ResourceRequest


@dataclass(frozen=True)
class GuestRequest:
    """What nova's scheduler asks for a guest.

    :param request: asked first
    :param fallback: asked as well if the processors are dedicated by policy: hosts that don't
        report PCPU
    :param left_out: a sentence for each thing that the guest asks for and `request` doesn't
    """

    request: ResourceRequest
    fallback: ResourceRequest | None = None
    left_out: tuple[str, ...] = ()

    @property
    def holds(self) -> Mapping[str, int]:
        """Class → how much the guest holds in sum, once it's placed."""
        return amounts_of(self.request)


def amounts_of(request: ResourceRequest) -> Mapping[str, int]:
    """Return class → amount of all groups in sum."""
    total = collections.Counter[str]()
    for group in request.groups.values():
        total.update(group.resources)
    return dict(total)
