"""Where plans are made (extensions.rst)."""

from placement.http.environ import PREFIX
from placement.routes import post

#: the query is that of GET /allocation_candidates, which is as old
ROUTES = {f"{PREFIX}/plans/room": (post("plans.room", (1, 10), answers=True, offer="plans"),)}
