"""SchedulerReportClient: how the compute side talks to placement, with nova's method names."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from compute import config
from compute.config.placement import build_adapter
from compute.provider_tree import ProviderSubTree, ProviderTree
from compute.provider_tree.allocation_records import Allocations, Held
from compute.provider_tree.inventory_record import Inventory
from compute.report.consumers.allocations import ConsumerAllocations, ProviderAllocInfo
from compute.report.consumers.candidates import AllocationCandidates, CandidateQuery, Candidates
from compute.report.consumers.instance_allocations import GivenAmounts, InstanceAllocations
from compute.report.consumers.resource_request import ResourceRequest
from compute.report.consumers.usages import Usages
from compute.report.deletion import NodeDeletion, NodeRecord
from compute.report.trees.associations import Associations
from compute.report.trees.cache import ProviderCache
from compute.report.trees.host_aggregates import HostAggregates
from compute.report.trees.properties import Properties
from compute.report.trees.providers import Providers, TraitInfo
from compute.report.trees.reshaper import Reshaper
from compute.report.trees.steps import Parts
from compute.report.trees.tree_sync import TreeSync
from compute.report.trees.tree_write import TreeWriter
from compute.report.trees.trees import Trees
from compute.report.trees.whole_trees import WholeTrees
from compute.report.wire.context import Context
from compute.report.wire.extensions import Extensions, Offers
from compute.report.wire.transport import Sender, Transport
from compute.report.wire.unreachable import report_construction_failure, safe_connect

if TYPE_CHECKING:
    from requests import Response


class SchedulerReportClient:
    """Reads, ensures and updates what placement knows of this host's resources.

    The client remembers what it read and wrote, and sends only differences: a tree that hasn't
    changed costs no request. Each method is one call of a part; the part tells what the method
    returns and raises in full. Several threads may share a client.

    :param adapter: a prepared keystoneauth1 adapter; None: one is built from `[placement]`
    :param conf: configuration with groups [placement], [compute] and [scheduler], as
        `compute.config.load` makes it; None: every option has its default
    :param sleep: waits so many seconds between attempts
    :param on_request: called after each request with its method, and the status of the answer or
        None; None: nobody counts

    Raises keystoneauth1's ClientException if `[placement]` is unusable.
    """

    def __init__(
        self,
        adapter: Sender | None = None,
        conf: cfg.ConfigOpts | None = None,
        sleep: Callable[[float], None] = time.sleep,
        on_request: Callable[[str, int | None], None] | None = None,
    ) -> None:
        settings = config.load(files=[], environ={}) if conf is None else conf
        self.conf = settings
        self.cache = ProviderCache(settings)
        self._offers = Offers()
        self.transport = Transport(
            lambda: build_adapter(settings) if adapter is None else adapter,
            sleep=sleep,
            on_connect=self._forget,
            on_request=on_request,
        )
        self.providers = Providers(self.transport, self.cache, settings)
        self.extensions = Extensions(self.transport, self._offers, settings.berth.whole_trees)
        self.whole_trees = WholeTrees(self.extensions, settings)
        self.associations = Associations(self.cache, self.providers, self.whole_trees)
        self.trees = Trees(self.cache, self.providers, self.associations, self.whole_trees)
        self.properties = Properties(self.transport, self.cache)
        self.reshaper = Reshaper(self.transport, self.cache, self.properties)
        self.tree_sync = TreeSync(
            Parts(
                self.cache,
                self.providers,
                self.associations,
                self.trees,
                self.properties,
                self.reshaper,
            ),
            TreeWriter(self.extensions, self.whole_trees, self.cache),
        )
        self.allocations = ConsumerAllocations(
            self.transport, self.cache, self.providers, self.whole_trees
        )
        self.instance_allocations = InstanceAllocations(self.transport, self.allocations)
        self.node_deletion = NodeDeletion(self.cache, self.providers, self.trees, self.allocations)
        self.host_aggregates = HostAggregates(self.providers, self.properties)
        self.candidates = AllocationCandidates(self.transport, settings)
        self.usages = Usages(self.transport)

    def _forget(self) -> None:
        """Forget what a placement told that may not be the one that answers next."""
        self.cache.clear(init=True)
        self._offers.forget()

    # Requests

    def get(
        self, url: str, version: str | None = None, global_request_id: str | None = None
    ) -> Response:
        """GET `url` at microversion `version`; None: no microversion header, that is 1.0."""
        return self.transport.get(url, version, global_request_id)

    def post(
        self,
        url: str,
        data: object,
        version: str | None = None,
        global_request_id: str | None = None,
    ) -> Response:
        """POST `data` as JSON."""
        return self.transport.post(url, data, version, global_request_id)

    def put(
        self,
        url: str,
        data: object,
        version: str | None = None,
        global_request_id: str | None = None,
    ) -> Response:
        """PUT `data` as JSON; None: no body."""
        return self.transport.put(url, data, version, global_request_id)

    def delete(
        self, url: str, version: str | None = None, global_request_id: str | None = None
    ) -> Response:
        """DELETE `url`."""
        return self.transport.delete(url, version, global_request_id)

    # The cache

    def clear_provider_cache(self, init: bool = False) -> None:
        """Forget everything, so that it is all read again; log that unless `init`.

        Then, keystone is asked anew where placement is, as well.
        """
        self.cache.clear(init)
        if not init:
            self.transport.connect_anew()

    def invalidate_resource_provider(self, name_or_uuid: str, cacheonly: bool = False) -> None:
        """Forget a provider and all below it; with `cacheonly` only have it read again."""
        self.cache.invalidate(name_or_uuid, cacheonly)

    # Trees

    def get_provider_tree_and_ensure_root(
        self,
        context: Context,
        rp_uuid: str,
        name: str | None = None,
        parent_provider_uuid: str | None = None,
    ) -> ProviderTree:
        """Return a private copy of everything known, with a provider that is made if need be."""
        return self.trees.ensured_tree(context, rp_uuid, name, parent_provider_uuid)

    def get_provider_subtree_and_ensure_root(
        self,
        context: Context,
        rp_uuid: str,
        name: str | None = None,
        parent_provider_uuid: str | None = None,
        with_sharing: bool = False,
    ) -> ProviderSubTree:
        """Return a private copy of the tree rooted at a provider that is made if need be.

        `with_sharing` adds the providers that share with the tree, as roots without children.
        """
        return self.trees.ensured_subtree(
            context, rp_uuid, name, parent_provider_uuid, with_sharing
        )

    def takes_whole_trees(self, context: Context) -> bool:
        """Say whether placement tells and takes whole trees; ask it if that isn't known."""
        return self.whole_trees.offered(context)

    def get_provider_subtree(
        self, context: Context, rp_uuid: str, name: str, with_sharing: bool = False
    ) -> ProviderSubTree:
        """Return as `get_provider_subtree_and_ensure_root`, to be edited and updated.

        Where placement takes whole trees, a missing root is created by `update_from_provider_tree`,
        together with the rest of its tree.
        """
        return self.trees.ensured_subtree(
            context, rp_uuid, name, with_sharing=with_sharing, may_imagine=True
        )

    def update_from_provider_tree(
        self,
        context: Context,
        new_tree: ProviderTree,
        allocations: Allocations | None = None,
    ) -> bool:
        """Make placement look like `new_tree`, a copy that came from this client and was edited.

        Return whether anything had to be written.

        Of a ProviderSubTree, only the providers below its root can be removed by being absent.
        With `allocations` – what `get_allocations_for_provider_tree` returned, edited; even
        empty – inventories and allocations are first moved by one `POST /reshaper`.

        The generations of added providers are written into `new_tree`. The update isn't atomic as
        a whole: the first failure ends it, and a later call does the rest. Afterwards the cache
        equals `new_tree`, and another call sends nothing.

        Raises PlacementReshapeConflict and ResourceProviderUpdateConflict, which are worth a retry
        from a fresh tree; ReshapeFailed; InventoryInUse for a class that has allocations;
        ResourceProviderSyncFailed for other failures with one provider;
        ResourceProviderCreationFailed; and ClientException or PlacementAPIConnectFailure
        if placement is unreachable.
        """
        return self.tree_sync.run(context, new_tree, allocations)

    def delete_resource_provider(
        self,
        context: Context,
        compute_node: NodeRecord,
        cascade: bool = False,
        instances: Iterable[str] | None = None,
        evacuated: Iterable[str] = (),
    ) -> None:
        """Delete the node's provider and all below it; with `cascade` allocations first."""
        self.node_deletion.delete(context, compute_node, cascade, instances, evacuated)

    # Providers

    def get_providers_in_tree(self, context: Context, uuid: str) -> list[dict[str, object]]:
        """Return the providers of the tree that `uuid` is part of; none if it doesn't exist."""
        return self.providers.in_tree(context, uuid)

    def get_resource_provider_name(self, context: Context, uuid: str) -> str:
        """Return the provider's name. Raises ResourceProviderNotFound if there is none."""
        return self.providers.name_of(context, uuid)

    def get_provider_by_name(self, context: Context, name: str) -> dict[str, object]:
        """Return the provider of that name. Raises ResourceProviderNotFound if there is none."""
        return self.providers.by_name(context, name)

    def get_provider_traits(self, context: Context, rp_uuid: str) -> TraitInfo:
        """Return the provider's traits. Raises ResourceProviderTraitRetrievalFailed on an error."""
        return self.providers.traits_of(context, rp_uuid)

    # Properties of providers

    def set_inventory_for_provider(
        self,
        context: Context,
        rp_uuid: str,
        inv_data: Inventory | None,
        generation: int | None = None,
    ) -> None:
        """Make `inv_data` the provider's whole inventory; None or `{}` clears it."""
        self.properties.set_inventory(context, rp_uuid, inv_data, generation)

    @safe_connect
    def set_traits_for_provider(
        self, context: Context, rp_uuid: str, traits: Iterable[str], generation: int | None = None
    ) -> bool | None:
        """Make `traits` the provider's whole set of traits; None if placement is unreachable."""
        return self.properties.set_traits(context, rp_uuid, traits, generation)

    @safe_connect
    def set_aggregates_for_provider(
        self,
        context: Context,
        rp_uuid: str,
        aggregates: Iterable[str],
        use_cache: bool = True,
        generation: int | None = None,
    ) -> bool | None:
        """Make `aggregates` the provider's set of aggregates; None if unreachable."""
        return self.properties.set_aggregates(context, rp_uuid, aggregates, use_cache, generation)

    def aggregate_add_host(
        self,
        context: Context,
        agg_uuid: str,
        host_name: str | None = None,
        rp_uuid: str | None = None,
    ) -> None:
        """Make the provider, given by its name or its uuid, a member of the aggregate."""
        self.host_aggregates.add_host(context, agg_uuid, host_name, rp_uuid)

    def aggregate_remove_host(self, context: Context, agg_uuid: str, host_name: str) -> None:
        """Take the provider of that name out of the aggregate."""
        self.host_aggregates.remove_host(context, agg_uuid, host_name)

    # Allocations

    def get_allocations_for_resource_provider(
        self, context: Context, rp_uuid: str
    ) -> ProviderAllocInfo:
        """Return what is allocated against the provider."""
        return self.allocations.of_provider(context, rp_uuid)

    def get_holders_in_provider_tree(
        self, context: Context, rp_uuid: str, is_start: bool = False
    ) -> dict[str, Held]:
        """Return consumer → provider of `rp_uuid` and below → what it holds of it."""
        return self.allocations.holders_in_tree(context, rp_uuid, is_start)

    def get_allocations_for_provider_tree(self, context: Context, nodename: str) -> Allocations:
        """Return the complete allocations of every consumer of the tree of `nodename`."""
        return self.allocations.of_tree(context, nodename)

    def get_allocs_for_consumer(self, context: Context, consumer: str) -> dict[str, Any]:
        """Return all of the consumer's allocations, as placement shows them at 1.28."""
        return self.allocations.of_consumer(context, consumer)

    def get_allocations_for_consumer(
        self, context: Context, consumer: str
    ) -> dict[str, dict[str, object]] | None:
        """Return only the `allocations`: `{}` on an HTTP error, None if unreachable."""
        return self.allocations.held_by(context, consumer)

    def put_allocations(
        self, context: Context, consumer_uuid: str, payload: Mapping[str, object]
    ) -> bool:
        """Make `payload` the consumer's allocations; return whether placement took them."""
        return self.allocations.put(context, consumer_uuid, payload)

    def delete_allocation_for_instance(
        self, context: Context, uuid: str, consumer_type: str = "instance", force: bool = False
    ) -> bool | None:
        """Remove all allocations of the consumer; return whether there were any."""
        return self.allocations.delete(context, uuid, consumer_type, force)

    def remove_provider_tree_from_instance_allocation(
        self, context: Context, consumer_uuid: str, root_rp_uuid: str
    ) -> bool:
        """Take the providers of one tree out of the consumer's allocations."""
        return self.allocations.remove_tree(context, consumer_uuid, root_rp_uuid)

    def claim_resources(
        self,
        context: Context,
        consumer_uuid: str,
        alloc_request: Mapping[str, object],
        project_id: str,
        user_id: str,
        allocation_request_version: str,
        consumer_generation: int | None = None,
    ) -> bool | None:
        """Give the consumer what `alloc_request` asks for; return whether placement did."""
        return self.instance_allocations.claim(
            context,
            consumer_uuid,
            alloc_request,
            project_id,
            user_id,
            allocation_request_version,
            consumer_generation,
        )

    def move_allocations(
        self, context: Context, source_consumer_uuid: str, target_consumer_uuid: str
    ) -> bool | None:
        """Give the target what the source holds, in one request; return whether it has it."""
        return self.instance_allocations.move(context, source_consumer_uuid, target_consumer_uuid)

    def add_resources_to_instance_allocation(
        self, context: Context, consumer_uuid: str, resources: GivenAmounts
    ) -> None:
        """Add `resources` to what the consumer holds. Raises AllocationUpdateFailed if refused."""
        self.instance_allocations.add(context, consumer_uuid, resources)

    def remove_resources_from_instance_allocation(
        self, context: Context, consumer_uuid: str, resources: GivenAmounts
    ) -> None:
        """Subtract `resources` from the consumer's. Raises AllocationUpdateFailed if refused."""
        self.instance_allocations.remove(context, consumer_uuid, resources)

    # The whole cloud

    def get_allocation_candidates(
        self, context: Context, resources: ResourceRequest | CandidateQuery
    ) -> Candidates | None:
        """Return (allocation requests, provider summaries, version) for a request."""
        return self.candidates.find(context, resources)

    def get_usages_for_resource_provider(self, context: Context, rp_uuid: str) -> dict[str, int]:
        """Return what all consumers use of the provider, class → amount."""
        return self.usages.of_provider(context, rp_uuid)

    def get_usages_counts_for_limits(self, context: Context, project_id: str) -> dict[str, int]:
        """Return what the project uses in all, class → amount."""
        return self.usages.for_limits(context, project_id)

    def get_usages_counts_for_quota(
        self, context: Context, project_id: str, user_id: str | None = None
    ) -> dict[str, dict[str, int]]:
        """Return cores and ram of the project, and of the user if one is given."""
        return self.usages.for_quota(context, project_id, user_id)


_singleton: SchedulerReportClient | None = None
_singleton_lock = threading.Lock()


def report_client_singleton(conf: cfg.ConfigOpts | None = None) -> SchedulerReportClient:
    """Return the process-wide client, made from `conf` at the first call.

    If it can't be made, the reason is logged in an operator's words, and the exception passes.
    """
    global _singleton
    with _singleton_lock:
        if _singleton is None:
            try:
                _singleton = SchedulerReportClient(conf=conf)
            except Exception as failure:
                report_construction_failure(failure)
                raise
        return _singleton
