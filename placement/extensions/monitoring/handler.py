"""/metrics and /metrics/providers for callers with a token (extensions.md 8)."""

from placement.http.call import Answer, Call
from placement.http.environ import ExcInfo, Headers, WriteBody


def show(call: Call) -> Answer:
    """GET /metrics"""
    return _page(call, "/metrics")


def show_providers(call: Call) -> Answer:
    """GET /metrics/providers"""
    return _page(call, "/metrics/providers")


def _page(call: Call, path: str) -> Answer:
    call.authorize("berth:metrics")
    begun = Answer("", [], has_length=True)

    def begin(status: str, headers: Headers, exc_info: ExcInfo = None) -> WriteBody:
        begun.status, begun.headers = status, headers
        return lambda piece: None

    begun.body = call.pages[path](call.environ, begin)
    return begun
