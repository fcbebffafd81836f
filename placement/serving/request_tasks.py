"""Tasks for threads: requests for the application, and requests that the server rejects."""

from collections.abc import Callable, Iterable
from typing import Any

from waitress.task import WSGITask

from placement.errors import (
    HeadersTooLong,
    NoRoomForBody,
    PlacementError,
    ServerBusy,
    TransferNotImplemented,
    UnreadableRequest,
)
from placement.http import error_body
from placement.http.environ import (
    STAND_IN,
    STOPPING,
    THREADS,
    Environ,
    StartResponse,
    WSGIApplication,
)
from placement.http.request_log import RequestLog

#: errors for requests that can't be read, by waitress's status; UnreadableRequest for others
_UNREADABLE: dict[int, type[PlacementError]] = {
    431: HeadersTooLong,
    501: TransferNotImplemented,
    507: NoRoomForBody,
}
#: bytes of a body up to which its head is copied before it
TOGETHER = 64 * 1024
#: key of the error in the WSGI environment of a request that the server itself rejects
REFUSAL = "berth.refusal"


class SendingTask(WSGITask):
    """One request, whose answer's head is sent together with a short beginning of the body."""

    def write(self, data: bytes) -> None:
        """Send a part of the body, and the head before the first one."""
        if self.wrote_header or len(data) > TOGETHER:
            super().write(data)
        else:
            self.channel.send_together(lambda: super(SendingTask, self).write(data))


class Task(SendingTask):
    """One request, which the application answers on a thread."""

    def get_environment(self) -> Environ:
        """Return waitress's environment, but with the client's path: keep all leading slashes."""
        environ: Environ = super().get_environment()
        environ["PATH_INFO"] = self.request.path
        environ["SERVER_SOFTWARE"] = "placement-api"
        server = self.channel.server
        # a thread whose request waits has another one stand in for it
        environ["wsgi.multithread"] = True
        environ[STAND_IN] = server.stand_in
        environ[THREADS] = server.threads
        environ[STOPPING] = lambda: server.stopping
        # `Connection.write_soon` accepts bytes only
        del environ["wsgi.file_wrapper"]
        return environ

    def execute(self) -> None:
        """Send the response; close the connection after it if its body wasn't read or at a stop."""
        if self.request.too_long or self.channel.server.stopping:
            self.set_close_on_finish()
        super().execute()


class RefusalTask(SendingTask):
    """A rejected request: sends the error, then closes the connection."""

    def get_environment(self) -> Environ:
        """Return an environment without the request's headers, which may be incomplete."""
        request = self.request
        request.headers = {}
        environ: Environ = super().get_environment()
        environ[REFUSAL] = _refusal(request.error)
        return environ

    def execute(self) -> None:
        """Send the error."""
        self.set_close_on_finish()
        super().execute()


class Busy:
    """Used like an error of the parser: too many requests wait for a thread."""

    code = 503
    body = ""


class Refusing:
    """WSGI application that returns errors for rejected requests and passes on all others.

    :param measured: wraps the application that returns these errors
    """

    def __init__(
        self,
        application: WSGIApplication,
        measured: Callable[[WSGIApplication], WSGIApplication] = lambda application: application,
    ) -> None:
        self.application = application
        self.refused = measured(RequestLog(_refuse, cost_line=False))

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        chosen = self.refused if REFUSAL in environ else self.application
        return chosen(environ, start_response)


def _refuse(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    return error_body.answer(environ, environ[REFUSAL])(environ, start_response)


def _refusal(error: Any) -> PlacementError:
    if isinstance(error, Busy):
        return ServerBusy()
    kind = _UNREADABLE.get(error.code, UnreadableRequest)
    return kind(why=error.body)
