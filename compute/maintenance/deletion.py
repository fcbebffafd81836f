"""Deleting leftovers one by one: judged once more, and noted in a journal first."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import TracebackType
from typing import Self

from compute.maintenance.audit import Auditor, Orphan
from compute.maintenance.journal import Journal
from compute.report import SchedulerReportClient
from compute.report.consumer import read_consumer, without, write_consumer
from compute.report.context import admin_context


class Deletion:
    """Deletes orphans, each noted in a journal first; a context that closes the journal.

    The journal is made when there is something to delete.
    """

    def __init__(self, client: SchedulerReportClient, auditor: Auditor, journal: Path) -> None:
        self.journal = journal
        self._client = client
        self._auditor = auditor
        self._open: Journal | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def delete(self, orphan: Orphan, named: bool) -> Orphan | None:
        """Remove it if it is still deletable; `named` is as for Orphan.deletable.

        Returns what it is by now, removed if deletable; None if it is no orphan any more.

        Raises NotNoted and JournalUnusable, AllocationUpdateFailed if the consumer changes
        meanwhile, and what Auditor.orphans raises.
        """
        if not orphan.deletable(named):
            return orphan
        context = admin_context()
        body = read_consumer(self._client, context, orphan.consumer)
        # Records and traits are asked after placement: whoever came meanwhile changed the
        # consumer's generation.
        now = self._auditor.judged_again(orphan, body)
        if now is None or not now.deletable(named):
            return now
        if self._open is None:
            self._open = self._stack.enter_context(Journal(self.journal))
        self._open.note(orphan.consumer, orphan.provider, body)
        write_consumer(self._client, context, orphan.consumer, body, without(body, orphan.provider))
        return now
