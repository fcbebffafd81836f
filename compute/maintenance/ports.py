"""The ports of instances that ask for bandwidth and the like, as the network service has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from compute.report.resource_request import RequestGroup

ALLOCATION = "allocation"


@dataclass(frozen=True)
class Port:
    """A port. `request` is the network service's `resource_request`, in either of its forms.

    `{"resources", "required"}`, or `{"request_groups": [{"id", "resources", "required"}],
    "same_subtree": [id]}`. `allocation` is what its binding profile says of where it got it.
    """

    id: str
    request: Mapping[str, Any] = field(default_factory=dict)
    allocation: Any = None

    @property
    def lacks_allocation(self) -> bool:
        """Whether it asks for something and has got nothing."""
        return bool(self.groups()) and not self.allocation

    def got(self) -> list[tuple[str | None, Mapping[str, int]]]:
        """From which provider it got what, group by group, as its binding profile says."""
        groups = self.groups()
        if not isinstance(self.allocation, Mapping):
            return [(self.allocation, group.resources) for group in groups.values()]
        return [
            (self.allocation.get(suffix.removeprefix("_")), group.resources)
            for suffix, group in groups.items()
        ]

    def groups(self) -> dict[str, RequestGroup]:
        """What it asks for: suffix → group. The older form has one group, called like the port."""
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
        """The suffixes of groups whose providers must have one of them above all others."""
        return frozenset(f"_{group}" for group in self.request.get("same_subtree", ()))

    def placed(self, mappings: Mapping[str, list[str]]) -> Any:
        """What the binding profile is to say, from the candidate's suffix → providers."""
        got = {suffix.removeprefix("_"): mappings[suffix][0] for suffix in self.groups()}
        return got if "request_groups" in self.request else got[self.id]


class Ports(Protocol):
    """The network service."""

    def of_instance(self, instance: str) -> list[Port]:
        """Return the ports of an instance. Raises UnableToQueryPorts."""

    def set_allocation(self, port: Port, allocation: Any) -> None:
        """Write down where the port got its resources, or None. Raises UnableToUpdatePorts."""


class NoPorts:
    """Where there is no network service, no instance has ports."""

    def of_instance(self, instance: str) -> list[Port]:
        """Return none."""
        return []

    def set_allocation(self, port: Port, allocation: Any) -> None:
        """Do nothing: there is no such port."""
