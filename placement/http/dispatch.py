"""Dispatch a request: check version, then headers, then find the endpoint (rest-api.md 1)."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import flask
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge
from werkzeug.exceptions import NotFound as WerkzeugNotFound
from werkzeug.routing import Map, MapAdapter, Rule

from placement import microversions
from placement.errors import (
    BodyTooLong,
    MethodNotAllowed,
    NoSuchRoute,
    NotFound,
    PlacementError,
    UnreadableContent,
)
from placement.http import content_headers, error_body
from placement.http.call import Call, Services
from placement.http.endpoint import Endpoint, Handler
from placement.http.environ import (
    CONFLICT,
    CONTEXT,
    EXTENSION,
    ROUTE,
    VERSION,
    Environ,
    template_of,
)
from placement.http.extensions import is_below_prefix
from placement.microversions import Version

_CONFLICT = 409
VERSION_HEADER = "openstack-api-version"


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
    """The Flask application: calls the endpoint in the route table and renders errors."""

    def __init__(self, routes: Mapping[str, tuple[Endpoint, ...]], services: Services) -> None:
        super().__init__("placement", static_folder=None)
        self.services = services
        # the fault wrapper around this application handles unexpected errors
        self.config["PROPAGATE_EXCEPTIONS"] = True
        # werkzeug reads no more than this, even without a Content-Length. The extra byte lets
        # `Call.read` see that a body is too long
        self.config["MAX_CONTENT_LENGTH"] = services.conf.berth.max_body_size + 1
        # the view chooses by method, because werkzeug would add HEAD and OPTIONS
        self.url_map = _map_of(tuple(routes))
        self._has_extensions = any(map(is_below_prefix, routes))
        for path, endpoints in routes.items():
            self.view_functions[path] = self._view(path, endpoints)
        self.before_request(self._look_at_request)
        self.register_error_handler(PlacementError, _answer_error)
        self.register_error_handler(WerkzeugNotFound, _answer_no_route)
        self.register_error_handler(ClientDisconnected, _answer_cut_off)
        self.register_error_handler(RequestEntityTooLarge, self._answer_too_long)
        self.after_request(_name_version)

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function itself: no view is asynchronous, and Flask's check costs time."""
        return func

    def create_url_adapter(self, request: flask.Request | None) -> MapAdapter | None:
        """Return an adapter that matches the raw bytes of the path, without decoding them."""
        if request is None:
            return None
        path = _routed_path(request.environ.get("PATH_INFO", ""))
        return self.url_map.bind("placement", path_info=path, default_method="GET")

    def _view(self, path: str, endpoints: tuple[Endpoint, ...]) -> Handler:
        allow = tuple(dict.fromkeys(endpoint.method for endpoint in endpoints))

        template = template_of(path)

        def view(**place: str) -> flask.Response:
            environ = flask.request.environ
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

    def _look_at_request(self) -> None:
        environ = flask.request.environ
        path = environ.get("PATH_INFO", "")
        extension = environ[EXTENSION] = self._has_extensions and is_below_prefix(path)
        header = environ.get("HTTP_OPENSTACK_API_VERSION")
        environ[VERSION] = (
            microversions.NEWEST
            if header is None and extension
            else microversions.negotiate(header)
        )
        content_headers.check_length(environ)
        if path.startswith("//"):
            # werkzeug would treat several leading slashes as one
            raise NoSuchRoute("")

    def _answer_too_long(self, error: RequestEntityTooLarge) -> flask.Response:
        return _answer_error(BodyTooLong(longest=self.services.conf.berth.max_body_size))


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
        content_headers.check_is_json(environ)
    if endpoint.answers:
        form = content_headers.accepted(environ, endpoint.forms)
    _check_version(endpoint, version)
    return form


def _check_version(endpoint: Endpoint, version: Version) -> None:
    if version < endpoint.since:
        raise MethodNotAllowed("") if endpoint.before == 405 else NotFound("")


def _answer_no_route(error: WerkzeugNotFound) -> flask.Response:
    return _answer_error(NoSuchRoute(""))


def _answer_cut_off(error: ClientDisconnected) -> flask.Response:
    return _answer_error(UnreadableContent("content is shorter than content-length says"))


def _answer_error(error: PlacementError) -> flask.Response:
    environ = flask.request.environ
    if error.status == _CONFLICT:
        environ[CONFLICT] = error.code
    answer = error_body.answer(environ, error)
    response = flask.Response(answer.body, answer.status, headers=list(answer.headers.items()))
    flask.g.vary = error.vary
    _let_go(error)
    return response


def _let_go(error: BaseException) -> None:
    """Drop the traceback of an error, whose frames refer to a search's snapshot of the whole cloud.

    The answer refers to the error, the error to the frames, and the frames to the answer. Such a
    circle stays in memory until the garbage collector runs, and it runs seldom where there are many
    objects.
    """
    cause: BaseException | None = error
    while cause is not None:
        cause.__traceback__ = None
        cause = cause.__cause__ or cause.__context__


def _name_version(response: flask.Response) -> flask.Response:
    """Add the header with the served version, unless negotiation failed."""
    version = flask.request.environ.get(VERSION)
    if version is not None:
        response.headers[VERSION_HEADER] = f"placement {microversions.name(version)}"
        if flask.g.get("vary", True):
            response.headers.add("vary", VERSION_HEADER)
    return response
