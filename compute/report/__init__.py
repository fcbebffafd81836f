"""The report client: what the compute side tells placement, and learns from it.

The names are those of nova's module `nova.scheduler.client.report`.

Read `client` first: each of its methods is one call of a part. The parts are in `trees`
(providers), `consumers` (allocations, candidates, usages) and `deletion` (a node's whole tree);
`wire` sends their requests.
"""

from compute.report.client import SchedulerReportClient, report_client_singleton
from compute.report.consumers.allocations import ProviderAllocInfo
from compute.report.trees.providers import AggInfo, TraitInfo
from compute.report.wire.transport import Retry, retries
from compute.report.wire.unreachable import safe_connect

__all__ = [
    "AggInfo",
    "ProviderAllocInfo",
    "Retry",
    "SchedulerReportClient",
    "TraitInfo",
    "report_client_singleton",
    "retries",
    "safe_connect",
]
