"""Delete orphans one by one: each is judged again, and written to a journal first."""

from __future__ import annotations

from compute import exceptions
from compute.maintenance.audit.audit import Auditor, Orphan
from compute.maintenance.journal import Journal
from compute.report import SchedulerReportClient
from compute.report.consumers.consumer import read_consumer, without, write_consumer
from compute.report.wire.context import admin_context


class Deletion:
    """Deletes orphans, and writes each to a journal before its deletion."""

    def __init__(self, client: SchedulerReportClient, auditor: Auditor, journal: Journal) -> None:
        self.journal = journal
        self._client = client
        self._auditor = auditor

    def delete(self, orphan: Orphan, named: bool) -> Orphan | None:
        """Delete the orphan if it is still deletable; `named` is as for Orphan.deletable.

        Return the orphan as it is judged now, deleted if deletable; None if it is no orphan any
        more, because somebody else was quicker, for example.

        Raises NotNoted and JournalUnusable if the journal can't be written, AllocationUpdateFailed
        if the consumer changes concurrently, and what `Auditor.orphans` raises.
        """
        if not orphan.deletable(named):
            return orphan
        context = admin_context()
        body = read_consumer(self._client, context, orphan.consumer)
        # Records and traits are read after the consumer: a concurrent change of the consumer moves
        # its generation, and the write below fails.
        now = self._auditor.judged_again(orphan, body)
        if now is None or not now.deletable(named):
            return now
        self.journal.note(orphan.consumer, orphan.provider, body)
        kept = without(body, orphan.provider)
        try:
            write_consumer(self._client, context, orphan.consumer, body, kept)
        except exceptions.AllocationUpdateFailed:
            body = read_consumer(self._client, context, orphan.consumer)
            if orphan.provider in body["allocations"]:
                raise
            # another audit, or the agent, was quicker
            return None
        return now
