"""Dispatch a request: check version, then headers, then find the endpoint (rest-api.md 1).

Middleware around that answers unexpected errors, and what needs no token.
"""

import functools
import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any

import flask
from webob import acceptparse
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge
from werkzeug.routing import Map, Rule

from placement import microversions
from placement.errors import (
    BodyTooLong,
    MethodNotAllowed,
    NoSuchRoute,
    NotAcceptable,
    NotFound,
    PlacementError,
    UnreadableContent,
    UnsupportedMediaType,
)
from placement.http import error_body
from placement.http.call import Answer, Call
from placement.http.endpoint import Endpoint, Handler
from placement.http.environ import (
    CONFLICT,
    CONTEXT,
    EXTENSION,
    JSON,
    PREFIX,
    ROUTE,
    VERSION,
    Environ,
    StartResponse,
    WSGIApplication,
    template_of,
)
from placement.http.services import Services
from placement.microversions import Version
from placement.storage.driver.error_log import log_unexpected, quotes_database

LOG = logging.getLogger(__name__)
DATABASE_FAILED = (
    "The database refused a statement of the service; its log says which error it was."
)
_CONFLICT = 409
#: what no segment of a path is
_END = 0
VERSION_HEADER = "openstack-api-version"
#: how an answer names the version that was served
_SERVED = {version: f"placement {microversions.name(version)}" for version in microversions.HISTORY}


class _Paths:
    """Finds the view of a path by its template, such as `/traits/<name>`.

    Segments are compared as they are, and an empty one is no name. Where a template has a word, no
    name is looked for.
    """

    def __init__(self, views: Mapping[str, Handler]) -> None:
        #: by word, or None for any name, what may follow; behind the last one the view
        self._first: dict[Any, Any] = {}
        for template, view in views.items():
            step = self._first
            for part in template.split("/")[1:]:
                step = step.setdefault(None if part.startswith("<") else part, {})
            step[_END] = view, re.findall("<(.*?)>", template)

    def find(self, path: str) -> tuple[Handler, dict[str, str]]:
        """Return the view, and the names in the path. Raises NoSuchRoute."""
        step, names = self._first, []
        for part in path.removeprefix("/").split("/"):
            following = step.get(part)
            if following is None:
                following = step.get(None)
                if following is None or not part:
                    raise NoSuchRoute("")
                names.append(part)
            step = following
        if _END not in step:
            raise NoSuchRoute("")
        view, places = step[_END]
        return view, dict(zip(places, names, strict=True))


@functools.cache
def _map_of(paths: tuple[str, ...]) -> Map:
    """Return the map of the paths, which all applications of the process with these paths share.

    Werkzeug has Python parse code for each path. Python 3.11 can fail at that while another thread
    writes a traceback, for which it parses, too.
    """
    url_map = Map(strict_slashes=True, merge_slashes=False)
    for path in paths:
        url_map.add(Rule(path, endpoint=path))
    url_map.update()
    return url_map


