"""Where a whole tree is written (extensions.md 3)."""

from placement.http.environ import PREFIX
from placement.routes import put

ROUTES = {
    f"{PREFIX}/provider_trees/<root_uuid>": (
        put("provider_tree_changes.change", offer="provider_trees"),
    ),
}
