"""Find allocations whose consumer is gone (compute.md §7.3)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import os_traits

from compute import exceptions
from compute.consumers.evidence import RecordedEvidence
from compute.consumers.rules import (
    LEFTOVER,
    SETTLED,
    TO_DO,
    ConsumerKind,
    ConsumerVerdict,
    Evidence,
    in_doubt,
    is_alone_here,
    judge,
)
from compute.consumers.running import RunningGuests
from compute.maintenance.audit.audit_reads import AuditedProvider, AuditReads
from compute.maintenance.provider_details import all_providers
from compute.provider_tree.allocation_records import Amounts
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext

#: an instance or a migration holds at least one of these classes
AUDITED_CLASSES = frozenset(
    {
        "VCPU",
        "MEMORY_MB",
        "DISK_GB",
        "VGPU",
        "NET_BW_EGR_KILOBIT_PER_SEC",
        "NET_BW_IGR_KILOBIT_PER_SEC",
        "PCPU",
        "MEM_ENCRYPTION_CONTEXT",
    }
)
#: of how many providers one request reads the allocations, where placement offers that
PROVIDERS_AT_ONCE = 200
#: of how many trees of one host the providers are read tree by tree
MOST_TREES = 10
#: how the consumer of an orphan may be related to its provider
SUSPECT = tuple(kind for kind in ConsumerKind if kind not in SETTLED)
INSTANCE, MIGRATION, UNKNOWN = "instance", "migration", "unknown"


@dataclass(frozen=True)
class Orphan:
    """What a consumer holds of a provider without a reason that this host knows.

    `kind` is that of the consumer as the records know it, `consumer_type` as placement does, None
    if it knows no types. `host` is where it is or was, `age` seconds since its record last changed.
    `node_known` says whether the provider can be of this host: in the tree of one of its nodes, or
    shared.
    """

    consumer: str
    provider: str
    provider_name: str
    resources: Amounts
    kind: str
    consumer_type: str | None
    host: str | None
    age: float | None
    verdict: ConsumerVerdict
    node_known: bool

    def deletable(self, named: bool) -> bool:
        """Whether it may be deleted: it is a proven leftover of this host.

        If the operator `named` the provider, so may be what another host could know.
        """
        kind = self.verdict.kind
        return kind in LEFTOVER or (
            named and kind in (ConsumerKind.NOT_OURS, ConsumerKind.IN_DOUBT)
        )

    def to_do(self, named: bool) -> bool:
        """Whether somebody has to do something about it: delete it, or mend the records."""
        return self.verdict.kind in TO_DO or self.deletable(named)


@dataclass(frozen=True)
class _Suspect:
    """A consumer of a provider that the records alone don't clear."""

    provider: AuditedProvider
    consumer: str
    evidence: Evidence

    @property
    def consumers(self) -> list[str]:
        """The consumer, and for a migration its instance: what they hold decides."""
        moved = self.evidence.moved
        return [self.consumer] if moved is None else [self.consumer, moved.uuid]


def batched(providers: list[AuditedProvider], size: int) -> Iterator[list[AuditedProvider]]:
    """Yield the providers in lists of at most `size`."""
    for start in range(0, len(providers), size):
        yield providers[start : start + size]


@contextlib.contextmanager
def _unwatched(total: int) -> Iterator[Callable[[], None]]:
    yield lambda: None


