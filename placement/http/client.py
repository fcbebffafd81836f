"""The client at the other end of a request."""

import select
from typing import Any

from placement.http.environ import Environ

#: what a poll says once the other side has closed; not every system can tell
_LEFT = select.POLLHUP | select.POLLERR | select.POLLNVAL | getattr(select, "POLLRDHUP", 0)


def client_left(environ: Environ) -> bool:
    """Whether the client has closed its connection, as far as the server lets us know.

    waitress tells it and gunicorn hands over the connection; of a client of any other server it is
    never said. Nothing is read from the connection. Who closes only the sending half of a
    connection has left as well, as it has for most servers and proxies.
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
