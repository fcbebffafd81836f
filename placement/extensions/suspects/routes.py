"""Where suspects are listed (extensions.md 12)."""

from placement.http.environ import PREFIX
from placement.routes import get

ROUTES = {
    f"{PREFIX}/suspects": (get("suspects.list_all", offer="suspects"),),
}
