"""Where changes are read (extensions.md 7)."""

from placement.http.environ import PREFIX
from placement.routes import get

ROUTES = {
    f"{PREFIX}/changes": (get("changes.list_all", offer="changes"),),
}
