"""The ports of instances that request resources, such as bandwidth, from the network service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from compute.report.consumers.resource_request import RequestGroup

ALLOCATION = "allocation"

#: a provider's uuid; of a port with `request_groups`, the id of each group → a provider's uuid
PortAllocation = str | Mapping[str, str]


@dataclass(frozen=True)
class Port:
    """A port. `request` is its `resource_request` in the network service, in one of two forms.

    The old form is `{"resources", "required"}`, the new form `{"request_groups": [{"id",
    "resources", "required"}], "same_subtree": [id]}`. `allocation` is the field of that name in
    the port's binding profile: the providers of its allocations.
    """

    id: str
    request: Mapping[str, Any] = field(default_factory=dict)
    allocation: PortAllocation | None = None

    @property
    def lacks_allocation(self) -> bool:
        """Whether the port requests resources and has no allocation."""
        return bool(self.groups()) and not self.allocation

    def got(self) -> list[tuple[str | None, Mapping[str, int]]]:
        """Return (provider, resources) for each group, as the binding profile has them."""
        groups = self.groups()
        if not isinstance(self.allocation, Mapping):
            return [(self.allocation, group.resources) for group in groups.values()]
        return [
            (self.allocation.get(suffix.removeprefix("_")), group.resources)
            for suffix, group in groups.items()
        ]

    def groups(self) -> dict[str, RequestGroup]:
        """Return suffix → requested group. The old form has one group with the id of the port."""
        listed = self.request.get("request_groups")
        if listed is None:
            listed = [{"id": self.id, **self.request}] if self.request else []
        return {
            f"_{group['id']}": RequestGroup(
                resources=group["resources"],
                required_traits=frozenset(group.get("required", ())),
            )
            for group in listed
            if group.get("resources")
        }

    def same_subtree(self) -> frozenset[str]:
        """Return the suffixes of the groups for the `same_subtree` parameter of a request."""
        return frozenset(f"_{group}" for group in self.request.get("same_subtree", ()))

    def placed(self, mappings: Mapping[str, list[str]]) -> PortAllocation:
        """Return the `allocation` for the binding profile, from a candidate's `mappings`."""
        got = {suffix.removeprefix("_"): mappings[suffix][0] for suffix in self.groups()}
        return got if "request_groups" in self.request else got[self.id]


class Ports(Protocol):
    """What healing needs of the network service."""

    def of_instance(self, instance: str) -> list[Port]:
        """Return the ports of an instance. Raises UnableToQueryPorts if that fails."""

    def set_allocation(self, port: Port, allocation: PortAllocation | None) -> None:
        """Write the port's `allocation`; None removes it. Raises UnableToUpdatePorts on failure."""


class NoPorts:
    """Ports without a network service: no instance has any."""

    def of_instance(self, instance: str) -> list[Port]:
        """Return an empty list."""
        return []

    def set_allocation(self, port: Port, allocation: PortAllocation | None) -> None:
        """Do nothing: there is no port."""
