"""Where the allocations of many consumers are read (extensions.md 2)."""

from placement.http.environ import PREFIX
from placement.routes import post

ROUTES = {
    f"{PREFIX}/allocations/query": (
        post("allocations_query.query", answers=True, offer="allocations.query"),
    ),
}