class Placement(flask.Flask):
    """The Flask application: calls the endpoint in the route table and renders errors.

    It answers in `wsgi_app` itself. Flask's own binds contexts to the thread, looks for hooks and
    sends signals for each request; endpoints need the environment alone. Werkzeug's map and its
    responses would take as long as all else that a small request needs.
    """

    def __init__(self, routes: Mapping[str, tuple[Endpoint, ...]], services: Services) -> None:
        super().__init__("placement", static_folder=None)
        self.services = services
        self._longest_body = services.conf.berth.max_body_size
        views = {path: self._view(path, endpoints) for path, endpoints in routes.items()}
        self._paths = _Paths(views)
        self.url_map, self.view_functions = _map_of(tuple(routes)), {**views}
        self._has_extensions = any(map(is_below_prefix, routes))

    def wsgi_app(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        # the fault wrapper around this application handles unexpected errors
        vary = True
        try:
            response = self._respond(environ)
        except PlacementError as error:
            response, vary = _answer_error(environ, error), error.vary
        except ClientDisconnected:
            cut_off = UnreadableContent("content is shorter than content-length says")
            response = _answer_error(environ, cut_off)
        except RequestEntityTooLarge:
            response = _answer_error(environ, BodyTooLong(longest=self._longest_body))
        _name_version(environ, response, vary)
        return response(environ, start_response)

    def _respond(self, environ: Environ) -> Answer:
        self._look_at_request(environ)
        # the raw bytes of the path, without decoding them
        path = _routed_path(environ.get("PATH_INFO", ""))
        view, place = self._paths.find(path)
        return view(environ, **place)

    def _view(self, path: str, endpoints: tuple[Endpoint, ...]) -> Handler:
        allow = tuple(dict.fromkeys(endpoint.method for endpoint in endpoints))

        template = template_of(path)

        def view(environ: Environ, **place: str) -> Answer:
            environ[ROUTE] = template
            version = environ[VERSION]
            method = environ["REQUEST_METHOD"]
            of_method = [endpoint for endpoint in endpoints if endpoint.method == method]
            if not of_method:
                raise MethodNotAllowed(allow=allow)
            endpoint = _choose(of_method, version)
            form = _check(endpoint, environ, version)
            call = Call(environ, version, environ[CONTEXT], self.services, form)
            return endpoint.handler(call, **place)

        return view

    def _look_at_request(self, environ: Environ) -> None:
        path = environ.get("PATH_INFO", "")
        extension = environ[EXTENSION] = self._has_extensions and is_below_prefix(path)
        header = environ.get("HTTP_OPENSTACK_API_VERSION")
        environ[VERSION] = (
            microversions.NEWEST
            if header is None and extension
            else microversions.negotiate(header)
        )
        check_length(environ)


def is_below_prefix(path: str) -> bool:
    """Return whether the path is that of an extension."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def _routed_path(path: str) -> str:
    """Return the path to route by: an empty path, the mount point itself, is the path `/`.

    One newline at the end is removed, because the reference's patterns ignore it. Not so in paths
    of extensions, which the reference doesn't have.
    """
    if path.endswith("\n") and is_below_prefix(path[:-1]):
        return path
    if path.endswith("\n") and (path == "/\n" or not path.endswith("/\n")):
        path = path[:-1]
    return path or "/"


def _choose(endpoints: list[Endpoint], version: Version) -> Endpoint:
    """Return the newest endpoint that exists in `version`; the oldest if none exists yet."""
    known = [endpoint for endpoint in endpoints if endpoint.since <= version]
    return known[-1] if known else endpoints[0]


def _check(endpoint: Endpoint, environ: Environ, version: Version) -> str:
    """Return the form to answer in. Raises an error for a wrong version or wrong headers."""
    form = endpoint.forms[0]
    if not endpoint.content_first:
        _check_version(endpoint, version)
    if endpoint.reads:
        check_is_json(environ)
    if endpoint.answers:
        form = accepted(environ, endpoint.forms)
    _check_version(endpoint, version)
    return form


def _check_version(endpoint: Endpoint, version: Version) -> None:
    if version < endpoint.since:
        raise MethodNotAllowed("") if endpoint.before == 405 else NotFound("")


def _answer_error(environ: Environ, error: PlacementError) -> Answer:
    if error.status == _CONFLICT:
        environ[CONFLICT] = error.code
    answer = error_body.answer(environ, error)
    response = Answer(answer.status, list(answer.headers.items()), [answer.body], has_length=True)
    _let_go(error)
    return response


def _let_go(error: BaseException) -> None:
    """Drop the traceback of an error, whose frames refer to a search's snapshot of the whole cloud.

    The answer refers to the error, the error to the frames, and the frames to the answer. Such a
    circle stays in memory until the garbage collector runs, and it runs seldom where there are many
    objects. Errors are taken from each other, too: one that was raised twice may be its own cause.
    """
    cause: BaseException | None = error
    while cause is not None:
        following = cause.__cause__ or cause.__context__
        cause.__traceback__ = cause.__cause__ = cause.__context__ = None
        cause = following


def _name_version(environ: Environ, response: Answer, vary: bool) -> None:
    """Add the header with the served version, unless negotiation failed."""
    version = environ.get(VERSION)
    if version is not None:
        response.headers.append((VERSION_HEADER, _SERVED[version]))
        if vary:
            response.headers.append(("vary", VERSION_HEADER))


def check_length(environ: Environ) -> None:
    """Raise UnreadableContent if the length is no integer or content has no Content-Type."""
    length = environ.get("CONTENT_LENGTH") or "0"
    try:
        has_content = int(length) > 0
    except ValueError as odd:
        raise UnreadableContent("content-length header must be an integer") from odd
    if has_content and not environ.get("CONTENT_TYPE"):
        raise UnreadableContent("content-type header required when content-length > 0")


def check_is_json(environ: Environ) -> None:
    """Raise UnsupportedMediaType unless Content-Type is JSON."""
    media_type = environ.get("CONTENT_TYPE", "").split(";", 1)[0].strip() or None
    if media_type != JSON:
        raise UnsupportedMediaType(media_type=media_type)


def accepted(environ: Environ, forms: tuple[str, ...] = (JSON,)) -> str:
    """Return the media type that the client likes best. Raises NotAcceptable if it likes none.

    :param forms: those of the response; of equally liked ones the first is taken
    """
    accept = environ.get("HTTP_ACCEPT", forms[0])
    best = accept if accept in forms else _best(accept, forms)
    if best is None:
        raise NotAcceptable(f"Only {', '.join(forms)} is provided")
    return best


@functools.lru_cache(maxsize=256)
def _best(accept: str, forms: tuple[str, ...]) -> str | None:
    found = acceptparse.create_accept_header(accept).acceptable_offers(forms)
    return found[0][0] if found else None


class FaultWrapper:
    """Middleware that turns an unexpected exception into a response with status 500.

    The log gets the traceback, and the client the message. The message of a database error quotes
    the statement and its values, so the client gets a fixed text instead.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return self.application(environ, start_response)
        except Exception as error:
            log_unexpected(LOG, "Placement API unexpected error", error)
            told = DATABASE_FAILED if quotes_database(error) else str(error)
            return error_body.answer(environ, PlacementError(told))(environ, start_response)


class Probes:
    """Middleware that answers some paths itself, before authentication (see `probes.py`).

    :param applications: what answers, by path
    """

    def __init__(
        self, application: WSGIApplication, applications: Mapping[str, WSGIApplication]
    ) -> None:
        self.application = application
        self._applications = applications

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        own = self._applications.get(environ.get("PATH_INFO", ""))
        if own is None:
            return self.application(environ, start_response)
        environ[ROUTE] = environ["PATH_INFO"]
        return own(environ, start_response)
