"""/berth/v1/suspects: what may be wrong (extensions.md 12)."""

from placement.errors import BadQueryValue
from placement.extensions.suspects import schema as schemas
from placement.extensions.suspects.found_suspects import Suspect
from placement.extensions.suspects.rules import KINDS, SuspectMark
from placement.http.call import NOW, Answer, Call
from placement.schemas.json_schema import Json


def list_all(call: Call) -> Answer:
    """GET /berth/v1/suspects"""
    call.authorize("berth:suspects")
    query = call.query(schemas.LIST)
    query.refuse_repeated(schemas.OWN)
    kind, marker = query.get("kind"), query.get("marker")
    after = None if marker is None else _parsed(marker, kind)
    limit = min(int(query.get("limit") or schemas.LIMIT), schemas.MOST)
    page = call.suspects.suspected(KINDS if kind is None else (kind,), after, limit)
    body: Json = {
        "suspects": [_shown(suspect) for suspect in page.suspects],
        "kinds": page.counts,
    }
    if page.marker is not None:
        body["marker"] = str(page.marker)
    return call.reply(body, modified=NOW)


def _parsed(text: str, kind: str | None) -> SuspectMark:
    """Return the mark. Raises BadQueryValue if it is none, or of a list with another kind."""
    try:
        mark = SuspectMark.parsed(text)
        if kind is not None and KINDS[mark.rank] != kind:
            raise ValueError(f"this marker is of a list with {KINDS[mark.rank]}")
    except ValueError as unknown:
        raise BadQueryValue(f"Invalid query string parameters: marker: {unknown}") from unknown
    return mark


def _shown(suspect: Suspect) -> Json:
    provider = suspect.provider
    return {
        "kind": suspect.kind,
        "provider": None if provider is None else {"uuid": provider[0], "name": provider[1]},
        "consumer": suspect.consumer,
        "resource_class": suspect.resource_class,
        "detail": suspect.detail,
        "first_seen": f"{suspect.first_seen.isoformat(timespec='seconds')}Z",
    }
