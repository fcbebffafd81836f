"""The parser of requests: waitress's, with limits and further checks."""

from typing import Any

from waitress.parser import HTTPRequestParser, ParsingError
from waitress.utilities import BadRequest, RequestEntityTooLarge

#: maximum bytes of a chunk's size and extensions, and of all trailers together
LONGEST_CHUNK_LINE = 8_192
#: maximum bytes of a request's line and headers; the query of a search may name many aggregates
LONGEST_HEAD = 64 * 1024
#: the first byte of a TLS handshake
_TLS_HANDSHAKE = b"\x16"


class BodyWithoutRoom:
    """Like an error of waitress's: there is no room for the body."""

    code = 507

    def __init__(self, failed: OSError) -> None:
        self.body = failed.strerror or str(failed)


class Body:
    """The buffer of a body, a long one in a temporary file; without room, it forgets what comes.

    The body is read to its end all the same: a client that is still sending may not see an answer.

    :ivar no_room: why there is none
    """

    def __init__(self, buffer: Any) -> None:
        self._buffer = buffer
        self._length = 0
        self.no_room: BodyWithoutRoom | None = None
        self.getfile, self.close = buffer.getfile, buffer.close

    def append(self, data: bytes) -> None:
        """Keep data from the client."""
        self._length += len(data)
        if self.no_room is None:
            try:
                self._buffer.append(data)
            except OSError as failed:
                self.no_room = BodyWithoutRoom(failed)

    def __len__(self) -> int:
        return self._length


class BoundedRequestParser(HTTPRequestParser):
    """Parser of one request; `error` says why the request is invalid.

    The parser doesn't read a body to its end if it is too long. It treats the request as complete,
    sets `too_long`, and sets content-length to a lower bound of the body's length. The application
    rejects the request, as it does under other servers.

    :param longest_body: maximum bytes of a body
    """

    error: Any
    completed: bool
    header_plus: bytes
    headers: dict[str, str]

    # defaults for requests that can't be read
    command = "-"
    path = request_uri = "-"
    query = ""
    url_scheme = "http"

    def __init__(self, adj: object, longest_body: int) -> None:
        super().__init__(adj)
        self.longest_body = longest_body
        self.too_long = False

    def received(self, data: bytes) -> int:
        """Consume the data that belongs to the request; return the number of consumed bytes.

        A client that begins TLS is refused at its first byte. It would wait for an answer of TLS,
        and the server for the end of a line.
        """
        if not self.header_plus and data.startswith(_TLS_HANDSHAKE) and self.body_rcv is None:
            self.error = BadRequest("This port speaks HTTP without TLS: use http://, not https://")
            self.completed = True
            return len(data)
        consumed: int = super().received(data)
        if self.body_rcv is None:
            # without a body, the client doesn't wait for "100 Continue"
            self.expect_continue = False
        elif self.chunked:
            self._bound_chunks()
        elif self.content_length > self.longest_body:
            self._end_too_long(self.content_length)
        if self.completed and self.error is None and self.body_rcv is not None:
            self.error = self.body_rcv.buf.no_room
        if isinstance(self.error, RequestEntityTooLarge):
            self.error = None
        if self.error is not None:
            self.expect_continue = False
        return consumed

    def held(self) -> int:
        """Return the size of the request's received data in bytes, in memory or in a file."""
        body = 0 if self.body_rcv is None else self.body_rcv.__len__()
        return len(self.header_plus) + int(body)

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the request's line and headers. Raises ParsingError.

        A request is rejected if its end is ambiguous. Otherwise a proxy and this server could
        disagree about where the request ends and the next one begins (request smuggling).
        """
        try:
            super().parse_header(header_plus)
        except ValueError as odd:
            # for example a length of thousands of digits, or an incomplete IPv6 address
            raise ParsingError("The request's line or a header is invalid") from odd
        if self.body_rcv is not None:
            self.body_rcv.buf = Body(self.body_rcv.buf)
        if "," in self.headers.get("HOST", ""):
            raise ParsingError("More than one host")
        if "TRANSFER_ENCODING" in self.headers:
            raise ParsingError("Transfer-Encoding needs HTTP/1.1")
        if self.chunked and "CONTENT_LENGTH" in self.headers:
            raise ParsingError("Transfer-Encoding and Content-Length exclude each other")

    def _bound_chunks(self) -> None:
        receiver = self.body_rcv
        length = receiver.__len__()
        if length > self.longest_body:
            # one more byte, so that the header alone shows that the body is too long
            self._end_too_long(length + 1)
        elif not self.completed and (
            len(receiver.control_line) > LONGEST_CHUNK_LINE
            or len(receiver.trailer) > LONGEST_CHUNK_LINE
        ):
            self.error = BadRequest("A chunk's line or a trailer is too long")
            self.completed = True

    def _end_too_long(self, length: int) -> None:
        self.too_long = self.completed = True
        self.expect_continue = False
        self.headers["CONTENT_LENGTH"] = str(length)
