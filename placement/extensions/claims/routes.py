"""Where claims are made (extensions.md 4)."""

from placement.http.environ import PREFIX
from placement.routes import post

#: the query is that of GET /allocation_candidates, which is as old
ROUTES = {
    f"{PREFIX}/claims": (post("claims.create", (1, 10), answers=True, offer="claims"),),
}
