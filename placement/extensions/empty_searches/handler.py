"""/berth/v1/empty_searches: the searches of the last hour that found nothing (extensions.md 13)."""

import datetime

from placement.http.call import NOW, Answer, Call
from placement.metrics.empty_hour import MINUTES, EmptySearch
from placement.schemas.json_schema import Json


def list_all(call: Call) -> Answer:
    """GET /berth/v1/empty_searches"""
    call.authorize("berth:empty_searches")
    hour = call.empty_hour()
    body: Json = {
        "minutes": MINUTES,
        "searches": None if hour is None else hour.searches,
        "queries": [] if hour is None else [_shown(*entry) for entry in hour.queries],
    }
    return call.reply(body, modified=NOW)


def _shown(query: str, search: EmptySearch) -> Json:
    last = datetime.datetime.fromtimestamp(60 * search.last, datetime.UTC)
    return {
        "query": query,
        "searches": search.minutes.total(),
        "reason": search.reason,
        "last": f"{last:%Y-%m-%dT%H:%MZ}",
    }
