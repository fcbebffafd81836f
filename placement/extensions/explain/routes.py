"""Where searches are explained (extensions.md 5)."""

from placement.http.environ import PREFIX
from placement.routes import get, post

#: the query is that of GET /allocation_candidates, which is as old
ROUTES = {
    f"{PREFIX}/allocation_candidates/explain": (
        get("explain.show", (1, 10), offer="explain"),
        post("explain.query", (1, 10), answers=True, offer="explain"),
    ),
}
