"""Requests that need no token and leave no line in the log: of load balancers, probes, browsers.

They are answered before authentication, because nobody gives a load balancer a token.
"""

import importlib.metadata
import json
from collections.abc import Callable, Iterable
from typing import Any

from oslo_config import cfg
from oslo_middleware import opts as middleware_options
from oslo_middleware.healthcheck import Healthcheck

from placement.http.environ import PREFIX, Environ, StartResponse, WSGIApplication

HEALTHCHECK = "/healthcheck"
HEALTH = f"{PREFIX}/health"
PATHS = (HEALTHCHECK, HEALTH)

#: returns the status and the body of a report
Report = Callable[[], tuple[str, dict[str, Any]]]


def healthcheck(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Return oslo.middleware's healthcheck; requests that it ignores go to `application`.

    Raises cfg.Error if its options can't be used.
    """
    for group, options in middleware_options.list_opts_healthcheck():
        conf.register_opts(options, group=group)
    _check_backends(conf)
    try:
        wrapped: WSGIApplication = Healthcheck(application, conf)
    except ValueError as wrong:
        raise cfg.ConfigFileValueError(f"[healthcheck]allowed_source_ranges: {wrong}") from wrong
    return wrapped


def _check_backends(conf: cfg.ConfigOpts) -> None:
    """Raise cfg.Error for backends that oslo.middleware leaves out: nothing would drain a node."""
    if not conf.healthcheck.backends:
        # to know what there is, a start reads a file of each installed package
        return
    known = {
        each.name: each for each in importlib.metadata.entry_points(group=Healthcheck.NAMESPACE)
    }
    unknown = sorted(set(conf.healthcheck.backends) - known.keys())
    if unknown:
        raise cfg.ConfigFileValueError(
            f"[healthcheck]backends: there is no {', '.join(unknown)}, only "
            f"{', '.join(sorted(known))}."
        )
    for name in conf.healthcheck.backends:
        try:
            known[name].load()(conf, {})
        except Exception as wrong:
            # as it is told for "nonsense" in disable_by_file_paths: not enough values to unpack
            raise cfg.ConfigFileValueError(
                f"[healthcheck]backends: {name} can't be used as its options are: {wrong}"
            ) from wrong


def health(report: Report) -> WSGIApplication:
    """Return an application that answers with a report of the health: 503 if it is `fail`."""

    def answer(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        if method not in ("GET", "HEAD"):
            start_response("405 Method Not Allowed", [("Allow", "GET, HEAD"), _length(b"")])
            return [b""]
        status, found = report()
        body = json.dumps(found).encode()
        headers = [
            ("Content-Type", "application/health+json"),
            ("Cache-Control", "no-store"),
            _length(body),
        ]
        start_response("503 Service Unavailable" if status == "fail" else "200 OK", headers)
        return [b"" if method == "HEAD" else body]

    return answer


def _length(body: bytes) -> tuple[str, str]:
    return ("Content-Length", str(len(body)))
