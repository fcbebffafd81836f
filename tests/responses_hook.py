"""Check every response that the service gives in a test's process.

The fixture of `tests/conftest.py` wraps each application that :func:`placement.app.create_app`
creates, however the test gets the application.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import placement.app
from tests.responses import Exchange, complaints

#: complaints since the test began; a test may swallow the exception, but not this list
FOUND: list[str] = []


class Judged:
    """A WSGI application that raises an exception for an invalid response.

    :param cors: whether it answers cross-origin requests
    :param extensions: whether it has the extensions
    """

    def __init__(
        self,
        application: Callable[..., Iterable[bytes]],
        cors: bool = False,
        extensions: bool = True,
    ) -> None:
        self.application = application
        self.cors = cors
        self.extensions = extensions

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        request = {
            "method": environ["REQUEST_METHOD"],
            "path": environ.get("PATH_INFO", ""),
            "asked": _headers_of(environ),
            "cors": self.cors,
            "extensions": self.extensions,
        }
        started: list[Any] = []

        def start(*given: Any) -> None:
            started[:] = given

        chunks = self.application(environ, start)
        try:
            body = b"".join(chunks)
        finally:
            getattr(chunks, "close", lambda: None)()
        status, headers, *_ = started
        exchange = Exchange(
            **request, status=int(status.split()[0]), headers=_joined(headers), body=body
        )
        self._judge(exchange)
        start_response(*started)
        return [body]

    def _judge(self, exchange: Exchange) -> None:
        found = complaints(exchange)
        FOUND.extend(found)
        if found:
            raise AssertionError("\n".join(found))


def _headers_of(environ: dict[str, Any]) -> dict[str, str]:
    return {
        key.removeprefix("HTTP_").replace("_", "-").lower(): value
        for key, value in environ.items()
        if key.startswith("HTTP_")
    }


def _joined(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in headers:
        name = name.lower()
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


@contextlib.contextmanager
def every_answer_judged() -> Iterator[None]:
    """Wrap every application that `create_app` creates in this block."""
    plain = placement.app.wrapped

    def wrapped(application: Any, conf: Any, *around: Any) -> Judged:
        answers_others = bool(conf.cors.allowed_origin)
        return Judged(plain(application, conf, *around), answers_others, conf.berth.extensions)

    placement.app.wrapped = wrapped
    try:
        yield
    finally:
        placement.app.wrapped = plain


@contextlib.contextmanager
def nothing_found() -> Iterator[None]:
    """Fail if the block gave an invalid response, even if the exception was swallowed."""
    FOUND.clear()
    yield
    found = list(FOUND)
    FOUND.clear()
    assert not found, "\n".join(found)
