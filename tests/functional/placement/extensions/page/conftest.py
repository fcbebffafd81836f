"""Services with a cloud to look at, behind a real socket."""

import contextlib
import types
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.databases.fresh import SQLiteFiles
from tests.functional.placement.extensions.page import clouds, one_script
from tests.functional.placement.served import served
from tests.functional.placement.service import Service

UI = "/berth/v1/ui/"


class Api:
    """What fills a cloud: requests that must succeed."""

    def __init__(self, service):
        self._service = service

    def put(self, path, body):
        answer = self._service.put(path, body)
        assert answer.status_code < 300, answer.text


@pytest.fixture(scope="module")
def small_cloud(tmp_path_factory):
    """Yield a service with three hosts and a pool that some of them share.

    It has its `url`, the URL of its page as `ui`, and `put(path, body)`.
    """
    yield from serving(tmp_path_factory, lambda api: clouds.fill(api))


@pytest.fixture(scope="module")
def new_service(tmp_path_factory):
    """Return a function that makes services, each with an empty database."""
    with SQLiteFiles(tmp_path_factory.mktemp("databases")).lent() as new_database:
        yield lambda **options: Service(new_database(), **options)


@pytest.fixture
def changing_cloud(tmp_path_factory):
    """Yield such a service for one test, which may change it."""
    yield from serving(tmp_path_factory, lambda api: clouds.fill(api))


@pytest.fixture
def empty_cloud(tmp_path_factory):
    """Yield a service without any provider."""
    yield from serving(tmp_path_factory, lambda api: None)


def serving(factory, fill, **options):
    """Serve a cloud while a fixture is in use; `fill` is given what puts it there.

    :param options: of the service
    """
    with SQLiteFiles(factory.mktemp("cloud")).lent() as new_database:
        service = Service(new_database(), **options)
        api = Api(service)
        fill(api)
        with _served_again(Kept(service.app)) as url:
            yield types.SimpleNamespace(url=url, ui=url + UI, put=api.put, service=service)
        service.running.close()


class Kept:
    """A service whose page is one script, and whose files a browser keeps for windows to come.

    A test opens a window in a second. What operators' services send is tested in `test_files.py`.
    """

    def __init__(self, app):
        self._app = app

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"] == UI + one_script.FIRST:
            start_response("200 OK", [("Content-Type", "text/javascript"), *_KEPT.items()])
            return [one_script.script()]

        def start(status, headers, *more):
            if environ["PATH_INFO"].endswith(".css"):
                headers = [(name, _KEPT.get(name, value)) for name, value in headers]
            return start_response(status, headers, *more)

        return self._app(environ, start)


_KEPT = {"Cache-Control": "max-age=3600"}
#: ports of clouds that are gone, by which the browser knows what it keeps
_ports = []


@contextlib.contextmanager
def _served_again(app):
    """Serve an application where another one was, if nobody else has taken that port."""
    with contextlib.ExitStack() as stack:
        url = None
        while _ports and url is None:
            with contextlib.suppress(OSError, SystemExit):
                url = stack.enter_context(served(app, port=_ports.pop()))
        url = url or stack.enter_context(served(app))
        yield url
    _ports.append(urlsplit(url).port)


@pytest.fixture(scope="session")
def rehearsal():
    """Return the file of a rehearsal, as `migrate_compute_inventory --dry-run --json` writes it."""
    return Path(__file__).parent / "rehearsal.json"
