"""What searches, claims, lists and metrics need, imported by the first of them in a process."""

import dataclasses
import functools
import time
from collections.abc import Mapping

from oslo_config import cfg

from placement.candidates.budget import Budget
from placement.candidates.live.foreign_writers import OthersInFeed, OtherWriters
from placement.candidates.live.live_snapshot import LiveSnapshot, Preloaded
from placement.extensions.claims.claim_lines import ClaimLines
from placement.extensions.discovery.handler import REFERENCE
from placement.extensions.monitoring.cloud import CloudMetrics
from placement.extensions.monitoring.counted import Counted
from placement.extensions.monitoring.counting import Counting
from placement.extensions.monitoring.page import Build, page
from placement.extensions.monitoring.providers import ProviderPage
from placement.extensions.monitoring.survivable import Survivable
from placement.extensions.monitoring.suspected import Suspected
from placement.extensions.plans.terms import GUEST_TYPES, Movable, Terms
from placement.extensions.survives.operation import Question, survives
from placement.extensions.suspects.operation import Suspects
from placement.extensions.what_if.changed_cloud import WhatIf
from placement.http.environ import WSGIApplication
from placement.installation import our_version
from placement.metrics.tally import Tally
from placement.operations.database_lists import DatabaseLists
from placement.operations.provider_lists import ProviderLists
from placement.storage.database.engine import Database


@dataclasses.dataclass(frozen=True)
class SearchParts:
    """The parts, of which a process has one each.

    :param pages: the pages of metrics, by path
    """

    snapshot: LiveSnapshot
    claims: ClaimLines
    lists: ProviderLists
    suspects: Suspects
    pages: Mapping[str, WSGIApplication]


def made(
    conf: cfg.ConfigOpts,
    database: Database,
    others: OtherWriters,
    others_in_feed: OthersInFeed,
    asked: DatabaseLists,
    tally: Tally,
    counting: Counting | None,
    preloaded: Preloaded | None = None,
) -> SearchParts:
    """Make the parts of a service; see `placement.app.start`."""
    interval = conf.berth.snapshot_audit_interval
    snapshot = LiveSnapshot(database, interval, others, tally=tally, preloaded=preloaded)
    suspects = Suspects.configured(conf, database, snapshot.current)
    pages = {} if counting is None else pages_of(conf, counting, database, snapshot, suspects)
    lists = ProviderLists(database, others_in_feed, asked, snapshot)
    return SearchParts(snapshot, ClaimLines(), lists, suspects, pages)


def pages_of(
    conf: cfg.ConfigOpts,
    counting: Counting,
    database: Database,
    snapshot: LiveSnapshot,
    suspects: Suspects,
) -> dict[str, WSGIApplication]:
    """Return the pages of metrics, by path: those of the feature `monitoring`."""
    cloud = CloudMetrics(database, snapshot.current)
    counted = Counted(counting.meter, counting.slots, counting.of_process)
    judged = functools.partial(losses, conf, snapshot)
    survivable = Survivable(judged, counting.slots, conf.berth.survives_interval)
    build = Build(our_version(), REFERENCE, database.engine.dialect.name)
    return {
        "/metrics": page([build, cloud, Suspected(suspects.counts), survivable, counted]),
        "/metrics/providers": ProviderPage(database, snapshot.current),
    }


def losses(conf: cfg.ConfigOpts, snapshot: LiveSnapshot, by: str) -> dict[str, int]:
    """Return how many losses have each verdict: of hosts (`root`), or of aggregates."""
    group = conf.berth

    def budget() -> Budget:
        size = group.search_memory_limit * 1024 * 1024 or None
        return Budget(group.search_time_limit or None, size, clock=time.thread_time)

    as_it_is, terms = WhatIf(snapshot, {}), Terms(Movable(GUEST_TYPES))
    found = survives(lambda uuids: {}, as_it_is, Question(by, terms=terms, limit=1), budget)
    unseen = found.of - found.sets
    return {
        "absorbed": found.absorbed,
        "impossible": found.impossible,
        "unknown": found.unknown + unseen,
    }
