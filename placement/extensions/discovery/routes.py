"""Where extensions are listed (extensions.md 1)."""

from placement.http.environ import PREFIX
from placement.routes import get

ROUTES = {
    PREFIX: (get("discovery.discover"),),
}
