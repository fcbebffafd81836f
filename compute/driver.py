"""What the compute side calls of a compute driver. `compute.service.drivers` finds drivers."""

import contextlib
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from compute import exceptions
from compute.provider_tree import ProviderTree


@contextlib.contextmanager
def novas_words() -> Iterator[None]:
    """Raise what a driver of nova's own raises for a reshape as the exceptions of this library."""
    try:
        yield
    except exceptions.NovaException:
        raise
    except Exception as error:
        names = {one.__name__ for one in type(error).__mro__}
        if exceptions.ReshapeNeeded.__name__ in names:
            raise exceptions.ReshapeNeeded() from error
        if exceptions.ReshapeFailed.__name__ in names:
            raise exceptions.ReshapeFailed(error=error) from error
        raise


@runtime_checkable
class ServiceDriver(Protocol):
    """What the compute service calls of a driver. `virt.driver.ComputeDriver` says what each means.

    Everything here is in the class of a driver, so the class passes `isinstance`, as drivers do.
    """

    manages_instances: bool
    rebalances_nodes: bool
    requires_allocation_refresh: bool

    def init_host(self, host: str) -> None:
        """Prepare for work as the compute service `host`."""

    def get_available_nodes(self, refresh: bool = False) -> list[str]:
        """Return the names of the nodes that this host manages."""

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:
        """Return node uuid → node name."""

    def node_is_available(self, nodename: str) -> bool:
        """Say whether the host manages the node."""

    def is_node_deleted(self, nodename: str) -> bool:
        """Say whether a node that vanished is gone for good."""

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        """Return the node's totals and usage."""

    def update_provider_tree(
        self,
        provider_tree: ProviderTree,
        nodename: str,
        allocations: dict[str, Any] | None = None,
    ) -> None:
        """Edit the tree, and in a reshape the allocations, into the node's final state."""

    def get_inventory(self, nodename: str) -> dict[str, dict[str, Any]]:
        """Return class → inventory record of the root provider."""

    def get_traits(self, nodename: str) -> list[str]:
        """Return the traits of the root provider."""

    def capabilities_as_traits(self) -> dict[str, bool]:
        """Return trait → whether the root provider should have it."""

    def list_instance_uuids(self) -> list[str]:
        """Return the uuids of the guests on this host."""

    def set_host_enabled(self, enabled: bool) -> str:
        """Accept guests, or no more guests."""