class Auditor:
    """Judges the consumers of providers by the records of `host`.

    :param load_driver: gives the driver of `host`: what the guests of its hypervisor hold is no
        leftover
    :param identity: the uuid of the host's node, for records that don't know it
    :param watch: is told the number of providers; gives what is called after each
    """

    def __init__(
        self,
        client: SchedulerReportClient,
        context: RequestContext,
        cell: CellDatabase,
        host: str,
        load_driver: Callable[[], object],
        identity: str | None = None,
        watch: Callable[[int], AbstractContextManager[Callable[[], None]]] = _unwatched,
    ) -> None:
        self._watch = watch
        self._client = client
        self._context = context
        self._cell = cell
        self._host = host
        nodes = {node.uuid for node in cell.compute_nodes.by_host(host)}
        if identity is not None and cell.compute_nodes.by_uuid(identity) is None:
            nodes.add(identity)
        self.roots = sorted(nodes)
        self._running = RunningGuests(load_driver)
        self._records = RecordedEvidence(cell, host)

    def has_evidence(self) -> bool:
        """Say whether the records know any instance. Without one they prove nothing."""
        return self._records.know_instances()

    def doubt(self) -> str:
        """Return why nobody can tell which guests run on the host; "" if its driver does."""
        self._running.listed()
        return self._running.doubt

    def orphans(
        self, resource_provider: str | None = None, everything: bool = False
    ) -> Iterator[Orphan]:
        """Look through the host's trees, and yield what somebody has to do something about.

        Sharing providers, of which the host's instances may hold something, are looked through,
        too.

        :param resource_provider: the uuid of a provider: look through it alone, and yield what is
            left alone, too
        :param everything: look through all providers, and yield what is left alone, too

        Raises ResourceProviderNotFound, ResourceProviderRetrievalFailed,
        ResourceProviderAllocationRetrievalFailed, ResourceProviderTraitRetrievalFailed,
        ConsumerAllocationRetrievalFailed, and ClientException.
        """
        self._running.forget()
        all_of_it = everything or resource_provider is not None
        if resource_provider:
            rows = self._rows(f"?uuid={resource_provider}")
        else:
            rows = self._rows() if everything else self._own_rows()
        if resource_provider and not rows:
            raise exceptions.ResourceProviderNotFound(
                f"Resource provider with UUID {resource_provider} does not exist."
            )
        reads = self._new_reads()
        providers = [reads.keep(row) for row in rows]
        with self._watch(len(providers)) as advance:
            for orphan in self._orphans_of(reads, providers, advance, all_of_it):
                if all_of_it or orphan.to_do(named=False):
                    yield orphan

    def _rows(self, query: str = "", version: str = "1.14") -> list[dict[str, object]]:
        return all_providers(self._client, self._context, query, version)

    def _own_rows(self) -> list[dict[str, object]]:
        """Return the providers of the host's trees, and all that share."""
        if len(self.roots) > MOST_TREES:
            own = [row for row in self._rows() if row["root_provider_uuid"] in self.roots]
        else:
            own = [row for root in self.roots for row in self._rows(f"?in_tree={root}")]
        known = {row["uuid"] for row in own}
        sharing = self._rows(f"?required={os_traits.MISC_SHARES_VIA_AGGREGATE}", "1.18")
        return own + [row for row in sharing if row["uuid"] not in known]

    def _orphans_of(
        self,
        reads: AuditReads,
        providers: list[AuditedProvider],
        advance: Callable[[], None],
        all_of_it: bool,
    ) -> Iterator[Orphan]:
        for some in batched(providers, PROVIDERS_AT_ONCE):
            held = reads.holders([one.uuid for one in some])
            if held is None:
                for provider in some:
                    found = self._client.get_allocations_for_resource_provider(
                        self._context, provider.uuid
                    ).allocations
                    for suspect in self._suspects(provider, found, all_of_it):
                        yield from self._orphans_among(reads, [suspect])
                    advance()
            else:
                suspects = [
                    suspect
                    for provider in some
                    for suspect in self._suspects(provider, held.get(provider.uuid, {}), all_of_it)
                ]
                reads.gather([uuid for suspect in suspects for uuid in suspect.consumers])
                yield from self._orphans_among(reads, suspects)
                for _ in some:
                    advance()

    def judged_again(self, orphan: Orphan, body: Mapping[str, Any]) -> Orphan | None:
        """Judge the consumer again by the current records and traits; None if it is no orphan.

        :param body: what the consumer holds, read before this call
        """
        # The traits of its other providers are read again, too, and the hypervisor is asked again.
        self._running.forget()
        reads = self._new_reads()
        provider = reads.provider(orphan.provider)
        if provider is None or orphan.provider not in body["allocations"]:
            return None
        evidence = self._records.of(orphan.consumer)
        return self._judged(reads, _Suspect(provider, orphan.consumer, evidence), body)

    def _new_reads(self) -> AuditReads:
        return AuditReads(self._client, self._context, self._cell, self._host)

    def _suspects(
        self,
        provider: AuditedProvider,
        found: Mapping[str, Mapping[str, object]],
        all_of_it: bool,
    ) -> Iterator[_Suspect]:
        """Yield the consumers of a provider that the records don't clear.

        Without `all_of_it` those are left out that are surely another host's to judge: of a
        sharing provider, the records know few.
        """
        # The records are read after placement: they know consumers that came in between.
        known = self._records.of_each(found)
        for consumer, held in sorted(found.items()):
            evidence = known[consumer]
            if not _audited(held) or judge(provider, evidence).kind in SETTLED:
                continue
            is_known = evidence.instance is not None or evidence.migration is not None
            if not (all_of_it or is_known):
                seen = self._running.beside(evidence, consumer)
                if judge(provider, replace(seen, holds_here=False)).kind not in TO_DO:
                    continue
            yield _Suspect(provider, consumer, evidence)

    def _orphans_among(self, reads: AuditReads, suspects: Iterable[_Suspect]) -> Iterator[Orphan]:
        for suspect in suspects:
            body = reads.consumer(suspect.consumer)
            if suspect.provider.uuid in body["allocations"]:
                orphan = self._judged(reads, suspect, body)
                if orphan is not None:
                    yield orphan

    def _judged(
        self, reads: AuditReads, suspect: _Suspect, body: Mapping[str, Any]
    ) -> Orphan | None:
        provider, evidence = suspect.provider, suspect.evidence
        held = body["allocations"][provider.uuid]
        evidence = replace(
            self._running.beside(evidence, suspect.consumer),
            consumer_type=body.get("consumer_type"),
            alone_here=is_alone_here(body["allocations"], reads.provider),
            moved_is_placed=evidence.moved is None or self._is_placed(reads, evidence.moved),
            holds_here=any(self._is_ours(reads.provider(uuid)) for uuid in body["allocations"]),
        )
        verdict = judge(provider, evidence)
        if evidence.runs_here is None and verdict.kind in LEFTOVER:
            verdict = in_doubt(verdict, evidence)
        if not _audited(held) or verdict.kind in SETTLED:
            return None
        kind, host, changed = _seen(evidence)
        return Orphan(
            consumer=suspect.consumer,
            provider=provider.uuid,
            provider_name=provider.name,
            resources=dict(held["resources"]),
            kind=kind,
            consumer_type=evidence.consumer_type,
            host=host,
            age=None if changed is None else max(0.0, time.time() - changed),
            verdict=verdict,
            node_known=provider.node is not None or provider.shares,
        )

    @staticmethod
    def _is_ours(provider: AuditedProvider | None) -> bool:
        return provider is not None and provider.node is not None

    def _is_placed(self, reads: AuditReads, instance: Instance) -> bool:
        """Say whether the instance itself holds something of its node; True without a node."""
        if instance.host is None:
            return True
        held = reads.consumer(instance.uuid)["allocations"]
        node = self._cell.compute_nodes.by_host_and_node(instance.host, instance.node or "")
        if node is None:
            return bool(held)
        known = [reads.provider(uuid) for uuid in held]
        return any(provider is not None and provider.root == node.uuid for provider in known)


def _audited(held: Mapping[str, Any]) -> bool:
    return not AUDITED_CLASSES.isdisjoint(held["resources"])


def _seen(evidence: Evidence) -> tuple[str, str | None, float | None]:
    """Return the consumer's kind, its host, and the time of the last change of its record."""
    if evidence.instance is not None:
        return INSTANCE, evidence.instance.host, evidence.instance.updated_at
    if evidence.migration is not None:
        return MIGRATION, evidence.migration.source_compute, evidence.migration.updated_at
    return UNKNOWN, None, None
