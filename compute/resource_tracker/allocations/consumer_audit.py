"""The consumers of a node that its tracker doesn't count: which keep their allocations.

A removal takes what the rules prove to be a leftover of this host. The consumer keeps what it holds
of other hosts and of providers that other hosts may share. Any other consumer is logged once.
"""

import logging
from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import replace
from typing import Any

import os_traits
from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.consumers.evidence import RecordedEvidence
from compute.consumers.rules import (
    ConsumerKind,
    ConsumerVerdict,
    Evidence,
    JudgedProvider,
    KnownPlace,
    is_alone_here,
    judge,
)
from compute.consumers.running import RunningGuests
from compute.provider_tree import ProviderTree
from compute.records.compute_node import ComputeNode
from compute.report import SchedulerReportClient
from compute.report.consumers.consumer import read_consumer, without, write_consumer
from compute.report.wire.context import RequestContext

LOG = logging.getLogger(__name__)

_FAILURES = (
    exceptions.AllocationUpdateFailed,
    exceptions.ConsumerAllocationRetrievalFailed,
    exceptions.ResourceProviderTraitRetrievalFailed,
    ClientException,
)


class ConsumerAudit:
    """Judges consumers of one node.

    :param tree: the node's providers, and those that share with them
    :param removed: the kinds of leftovers that lose their part
    :param told: consumer → what was last logged of it; kept from one audit to the next
    :param running: the guests that the hypervisor has; what they hold stays
    """

    def __init__(
        self,
        client: SchedulerReportClient,
        context: RequestContext,
        records: RecordedEvidence,
        node: ComputeNode,
        tree: ProviderTree,
        removed: Collection[ConsumerKind],
        told: MutableMapping[str, str],
        running: RunningGuests,
    ) -> None:
        self._client = client
        self._context = context
        self._records = records
        self._node = node
        self._own = frozenset(tree.get_provider_uuids(node.uuid))
        self._sharing = {uuid for uuid in tree.get_provider_uuids() if _shares(tree, uuid)}
        self._removed = removed
        self._told = told
        self._running = running

    def run(self, consumers: Mapping[str, Collection[str]]) -> None:
        """Judge consumers.

        :param consumers: consumer → the providers of the node that it holds something of
        """
        self._running.forget()
        for uuid in self._told.keys() - consumers.keys():
            del self._told[uuid]
        for uuid, evidence in self._records.of_each(consumers).items():
            # What a consumer holds of a provider of this host alone is the better evidence.
            shares = self._sharing.issuperset(consumers[uuid])
            place = KnownPlace(self._node, shares)
            verdict = judge(place, evidence)
            if self._is_removed(verdict, evidence):
                evidence = self._running.beside(evidence, uuid)
                verdict = judge(place, evidence)
            if self._is_removed(verdict, evidence):
                self._remove(uuid)
            else:
                self._tell(uuid, verdict, evidence)

    def _is_removed(self, verdict: ConsumerVerdict, evidence: Evidence) -> bool:
        # Whoever ends a migration also gives back or removes what it holds.
        return verdict.kind in self._removed and evidence.migration is None

    def _remove(self, uuid: str) -> None:
        """Remove what is proven to be over, after judging once more. Log a failure."""
        try:
            body = read_consumer(self._client, self._context, uuid)
            places = {provider: self._place(provider) for provider in body["allocations"]}
            # The records are read last: a later write of the allocations changes the generation.
            evidence = replace(
                self._running.beside(self._records.of(uuid), uuid),
                consumer_type=body.get("consumer_type"),
                alone_here=is_alone_here(body["allocations"], places.get),
            )
            verdicts = {provider: judge(place, evidence) for provider, place in places.items()}
            leftovers = [
                provider
                for provider, verdict in verdicts.items()
                if self._is_removed(verdict, evidence)
            ]
            if leftovers:
                write_consumer(self._client, self._context, uuid, body, without(body, *leftovers))
                LOG.info(
                    "Removed allocations of consumer %s on %s: %s",
                    uuid,
                    ", ".join(leftovers),
                    verdicts[leftovers[0]].reason,
                )
            for provider in self._own & verdicts.keys() - set(leftovers):
                self._tell(uuid, verdicts[provider], evidence)
        except _FAILURES as failure:
            LOG.warning("Allocations of %s could not be removed: %s", uuid, failure)

    def _place(self, provider: str) -> JudgedProvider:
        """Return a provider as it is now: the trait for sharing may be newer than the tree."""
        if provider not in self._own:
            return KnownPlace(None, shares=provider in self._sharing)
        traits = self._client.get_provider_traits(self._context, provider).traits
        return KnownPlace(self._node, os_traits.MISC_SHARES_VIA_AGGREGATE in traits)

    def _tell(self, uuid: str, verdict: ConsumerVerdict, evidence: Evidence) -> None:
        """Log once why the consumer's allocations stay."""
        if self._told.get(uuid) == verdict.reason:
            return
        self._told[uuid] = verdict.reason
        LOG.log(
            _level(verdict, evidence),
            "Consumer %s of node %s keeps its allocations: %s",
            uuid,
            self._node.hypervisor_hostname,
            verdict.reason,
        )


def _level(verdict: ConsumerVerdict, evidence: Evidence) -> int:
    """Return the level of the log; a disagreement of records and placement is a warning."""
    instance: Any = evidence.instance
    if verdict.kind is ConsumerKind.ON_ITS_WAY:
        return logging.DEBUG
    if verdict.kind is ConsumerKind.RUNNING:
        return logging.WARNING
    if verdict.kind is ConsumerKind.ELSEWHERE and instance is not None:
        return logging.WARNING
    return logging.INFO


def _shares(tree: ProviderTree, uuid: str) -> bool:
    return os_traits.MISC_SHARES_VIA_AGGREGATE in tree.data(uuid).traits
