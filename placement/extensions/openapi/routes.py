"""Where the API describes itself (extensions.md 11)."""

from placement.http.environ import PREFIX, YAML
from placement.routes import Endpoint

#: the path says the form, so Accept doesn't matter
ROUTES = {
    f"{PREFIX}/openapi.json": (Endpoint("GET", "openapi.show_json", offer="openapi"),),
    f"{PREFIX}/openapi.yaml": (
        Endpoint("GET", "openapi.show_yaml", forms=(YAML,), offer="openapi"),
    ),
}
