"""Reading requests: waitress's parser, with bounds of ours."""

from typing import Any

from waitress.parser import HTTPRequestParser, ParsingError
from waitress.utilities import BadRequest, RequestEntityTooLarge

#: bytes that a chunk's size and extensions, or all trailers together, may take
LONGEST_CHUNK_LINE = 8_192
#: bytes of a request's line and headers; searches name many aggregates in their query
LONGEST_HEAD = 64 * 1024


class Parser(HTTPRequestParser):
    """Reads one request; `error` says why it can't be read.

    A body that is longer than allowed isn't read to its end: its request is complete as it is, its
    `too_long` is set, and its content-length says how long the body is at least. The application
    refuses it as it does under other servers.

    :param longest_body: bytes of a body that the application takes
    """

    error: Any
    completed: bool
    header_plus: bytes
    headers: dict[str, str]

    # those of requests that can't be read
    command = "-"
    path = request_uri = "-"
    query = ""
    url_scheme = "http"

    def __init__(self, adj: object, longest_body: int) -> None:
        super().__init__(adj)
        self.longest_body = longest_body
        self.too_long = False

    def received(self, data: bytes) -> int:
        """Take what belongs to the request; answers how many bytes these are."""
        consumed: int = super().received(data)
        if self.body_rcv is None:
            # without a body nobody waits for "100 Continue"
            self.expect_continue = False
        elif self.chunked:
            self._bound_chunks()
        elif self.content_length > self.longest_body:
            self._end_too_long(self.content_length)
        if isinstance(self.error, RequestEntityTooLarge):
            self.error = None
        if self.error is not None:
            self.expect_continue = False
        return consumed

    def held(self) -> int:
        """Bytes of the request that are held, in memory or in a file."""
        body = 0 if self.body_rcv is None else self.body_rcv.__len__()
        return len(self.header_plus) + int(body)

    def parse_header(self, header_plus: bytes) -> None:
        """Read the head. Raises ParsingError.

        Where two readers could disagree about where a request ends, it is refused: a proxy before
        us would take for a body what we take for another client's request, or the reverse.
        """
        try:
            super().parse_header(header_plus)
        except ValueError as odd:
            # a length of thousands of digits, half an IPv6 address
            raise ParsingError("The request's line or a header is invalid") from odd
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
            # one more byte makes it too long for whoever looks at the header alone
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
