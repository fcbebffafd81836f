"""Where extensions are listed (extensions.md 1)."""

from placement.http.extensions import PREFIX
from placement.routes import get

ROUTES = {
    PREFIX: (get("discovery.discover"),),
}
