"""PlacementDirect: the service inside a client's process (rest-api.md 7.6, architecture.rst D12).

Requests go through the whole HTTP stack of the service, but through no socket: a transport of our
own hands them to the application in the form that wsgi-intercept gives them. Nothing is patched, so
any number of services can be open at once, and other HTTP traffic of the process is untouched.
"""

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
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

#: where the service is mounted: its links begin with it
MOUNT = "/placement"
#: who asks: the administrator, who as the service user may reshape, too
CALLER = {"x-auth-token": "admin", "x-roles": "admin,service"}


class PlacementDirect:
    """Opens a placement service in this process and gives a client for it.

    ::

        with PlacementDirect(conf, latest_microversion=True) as client:
            client.get("/resource_providers").json()

    The client is a keystoneauth1 adapter that doesn't raise on HTTP status. It asks as
    administrator with the roles `admin` and `service`, unless a call's headers say otherwise. The
    service comes to life with the first request, which raises DatabaseUnusable, SchemaDiffers or
    SQLAlchemy's OperationalError if it can't; then, and not before, standard traits and resource
    classes are stored. It ends, and so do its connections to the database, with the context.

    :param conf: has the service's options and a database connection; its `[api]auth_strategy` is
        set to noauth2
    :param latest_microversion: whether requests that name no microversion ask for the newest one
        instead of 1.0
    :param store_standard_names: whether the service stores those at its start; a client that must
        not write anything says no
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        latest_microversion: bool = False,
        store_standard_names: bool = True,
    ) -> None:
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
        """With a configuration of its own, read as the service does; see `placement.config.load`.

        For callers that have nothing but a URL: `configured(files=[], environ=False, overrides=
        {("placement_database", "connection"): url})`. Raises oslo.config's errors.
        """
        conf = config.load(argv, files, environ, overrides)
        return cls(conf, latest_microversion, store_standard_names)

    def __enter__(self) -> Adapter:
        self._service = _Service(self._conf, self._store_standard_names)
        self._http = requests.Session()
        # nobody's proxies and passwords
        self._http.trust_env = False
        self._http.mount(self._url, _Transport(self._service))
        return Adapter(
            Session(auth=_Endpoint(self._url), session=self._http),
            service_type="placement",
            raise_exc=False,
            additional_headers=dict(CALLER),
            default_microversion=self._version,
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._http is not None:
            self._http.close()
        if self._service is not None:
            self._service.close()


class _Endpoint(BaseAuthPlugin):
    """Says where the service is, and leaves the client's headers alone."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def get_endpoint(self, session: Session, **kwargs: Any) -> str:
        return self._url

    def get_headers(self, session: Session, **kwargs: Any) -> dict[str, str]:
        return {}


class _Service:
    """The application, made when it is first needed."""

    def __init__(self, conf: cfg.ConfigOpts, store_standard_names: bool) -> None:
        self._conf = conf
        self._store_standard_names = store_standard_names
        self._turn = threading.Lock()
        self._running: app.Running | None = None
        self._closed = False

    def application(self) -> WSGIApplication:
        """The application. Raises requests' ConnectionError once it is closed."""
        with self._turn:
            if self._closed:
                raise requests.ConnectionError("This PlacementDirect is closed.")
            if self._running is None:
                self._running = app.start(self._conf, self._store_standard_names)
            return self._running.application

    def close(self) -> None:
        """End it; doing it twice does no harm."""
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
        """Make connections that end in the service, for this transport alone."""
        super().init_poolmanager(*args, **kwargs)
        manager: PoolManager = self.poolmanager
        manager.pool_classes_by_scheme = {"http": _pool_class(self._service.application)}

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> Any:
        # here, so that a service that can't start says so itself and not as a failed connection
        self._service.application()
        return super().send(request, *args, **kwargs)


class _Socket(wsgi_fake_socket):
    """wsgi-intercept's, which runs the application for what is written to it."""

    def settimeout(self, timeout: float | None) -> None:
        """There is nobody to wait for."""


def _pool_class(application: Callable[[], WSGIApplication]) -> type[HTTPConnectionPool]:
    """urllib3 makes connections by class, so each service has a class of its own."""

    class Connection(HTTPConnection):
        def connect(self) -> None:
            self.sock = _Socket(application(), self.host, self.port, MOUNT)

    class Pool(HTTPConnectionPool):
        ConnectionCls = Connection

    return Pool
