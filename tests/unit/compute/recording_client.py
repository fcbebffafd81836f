"""A report client without a placement: it keeps the tree it is given and notes what was asked."""

import copy
from types import SimpleNamespace

from compute.provider_tree import ProviderTree


class RecordingReportClient:
    """`calls` holds the names of the methods called, in order.

    `failures` are raised by the next calls of update_from_provider_tree, one each; None lets one
    pass. `allocations` is what the node's consumers have, `known_traits` what placement knows.
    """

    def __init__(self, allocations=None, known_traits=("COMPUTE_NODE", "OWNER_NOVA")):
        self.calls = []
        self.failures = []
        self.allocations = allocations or {}
        self.known_traits = set(known_traits)
        self.tree = ProviderTree()
        self.sent_allocations = []
        self.invalidated = []
        self.deleted = []
        self.written_traits = []

    def takes_whole_trees(self, context):
        return False

    def get_provider_subtree(self, context, uuid, name, with_sharing=False):
        return self.get_provider_subtree_and_ensure_root(context, uuid, name, with_sharing)

    def get_provider_subtree_and_ensure_root(self, context, uuid, name=None, with_sharing=False):
        self.calls.append("get_tree")
        if not self.tree.exists(uuid):
            self.tree.new_root(name, uuid, generation=0)
        return self.tree.subtree(uuid)

    def get_holders_in_provider_tree(self, context, rp_uuid, is_start=False):
        self.calls.append("get_consumers")
        return {}

    def get_allocations_for_provider_tree(self, context, nodename):
        self.calls.append("get_allocations")
        return copy.deepcopy(self.allocations)

    def get_allocs_for_consumer(self, context, consumer):
        self.calls.append("get_allocations_of_consumer")
        return copy.deepcopy(self.allocations.get(consumer, {"allocations": {}}))

    def update_from_provider_tree(self, context, new_tree, allocations=None):
        self.calls.append("update")
        self.sent_allocations.append(allocations)
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        self.tree = copy.deepcopy(new_tree)

    def get(self, url, version=None, global_request_id=None):
        self.calls.append(f"GET {url}")
        body = {"traits": sorted(self.known_traits)}
        return SimpleNamespace(status_code=200, json=lambda: body)

    def get_provider_traits(self, context, rp_uuid):
        self.calls.append("get_traits")
        return SimpleNamespace(traits=set(self.tree.data(rp_uuid).traits), generation=7)

    def set_traits_for_provider(self, context, rp_uuid, traits, generation=None):
        self.written_traits.append((rp_uuid, set(traits), generation))

    def clear_provider_cache(self):
        self.calls.append("clear_cache")

    def invalidate_resource_provider(self, name_or_uuid):
        self.invalidated.append(name_or_uuid)

    def delete_resource_provider(self, context, node, cascade=False):
        self.deleted.append((node.hypervisor_hostname, cascade))
