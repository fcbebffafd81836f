"""The calls that a driver may make back into the program that loaded it (compute.md §6.1)."""

import contextlib
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from compute.report.wire.context import Context


class VirtAPI(Protocol):
    """The calls that a driver may make back into the program that loaded it."""

    def update_compute_provider_status(
        self, context: "Context", rp_uuid: str, enabled: bool
    ) -> None:
        """Make the provider's COMPUTE_STATUS_DISABLED trait agree with `enabled`."""

    def wait_for_instance_event(
        self,
        instance: object,
        event_names: list[tuple[str, str]],
        timeout: float = 300,
        error_callback: Callable[..., bool] | None = None,
    ) -> contextlib.AbstractContextManager[None]:
        """Leave the context only when every named event has come, or `timeout` seconds passed.

        `error_callback` is asked, with the event's name and the instance, whether to go on waiting
        after an event that tells of a failure.
        """

    def exit_wait_early(self, events: list[tuple[str, str]]) -> None:
        """End the waiting for these events; called in the body of wait_for_instance_event."""

    def local_node_uuid(self) -> str:
        """Return the persistent uuid of this host's node (compute.md §5.5)."""

    def migrating_instance(self, consumer_uuid: str) -> str | None:
        """Return the instance's uuid if the consumer is a migration under way, else None.

        While an instance moves, its migration holds the resources at the source.
        """

    def instances_of_host(self, host: str) -> set[str]:
        """Return the uuids of the instances that are recorded as living on `host`."""


class NoopVirtAPI:
    """A VirtAPI that notifies nobody and waits for nothing: for commands and tests."""

    def __init__(self) -> None:
        self._local_node_uuid = str(uuid.uuid4())

    def update_compute_provider_status(
        self, context: "Context", rp_uuid: str, enabled: bool
    ) -> None:
        """Do nothing."""

    @contextlib.contextmanager
    def wait_for_instance_event(
        self,
        instance: object,
        event_names: list[tuple[str, str]],
        timeout: float = 300,
        error_callback: Callable[..., bool] | None = None,
    ) -> Iterator[None]:
        """Run the body at once."""
        yield

    def exit_wait_early(self, events: list[tuple[str, str]]) -> None:
        """Do nothing: nothing is waited for."""

    def local_node_uuid(self) -> str:
        """Return a random uuid that stays the same."""
        return self._local_node_uuid

    def migrating_instance(self, consumer_uuid: str) -> str | None:
        """Return None: nothing is known of migrations."""
        return None

    def instances_of_host(self, host: str) -> set[str]:
        """Return nothing: nothing is known of instances."""
        return set()
