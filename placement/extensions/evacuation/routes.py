"""Where evacuations are tried (extensions.md 6)."""

from placement.http.environ import PREFIX
from placement.routes import post

ROUTES = {
    f"{PREFIX}/capacity/evacuate": (post("evacuation.evacuate", answers=True, offer="capacity"),),
}
