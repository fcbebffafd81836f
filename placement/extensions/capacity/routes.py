"""Where capacity is counted (extensions.md 6)."""

from placement.http.environ import PREFIX
from placement.routes import get, post

#: the query is that of GET /allocation_candidates, which is as old
ROUTES = {
    f"{PREFIX}/capacity": (
        get("capacity.show", (1, 10), offer="capacity"),
        post("capacity.query", (1, 10), answers=True, offer="capacity"),
    ),
}
