"""What placement suspects to be wrong (extensions.md 12). OpenStack Placement has no such list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.report.wire.failures import Refusal

OFFER = "suspects"
#: how many are read at most
MOST = 1000


@dataclass(frozen=True)
class ToldSuspects:
    """The suspects of one answer, as placement tells them.

    :param kinds: how many there are of each kind
    :param is_whole: whether `rows` has all of them
    """

    rows: list[dict[str, Any]]
    kinds: Mapping[str, int]
    is_whole: bool


def suspects(client: SchedulerReportClient, context: RequestContext) -> ToldSuspects | None:
    """Ask placement for its suspects; None if it has no such list, or not for us.

    Raises Refusal if placement answers with an error, and ClientException if it is unreachable.
    """
    response = client.extensions.get(context, OFFER, f"/suspects?limit={MOST}")
    if response is None:
        return None
    if response.status_code != 200:
        raise Refusal(response)
    body = response.json()
    return ToldSuspects(body["suspects"], body["kinds"], "marker" not in body)
