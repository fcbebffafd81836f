"""PlacementDirect: the service inside a client's process (rest-api.md 7.6, architecture.rst D12).

Requests go through the whole HTTP stack of the service, but through no socket: a transport of
requests hands them to the application, in the form that wsgi-intercept gives them. No library is
patched, so any number of services can be open at the same time, and other HTTP traffic of the
process is not affected.
"""

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import requests
from keystoneauth1.adapter import Adapter
from keystoneauth1.plugin import BaseAuthPlugin
from keystoneauth1.session import Session
from oslo_config import cfg
from requests.adapters import HTTPAdapter
from urllib3 import PoolManager
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool
from wsgi_intercept import wsgi_fake_socket

from placement import app, config
from placement.http.environ import WSGIApplication

#: the path where the service is mounted: its links begin with this path
MOUNT = "/placement"
#: the caller: the administrator, who may also reshape because of the role `service`
CALLER = {"x-auth-token": "admin", "x-roles": "admin,service"}


def connection_of_service() -> str | None:
    """Return `[placement_database]connection` as the service would read it; None if it isn't set.

    Raises oslo.config's errors.
    """
    try:
        return config.load().placement_database.connection
    except cfg.RequiredOptError:
        return None


class PlacementDirect:
    """Opens a placement service in this process and returns a client for it.

    ::

        with PlacementDirect(conf, latest_microversion=True) as client:
            client.get("/resource_providers").json()

    The client is a keystoneauth1 adapter that doesn't raise on HTTP status. Its requests come from
    an administrator with the roles `admin` and `service`, unless the headers of a call say
    otherwise. The first request starts the service and stores the standard traits and resource
    classes; it raises DatabaseUnusable, SchemaDiffers or SQLAlchemy's OperationalError if the
    service can't start. Leaving the context closes the service and its database connections.

    `conf` may be any oslo.config object, also `cfg.CONF` and the configuration of a compute
    service. Options of the service that it lacks are registered on it; options that are registered
    already stay as they are. It may have been parsed. If not, entering the context parses it with
    an empty command line and without files.

    :param conf: has a database connection in `[placement_database]connection`. Its
        `[api]auth_strategy` is set to noauth2
    :param latest_microversion: whether requests that name no microversion get the newest one
        instead of 1.0
    :param store_standard_names: False for a client that must not write anything: the service then
        does not store the standard traits and resource classes
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        latest_microversion: bool = False,
        store_standard_names: bool = True,
    ) -> None:
        config.register_service(conf)
        conf.set_override("auth_strategy", "noauth2", group="api")
        self._conf = conf
        self._store_standard_names = store_standard_names
        self._version = "latest" if latest_microversion else None
        self._url = f"http://{uuid.uuid4()}{MOUNT}"
        self._service: _Service | None = None
        self._http: requests.Session | None = None

    @classmethod
    def configured(
        cls,
        argv: Sequence[str] = (),
        files: Sequence[str] | None = None,
        environ: bool = True,
        overrides: Mapping[tuple[str | None, str], Any] | None = None,
        latest_microversion: bool = False,
        store_standard_names: bool = True,
    ) -> Self:
        """Return one with a configuration of its own, read as by `placement.config.load`.

        A caller that has only the URL of a database calls `configured(files=[], environ=False,
        overrides={("placement_database", "connection"): url})`. Raises oslo.config's errors.
        """
        conf = config.load(argv, files, environ, overrides)
        return cls(conf, latest_microversion, store_standard_names)

    def __enter__(self) -> Adapter:
        config.parse_if_unparsed(self._conf)
        self._service = _Service(self._conf, self._store_standard_names)
        self._http = requests.Session()
        # use neither proxies of the environment nor passwords of ~/.netrc
        self._http.trust_env = False
        self._http.mount(self._url, _Transport(self._service))
        return Adapter(
            Session(auth=_Endpoint(self._url), session=self._http),
            service_type="placement",
            raise_exc=False,
            additional_headers=dict(CALLER),
            default_microversion=self._version,
        )

    def __exit__(self, *raised: object) -> None:
        if self._http is not None:
            self._http.close()
        if self._service is not None:
            self._service.close()


class _Endpoint(BaseAuthPlugin):
    """Knows the URL of the service and adds no headers."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def get_endpoint(self, session: Session, **kwargs: object) -> str:
        return self._url

    def get_headers(self, session: Session, **kwargs: object) -> dict[str, str]:
        return {}


class _Service:
    """The application, which is made for the first request."""

    def __init__(self, conf: cfg.ConfigOpts, store_standard_names: bool) -> None:
        self._conf = conf
        self._store_standard_names = store_standard_names
        self._turn = threading.Lock()
        self._running: app.Running | None = None
        self._closed = False

    def application(self) -> WSGIApplication:
        """Return the application. Raises requests' ConnectionError after `close`."""
        with self._turn:
            if self._closed:
                raise requests.ConnectionError("This PlacementDirect is closed.")
            if self._running is None:
                self._running = app.start(self._conf, self._store_standard_names)
            return self._running.application

    def close(self) -> None:
        """Close the application; closing it again has no effect."""
        with self._turn:
            self._closed = True
            if self._running is not None:
                self._running.close()


class _Transport(HTTPAdapter):
    """Hands requests to the service instead of the network."""

    def __init__(self, service: _Service) -> None:
        self._service = service
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make connections to the service, for this transport alone."""
        super().init_poolmanager(*args, **kwargs)
        manager: PoolManager = self.poolmanager
        manager.pool_classes_by_scheme = {"http": _pool_class(self._service.application)}

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> Any:
        # started here, so that its own error is raised and not one of a failed connection
        self._service.application()
        return super().send(request, *args, **kwargs)


class _Socket(wsgi_fake_socket):
    """wsgi-intercept's socket: it runs the application when a request is written to it."""

    def settimeout(self, timeout: float | None) -> None:
        """Ignore the time limit: the application answers in this thread."""


def _pool_class(application: Callable[[], WSGIApplication]) -> type[HTTPConnectionPool]:
    """Make a class of connections: urllib3 takes a class, so each service needs its own."""

    class DirectConnection(HTTPConnection):
        def connect(self) -> None:
            self.sock = _Socket(application(), self.host, self.port, MOUNT)

    class Pool(HTTPConnectionPool):
        ConnectionCls = DirectConnection

    return Pool
