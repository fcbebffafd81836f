"""The metrics that every worker counts: names, labels, buckets (extensions.md 8).

The values of every label are known before the first request. So the number of series is bounded,
and each has a fixed place in memory.
"""

import dataclasses
import enum
from collections.abc import Iterable, Iterator

#: stands for every value of a label that isn't listed
OTHER = "other"
#: the route of a request that no endpoint answered
UNMATCHED = "unmatched"

METHODS = ("GET", "PUT", "POST", "DELETE", "HEAD", "OPTIONS", "PATCH")
STATUSES = tuple(
    str(status)
    for status in (
        *(200, 201, 204, 304, 308, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 431),
        *(500, 501, 503, 507),
    )
)
#: seconds of a request
REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
#: seconds of a search, and of bringing a snapshot up to date
SEARCH_BUCKETS = (0.0005, *REQUEST_BUCKETS)
#: candidates of a search
RETURNED_BUCKETS = (0, 1, 10, 100, 1_000, 10_000)
#: states of a connection to the database
IN_USE, IDLE = "in_use", "idle"
#: why a search found nothing: a group that no provider can serve; groups that can't be together
OF_GROUP, TOGETHER = "group", "together"
#: why a process loads the whole cloud: at first, and as the change feed, deletions, failures and
#: audits demand it
LOAD_CAUSES = (
    *("first_use", "fell_off_the_feed", "many_deletions"),
    *("failure", "audit", "audit_failed"),
)
#: results of an audit of the snapshot
SAME, DIFFERENT, FAILED, PUT_OFF = "same", "different", "failed", "put_off"


class FamilyKind(enum.Enum):
    """What a family of metrics is."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclasses.dataclass(frozen=True)
class Family:
    """A family of metrics.

    :param name: without the suffix `_total` of counters
    :param labels: names and values; `other` is added to the values of each
    :param buckets: upper bounds, for a histogram
    :param greatest: whether a gauge of all workers is the greatest of theirs; otherwise the sum
    """

    name: str
    kind: FamilyKind
    text: str
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    buckets: tuple[float, ...] = ()
    greatest: bool = False

    @property
    def width(self) -> int:
        """Return how many numbers a series has: for a histogram, buckets, `+Inf` and the sum."""
        return len(self.buckets) + 2 if self.kind is FamilyKind.HISTOGRAM else 1


@dataclasses.dataclass(frozen=True)
class Families:
    """The families, each under the name that the code uses."""

    requests: Family
    request_seconds: Family
    requests_in_progress: Family
    statements: Family
    retries: Family
    connections: Family
    conflicts: Family
    search_seconds: Family
    returned: Family
    empty: Family
    snapshot_providers: Family
    snapshot_bytes: Family
    snapshot_loads: Family
    refresh_seconds: Family
    audits: Family

    def __iter__(self) -> Iterator[Family]:
        return iter([getattr(self, field.name) for field in dataclasses.fields(self)])


def families(routes: Iterable[str], conflicts: Iterable[str], retries: Iterable[str]) -> Families:
    """Return the families.

    :param routes: the templates of the paths of all endpoints; a request gets its own from
        `placement.http.dispatch`
    :param conflicts: the codes of errors with status 409
    :param retries: the causes for which a transaction is run again
    """
    method = ("method", METHODS)
    route = ("route", (UNMATCHED, *routes))
    counter, gauge, histogram = FamilyKind.COUNTER, FamilyKind.GAUGE, FamilyKind.HISTOGRAM
    return Families(
        Family(
            "placement_http_requests",
            counter,
            "Requests that were answered.",
            (method, route, ("status", STATUSES)),
        ),
        Family(
            "placement_http_request_duration_seconds",
            histogram,
            "Time until the answer began.",
            (method, route),
            REQUEST_BUCKETS,
        ),
        Family("placement_http_requests_in_progress", gauge, "Requests that are being answered."),
        Family("placement_db_statements", counter, "SQL statements sent."),
        Family(
            "placement_db_retries",
            counter,
            "Transactions that were run again.",
            (("cause", tuple(retries)),),
        ),
        Family(
            "placement_db_pool_connections",
            gauge,
            "Connections to the database.",
            (("state", (IN_USE, IDLE)),),
        ),
        Family(
            "placement_conflicts",
            counter,
            "Answers with status 409, by the code of the error.",
            (("code", tuple(conflicts)),),
        ),
        Family(
            "placement_candidates_search_duration_seconds",
            histogram,
            "Time of searches for allocation candidates, without rendering the answer.",
            (),
            SEARCH_BUCKETS,
        ),
        Family(
            "placement_candidates_returned",
            histogram,
            "Candidates that searches found.",
            (),
            RETURNED_BUCKETS,
        ),
        Family(
            "placement_candidates_empty",
            counter,
            "Searches that found nothing.",
            (("reason", (OF_GROUP, TOGETHER)),),
        ),
        Family(
            "placement_snapshot_providers",
            gauge,
            "Providers in the snapshot of the worker that has most.",
            greatest=True,
        ),
        Family("placement_snapshot_bytes", gauge, "About how much memory all snapshots take."),
        Family(
            "placement_snapshot_loads",
            counter,
            "Snapshots that were loaded as a whole.",
            (("cause", LOAD_CAUSES),),
        ),
        Family(
            "placement_snapshot_refresh_duration_seconds",
            histogram,
            "Time in which snapshots were brought up to date or loaded.",
            (),
            SEARCH_BUCKETS,
        ),
        Family(
            "placement_snapshot_audits",
            counter,
            "Comparisons of snapshots with the tables.",
            (("result", (SAME, DIFFERENT, FAILED, PUT_OFF)),),
        ),
    )
