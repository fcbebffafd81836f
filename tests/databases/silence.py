"""A proxy between a service and its database, which can stop answering without closing."""

import contextlib
import socket
import threading
from collections.abc import Iterator


class Between:
    """Passes data between service and server, unless told to be silent.

    :param socket_path: the socket of the server
    """

    def __init__(self, socket_path: str) -> None:
        self._server = socket_path
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._speaks = threading.Event()
        self._speaks.set()
        self._sockets: list[socket.socket] = []
        #: kept open, so that the clients aren't told
        self._dead: list[socket.socket] = []
        #: guards what follows: a connection of the silent time may be made when all is closed
        self._closing = threading.Lock()
        self._is_closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """Accept connections in this block, but answer nothing, neither on them nor on old ones.

        The connections stay dead after the block.
        """
        self._speaks.clear()
        old = list(self._sockets)
        try:
            yield
        finally:
            # a client that waits on an old connection never gets a response
            for each in old:
                self._sockets.remove(each)
            self._dead += old
            self._speaks.set()

    def close(self) -> None:
        with self._closing:
            self._is_closed = True
        self._speaks.set()
        for each in [self._listener, *self._sockets, *self._dead]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                self._sockets.append(client)
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        self._speaks.wait()
        server = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError):
            with self._closing:
                if self._is_closed:
                    server.close()
                    return
                server.connect(self._server)
                self._sockets.append(server)
            threading.Thread(target=self._pass, args=(client, server), daemon=True).start()
            self._pass(server, client)

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if source not in self._sockets or not self._speaks.is_set():
                    return
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def between(url: str) -> Iterator[tuple[Between, str]]:
    """Yield a proxy for a private server, and the URL of the same database through it."""
    kind, _, rest = url.partition("://")
    account, _, name = rest.partition("?")[0].partition("/")
    folder = url.partition("host=")[2].partition("&")[0]
    path = f"{folder}/.s.PGSQL.5432"
    if kind.startswith("mysql"):
        path = url.partition("unix_socket=")[2].partition("&")[0]
    found = Between(path)
    try:
        user = account.partition("@")[0]
        yield found, f"{kind}://{user}@127.0.0.1:{found.port}/{name}"
    finally:
        found.close()
