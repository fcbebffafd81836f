"""Where whole trees are read (extensions.md 2)."""

from placement.http.environ import JSON, NDJSON, PREFIX
from placement.routes import get

ROUTES = {
    f"{PREFIX}/provider_trees": (
        get("provider_trees.list_all", forms=(JSON, NDJSON), offer="provider_trees"),
    ),
}
