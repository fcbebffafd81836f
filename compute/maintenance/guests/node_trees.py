"""The providers of nodes, read once for several instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from compute.maintenance.provider_details import ProviderDetails, read_sharing, read_tree
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext

#: of how many nodes the providers are remembered
_MOST_NODES = 100


class NodeTrees:
    """Remembers trees and what shares with them, and counts what is allocated from them.

    What others allocate meanwhile isn't in them. Placement refuses an allocation for which there is
    no room any more; then `forget` and decide again.
    """

    def __init__(self, client: SchedulerReportClient, context: RequestContext) -> None:
        self._client = client
        self._context = context
        self._trees: dict[str, list[ProviderDetails]] = {}
        self._pools: dict[str, list[ProviderDetails]] = {}
        #: whether `of` gave what was read before, since somebody set this to False
        self.has_remembered = False

    def of(self, root: str) -> list[ProviderDetails]:
        """Return the providers of a root, parents first. Raises what `read_tree` raises."""
        if root not in self._trees:
            if len(self._trees) >= _MOST_NODES:
                self.forget()
            self._trees[root] = read_tree(self._client, self._context, root)
        else:
            self.has_remembered = True
        return self._trees[root]

    def sharing_with(self, *tree: ProviderDetails) -> list[ProviderDetails]:
        """Return the providers that share with a tree. Raises what `read_sharing` raises."""
        root = tree[0].uuid
        if root not in self._pools:
            self._pools[root] = read_sharing(self._client, self._context, *tree)
        return self._pools[root]

    def count(self, allocations: Mapping[str, Mapping[str, Any]]) -> None:
        """Count what was allocated: provider → `{"resources": {class: amount}}`."""
        for known in (self._trees, self._pools):
            for root, providers in known.items():
                known[root] = [
                    replace(one, used=Counter(one.used) + Counter(part["resources"]))
                    if (part := allocations.get(one.uuid))
                    else one
                    for one in providers
                ]

    def forget(self) -> None:
        """Read everything again when it is needed."""
        self._trees, self._pools = {}, {}
