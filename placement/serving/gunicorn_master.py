"""The master process of gunicorn, with our settings: it starts the workers of `placement-api`."""

from collections.abc import Callable, Mapping
from typing import Any

from gunicorn.app.base import BaseApplication

from placement.http.environ import WSGIApplication


class GunicornServer(BaseApplication):
    """gunicorn with the settings of our command line instead of gunicorn's.

    The attributes are read by the workers (placement.serving.worker).

    :param settings: gunicorn's settings; those that its version doesn't have are left out
    :param reload: called at a reload, before the workers are replaced
    :param load: returns the application for one worker
    :param client_timeout: seconds
    :param longest_body: returns the maximum bytes of a request's body that a worker reads: one byte
        more than the application accepts, so that the application can see that a body is too long.
        A reload may change it
    :param most_held: bytes
    :param measured: wraps the application that answers rejected requests, after `load`
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        reload: Callable[[], None],
        load: Callable[[], WSGIApplication],
        client_timeout: float,
        longest_body: Callable[[], int],
        most_held: int,
        measured: Callable[[WSGIApplication], WSGIApplication] = lambda application: application,
    ) -> None:
        self.client_timeout = client_timeout
        self.most_held = most_held
        self.measured = measured
        self._settings = settings
        self._reload = reload
        self._load = load
        self._longest_body = longest_body
        super().__init__()

    @property
    def longest_body(self) -> int:
        """Maximum bytes of a request's body that a worker reads."""
        return self._longest_body()

    def load_config(self) -> None:
        for name, value in self._settings.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def reload(self) -> None:
        """Reload the configuration; gunicorn calls this in the master process."""
        self._reload()
        super().reload()

    def load(self) -> WSGIApplication:
        """Return the application for one worker."""
        return self._load()
