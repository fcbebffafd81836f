"""Answering: requests for the application, and those that never reach it."""

from collections.abc import Callable, Iterable
from typing import Any

from waitress.task import WSGITask

from placement.errors import (
    HeadersTooLong,
    PlacementError,
    ServerBusy,
    TransferNotImplemented,
    UnreadableRequest,
)
from placement.http import error_body
from placement.http.environ import Environ, WSGIApplication
from placement.http.request_log import RequestLog

#: by waitress's status, what a request that can't be read is told
_UNREADABLE: dict[int, type[PlacementError]] = {431: HeadersTooLong, 501: TransferNotImplemented}
#: the key of the error in the environment of a request that the server itself refuses
REFUSAL = "berth.refusal"


class Task(WSGITask):
    """One request, answered by the application on a thread."""

    def get_environment(self) -> Environ:
        """As waitress, but the path is the client's: several leading slashes aren't one."""
        environ: Environ = super().get_environment()
        environ["PATH_INFO"] = self.request.path
        environ["SERVER_SOFTWARE"] = "placement-api"
        # a connection takes bytes and nothing else
        del environ["wsgi.file_wrapper"]
        return environ

    def execute(self) -> None:
        """Answer; the last answer of a connection says that it is."""
        if self.request.too_long or self.channel.server.stopping:
            self.set_close_on_finish()
        super().execute()


class RefusalTask(WSGITask):
    """Tells the client why its request isn't passed on, and ends the connection."""

    def get_environment(self) -> Environ:
        """A request without headers: those that came may be half read."""
        request = self.request
        request.headers = {}
        environ: Environ = super().get_environment()
        environ[REFUSAL] = _refusal(request.error)
        return environ

    def execute(self) -> None:
        """Answer."""
        self.set_close_on_finish()
        super().execute()


class Busy:
    """In the place of a parser's error: too many requests wait for a thread."""

    code = 503
    body = ""


class Refusing:
    """The application, beside the answers to requests that the server itself refuses."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application
        self.refused: WSGIApplication = RequestLog(_refuse, cost_line=False)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        chosen = self.refused if REFUSAL in environ else self.application
        return chosen(environ, start_response)


def _refuse(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
    return error_body.answer(environ, environ[REFUSAL])(environ, start_response)


def _refusal(error: Any) -> PlacementError:
    if isinstance(error, Busy):
        return ServerBusy()
    kind = _UNREADABLE.get(error.code, UnreadableRequest)
    return kind(why=error.body)
