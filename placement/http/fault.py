"""Unexpected errors: the log gets the traceback, the client the message (rest-api.md 1.12).

The message of a database error quotes the statement and its values, so the client gets a fixed text
instead.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from placement.errors import PlacementError
from placement.http.environ import Environ, WSGIApplication
from placement.http.error_body import answer
from placement.storage.driver.error_log import log_unexpected, quotes_database

LOG = logging.getLogger(__name__)
DATABASE_FAILED = (
    "The database refused a statement of the service; its log says which error it was."
)


class FaultWrapper:
    """Middleware that turns an unexpected exception into a response with status 500."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        try:
            return self.application(environ, start_response)
        except Exception as error:
            log_unexpected(LOG, "Placement API unexpected error", error)
            told = DATABASE_FAILED if quotes_database(error) else str(error)
            return answer(environ, PlacementError(told))(environ, start_response)
