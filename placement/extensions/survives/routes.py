"""Where the loss of hosts is judged (extensions.rst)."""

from placement.http.environ import PREFIX
from placement.routes import post

#: the queries are those of GET /allocation_candidates, which is as old
ROUTES = {
    f"{PREFIX}/plans/survives": (post("survives.judge", (1, 10), answers=True, offer="plans"),),
}
