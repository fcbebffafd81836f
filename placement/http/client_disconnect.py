"""Find out whether the client of a request is still connected."""

import select
from typing import Any

from placement.http.environ import Environ

#: poll events of a connection that the client has closed; POLLRDHUP exists on Linux only
_LEFT = select.POLLHUP | select.POLLERR | select.POLLNVAL | getattr(select, "POLLRDHUP", 0)


def client_left(environ: Environ) -> bool:
    """Return whether the client has closed its connection.

    waitress has a function that tells this, and gunicorn passes the socket. Under any other server
    the result is always False. Nothing is read from the connection. A client that closes only the
    sending half of its connection counts as gone, as it does for most servers and proxies.
    """
    told = environ.get("waitress.client_disconnected")
    if told is not None:
        return bool(told())
    connection = environ.get("gunicorn.socket")
    return connection is not None and _is_closed(connection)


def _is_closed(connection: Any) -> bool:
    try:
        descriptor = connection.fileno()
        if descriptor < 0:
            return True
        poll = select.poll()
        poll.register(descriptor, getattr(select, "POLLRDHUP", 0))
        return any(events & _LEFT for _, events in poll.poll(0))
    except OSError:
        return True
