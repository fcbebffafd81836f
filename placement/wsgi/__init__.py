"""Entry points for WSGI servers (rest-api.md 7.5)."""

from typing import TYPE_CHECKING

from placement.wsgi.collection import paused

if TYPE_CHECKING:
    from placement.http.environ import WSGIApplication


def init_application() -> "WSGIApplication":
    """Read the configuration, set up logging, and return the service.

    Raises SharedEnvironment if another distribution has files among ours.
    """
    with paused():
        # imported here, as most of a start is imports
        from placement.wsgi import loading

        return loading.configured()
