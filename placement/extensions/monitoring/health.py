"""Whether this process can serve requests now: the readiness of a node (extensions.md 8).

Requests note when the database last answered. If that was some time ago, the database is asked on a
thread of its own, and the report waits for the answer for a bounded time.
"""

import dataclasses
import datetime
from collections.abc import Callable
from typing import Protocol

from placement.extensions.monitoring.aside import Aside, Attempt
from placement.storage.database.engine import Database
from placement.storage.schema import schema_upgrade

PASS, WARN, FAIL = "pass", "warn", "fail"
#: seconds for which the last answer of the database counts
FRESH = 5.0
#: seconds after the last answer for which an unanswered question is a warning only
DOUBTFUL = 30.0
#: seconds that a report waits for the database
PATIENCE = 1.0


class SnapshotState(Protocol):
    """What a report needs to know of the snapshot."""

    @property
    def is_distrusted(self) -> bool:
        """Whether the next search must load everything anew."""

    def age(self) -> float | None:
        """Return the seconds since it was last as new as the database; None: not loaded yet."""


@dataclasses.dataclass(frozen=True)
class Check:
    """The result of one check.

    :param value: the observed value, if there is one
    :param unit: its unit
    :param output: why the status isn't `pass`, without anything that must stay secret
    """

    status: str
    value: float | str | None = None
    unit: str | None = None
    output: str | None = None

    def as_json(self, component: str, moment: str) -> dict[str, object]:
        """Return the check in the form of `application/health+json`."""
        shown = {"componentType": component, "status": self.status, "time": moment}
        named = {"observedValue": self.value, "observedUnit": self.unit, "output": self.output}
        return shown | {name: value for name, value in named.items() if value is not None}


class Health:
    """Reports the health of a process.

    :param cloud: the snapshot of the cloud
    :param ask: asks the database for the schema's revision, None without a schema; raises an error
        if the database can't be used
    :param patience: seconds that a report waits for an answer at most
    """

    def __init__(
        self,
        database: Database,
        cloud: SnapshotState,
        ask: Callable[[Database], str | None] = schema_upgrade.answering_version,
        patience: float = PATIENCE,
    ) -> None:
        self._database, self._cloud, self._patience = database, cloud, patience
        self._question = Aside(lambda: ask(database))
        #: whether the schema was there when the database was last asked
        self._has_schema = True

    def report(self) -> tuple[str, dict[str, Check]]:
        """Return the status of all, and the checks by name. Takes at most `patience` seconds."""
        checks = {
            "database": self._check_database(self._asked()),
            "schema": self._check_schema(),
            "snapshot": self._check_snapshot(),
        }
        found = {check.status for check in checks.values()}
        return next(status for status in (FAIL, WARN, PASS) if status in found), checks

    def _asked(self) -> Attempt[str | None] | None:
        """Ask the database unless it answered a moment ago, and nothing was wrong."""
        is_fresh = self._database.seconds_since_answer() <= FRESH
        if is_fresh and self._database.is_prepared and self._has_schema:
            return None
        question = self._question.attempt(self._patience)
        if question.value is not None:
            self._has_schema = question.value[0] is not None
        return question

    def _check_database(self, question: Attempt[str | None] | None) -> Check:
        silence = self._database.seconds_since_answer()
        age = None if silence == float("inf") else round(silence, 3)
        if question is not None and question.failed:
            return Check(FAIL, age, "s", "The database can't be used; the log says why.")
        if silence <= FRESH or (question is not None and question.is_done):
            return Check(PASS, age, "s")
        status = WARN if silence <= DOUBTFUL else FAIL
        return Check(status, age, "s", "The database doesn't answer.")

    def _check_schema(self) -> Check:
        if not self._database.is_prepared:
            why = "The schema hasn't been checked yet, as the database is missing."
            return Check(FAIL, output=why)
        if not self._has_schema:
            return Check(FAIL, output="The database has no schema of this service.")
        return Check(PASS)

    def _check_snapshot(self) -> Check:
        age = self._cloud.age()
        if age is None:
            return Check(PASS, "not loaded")
        if self._cloud.is_distrusted:
            return Check(WARN, round(age, 3), "s", "The next search loads it anew.")
        return Check(PASS, round(age, 3), "s")


def document(status: str, checks: dict[str, Check], version: str) -> dict[str, object]:
    """Return the body of a report as `application/health+json`."""
    moment = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    kinds = {"database": "datastore", "schema": "datastore", "snapshot": "component"}
    return {
        "status": status,
        "version": "1",
        "releaseId": version,
        "serviceId": "placement",
        "checks": {name: [check.as_json(kinds[name], moment)] for name, check in checks.items()},
    }
