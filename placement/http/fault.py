"""Unexpected errors: logged with their traceback, told without it (rest-api.md 1.12)."""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from placement.errors import PlacementError
from placement.http.environ import Environ, WSGIApplication
from placement.http.error_body import answer

LOG = logging.getLogger(__name__)


class FaultWrapper:
    """Answers 500 for whatever the application doesn't answer itself."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        try:
            return self.application(environ, start_response)
        except Exception as error:
            LOG.exception("Placement API unexpected error: %s", error)
            return answer(environ, PlacementError(str(error)))(environ, start_response)
