"""Pages for Prometheus, for callers with a token; they have neither JSON nor microversions."""

from placement.routes import Endpoint

ROUTES = {
    "/metrics": (Endpoint("GET", "metrics.show"),),
    "/metrics/providers": (Endpoint("GET", "metrics.show_providers"),),
}
