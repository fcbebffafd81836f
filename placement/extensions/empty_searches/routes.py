"""Where empty searches are listed (extensions.md 13)."""

from placement.http.environ import PREFIX
from placement.routes import get

ROUTES = {
    f"{PREFIX}/empty_searches": (get("empty_searches.list_all", offer="empty_searches"),),
}
