"""What the compute service offers to its driver (compute.md §6.1)."""

import contextlib
import logging
from collections.abc import Callable, Iterator

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.records.cell_database import CellDatabase
from compute.records.node_identity import NodeIdentity
from compute.report import SchedulerReportClient
from compute.report.wire.context import Context
from compute.resource_tracker.node.node_traits import with_status

LOG = logging.getLogger(__name__)


class ComputeVirtAPI:
    """The calls that a driver may make into the service that loaded it; see `VirtAPI`."""

    def __init__(
        self, reportclient: SchedulerReportClient, identity: NodeIdentity, cell: CellDatabase
    ) -> None:
        self._reportclient = reportclient
        self._identity = identity
        self._cell = cell

    def local_node_uuid(self) -> str:
        """Return the persistent uuid of this host's node."""
        return self._identity.read_or_create()

    def migrating_instance(self, consumer_uuid: str) -> str | None:
        """Return the uuid of the instance on the move, if the consumer is a migration under way."""
        return self._cell.migrations.moving_instance(consumer_uuid)

    def instances_of_host(self, host: str) -> set[str]:
        """Return the uuids of the instances that are recorded as living on `host`."""
        return self._cell.instances.uuids_by_host(host)

    def update_compute_provider_status(self, context: Context, rp_uuid: str, enabled: bool) -> None:
        """Make the provider's COMPUTE_STATUS_DISABLED trait agree with `enabled`.

        A failure is logged; the next update of the node corrects the trait.
        """
        try:
            found = self._reportclient.get_provider_traits(context, rp_uuid)
            wanted = with_status(found.traits, disabled=not enabled)
            if wanted != found.traits:
                self._reportclient.set_traits_for_provider(
                    context, rp_uuid, wanted, generation=found.generation
                )
        except (
            exceptions.ResourceProviderTraitRetrievalFailed,
            exceptions.ResourceProviderUpdateConflict,
            exceptions.ResourceProviderUpdateFailed,
            exceptions.TraitRetrievalFailed,
            ClientException,
        ) as failure:
            LOG.warning(
                "Provider %s could not be marked %s; the next update will: %s",
                rp_uuid,
                "enabled" if enabled else "disabled",
                failure,
            )

    @contextlib.contextmanager
    def wait_for_instance_event(
        self,
        instance: object,
        event_names: list[tuple[str, str]],
        timeout: float = 300,
        error_callback: Callable[..., bool] | None = None,
    ) -> Iterator[None]:
        """Run the body at once: no instance events reach this service, so none is waited for."""
        yield

    def exit_wait_early(self, events: list[tuple[str, str]]) -> None:
        """Do nothing: nothing is waited for."""
