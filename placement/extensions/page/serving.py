"""Serve the page: files for a browser, which are the same for everybody and need no token.

What the page shows it asks of the API, with the reader's token, like any other client.
"""

import functools
import json
from collections.abc import Iterable
from urllib.parse import urlsplit
from wsgiref.types import StartResponse

from oslo_config import cfg

from placement.config.keystone_authtoken import GROUP, login_option
from placement.extensions.page.files import INDEX, PageFile, page_files
from placement.http.entity_tags import ANY, named, quoted
from placement.http.environ import PREFIX, ROUTE, Environ, WSGIApplication

UI = f"{PREFIX}/ui"
#: the route of requests for any of its files, in metrics
PAGE = f"{UI}/"
#: says to the page how callers authenticate
SESSION = "session.json"


def page(conf: cfg.ConfigOpts) -> dict[str, WSGIApplication]:
    """Return what answers at each path of the page."""
    return _page(conf.api.auth_strategy, keystone_address(conf), conf.berth.ui_dashboard)


# tests, and whoever opens services in a process of its own, start many with the same options
@functools.lru_cache(8)
def _page(strategy: str, keystone: str | None, dashboard: str | None) -> dict[str, WSGIApplication]:
    headers = _headers(keystone)
    shown: dict[str, WSGIApplication] = {
        f"{UI}/{name}": _file(file, headers) for name, file in page_files().items()
    }
    shown[PAGE] = shown[f"{UI}/{INDEX}"]
    shown[UI] = _sent_to("ui/", headers)
    session = {"auth": strategy, "keystone": keystone, "dashboard": dashboard}
    shown[f"{UI}/{SESSION}"] = _session(json.dumps(session).encode(), headers)
    return shown


def keystone_address(conf: cfg.ConfigOpts) -> str | None:
    """Return where a browser gets tokens; None if that isn't configured, or no token is checked."""
    if conf.api.auth_strategy == "noauth2":
        return None
    address = conf[GROUP].www_authenticate_uri or login_option(conf, "auth_url") or ""
    return address if urlsplit(address).scheme in ("http", "https") else None


def _headers(keystone: str | None) -> list[tuple[str, str]]:
    """Return the headers of each answer: the browser may ask this service and keystone alone."""
    asked = "'self'"
    if keystone is not None:
        parts = urlsplit(keystone)
        asked += f" {parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        f"connect-src {asked}; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return [
        ("Content-Security-Policy", policy),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
    ]


def _guarded(environ: Environ, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers, with Cross-Origin-Opener-Policy if the browser trusts this origin.

    Browsers warn of this header at origins that they don't trust, such as a host without TLS. They
    send `Sec-Fetch-Dest` only to origins that they trust, also through a proxy that ends TLS.
    """
    if "HTTP_SEC_FETCH_DEST" not in environ:
        return headers
    return [*headers, ("Cross-Origin-Opener-Policy", "same-origin")]


def _file(file: PageFile, headers: list[tuple[str, str]]) -> WSGIApplication:
    # a browser asks each time whether a file is still the same, so that an upgrade shows at once
    fixed = [("Cache-Control", "no-cache"), ("ETag", quoted(file.tag)), *headers]

    def answer(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        kept = _guarded(environ, fixed)
        if {file.tag, ANY} & set(named(environ.get("HTTP_IF_NONE_MATCH"))):
            start_response("304 Not Modified", kept)
            return [b""]
        start_response("200 OK", [*_about(file.media_type, file.content), *kept])
        return [file.content]

    return _read_only(answer, headers)


def _session(body: bytes, headers: list[tuple[str, str]]) -> WSGIApplication:
    def answer(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        about = _about("application/json", body)
        start_response("200 OK", [*about, ("Cache-Control", "no-store"), *headers])
        return [body]

    return _read_only(answer, headers)


def _sent_to(address: str, headers: list[tuple[str, str]]) -> WSGIApplication:
    """Return what redirects to an address; if that is relative, it also works below a prefix."""

    def answer(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        start_response(
            "308 Permanent Redirect",
            [
                ("Location", address),
                ("Cache-Control", "no-cache"),
                ("Content-Length", "0"),
                *headers,
            ],
        )
        return [b""]

    return _read_only(answer, headers)


def _read_only(answer: WSGIApplication, headers: list[tuple[str, str]]) -> WSGIApplication:
    def checked(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        environ[ROUTE] = PAGE
        method = environ["REQUEST_METHOD"]
        if method not in ("GET", "HEAD"):
            about = [("Allow", "GET, HEAD"), ("Content-Length", "0"), *headers]
            start_response("405 Method Not Allowed", about)
            return [b""]
        body = answer(environ, start_response)
        return [b""] if method == "HEAD" else body

    return checked


def _about(media_type: str, body: bytes) -> list[tuple[str, str]]:
    return [("Content-Type", media_type), ("Content-Length", str(len(body)))]
