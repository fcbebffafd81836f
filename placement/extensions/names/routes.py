"""Where the operator's names are (extensions.md 14)."""

from placement.http.environ import PREFIX
from placement.routes import get

ROUTES = {
    f"{PREFIX}/names": (get("names.show", offer="names"),),
}
