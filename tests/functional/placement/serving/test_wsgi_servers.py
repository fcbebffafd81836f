"""The application under the servers that deployers use, with the deployment page's commands."""

import contextlib
import http.client
import os
import signal
import sys
import sysconfig
import types
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from werkzeug.test import Client

from placement import wsgi
from tests.functional.placement.serving.conftest import configuration
from tests.functional.placement.serving.page import command_shown
from tests.functional.placement.serving.programs import ADMIN, FORKED, free_port, needed
from tests.patience import PATIENCE

SCRIPT = Path(wsgi.__file__).with_name("api.py")
#: the command, which is a WSGI file, too
COMMAND = Path(sysconfig.get_path("scripts"), "placement-api")


def uwsgi():
    return needed("uwsgi", "pyuwsgi")


def small(command, port):
    """Return a command of the page with another port, and half of its processes."""
    words = [word.replace("127.0.0.1:8778", f"127.0.0.1:{port}") for word in command]
    place = 1 + max(words.index(each) for each in words if each in ("--workers", "--processes"))
    assert words[place : place + 2] == ["4", "--threads"]
    return [*words[:place], "2", *words[place + 1 :]]


SERVERS = {
    "gunicorn": lambda: [sys.executable, "-m", "gunicorn"],
    "uwsgi": lambda: [uwsgi(), "--need-app"],
}


@pytest.fixture(scope="module", params=SERVERS)
def served(request, start_for_module, tmp_path_factory):
    """Return the service under the server, started with the page's command."""
    port = free_port()
    command = SERVERS[request.param]() + small(command_shown(request.param)[1:], port)
    database = f"sqlite:///{tmp_path_factory.mktemp('database')}/placement.db"
    return start_for_module(
        command, f"http://127.0.0.1:{port}", OS_PLACEMENT_DATABASE__CONNECTION=database
    )


def test_it_serves(served):
    created = served.request("POST", "/resource_providers", json={"name": "a"})
    found = served.request("GET", "/resource_providers").json()["resource_providers"]
    assert (created.status_code, [one["name"] for one in found]) == (200, ["a"])


def test_workers_share_the_database(served):
    names = [f"/traits/CUSTOM_{number}" for number in range(8)]
    written = [served.request("PUT", name).status_code for name in names]
    read = [served.request("GET", name).status_code for name in names]
    assert (written, read) == ([201] * 8, [204] * 8)


def test_a_204_has_no_body(served):
    served.request("PUT", "/traits/CUSTOM_GONE")
    answer = served.request("DELETE", "/traits/CUSTOM_GONE")
    assert (answer.status_code, answer.content, "content-type" in answer.headers) == (
        204,
        b"",
        False,
    )


def status_of_target(server, target):
    """Return the status of a GET of this very target: `requests` shortens some."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request("GET", target, headers=ADMIN)
        return connection.getresponse().status


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/traits/a%2Fb", 404),
        ("/traits/%C3%A9", 404),
        ("//traits", 404),
        ("/traits?name=in:%C3%A9", 200),
    ],
)
def test_unusual_paths_arrive_unchanged(served, target, status):
    assert status_of_target(served, target) == status


@pytest.fixture
def start_uwsgi(start):
    """Return a function that starts uWSGI with the command as the file of the application."""

    def start_uwsgi(*more):
        port = free_port()
        command = [uwsgi(), "--master", "--need-app", "--http-socket", f"127.0.0.1:{port}", *more]
        return start([*command, "--wsgi-file", str(COMMAND)], f"http://127.0.0.1:{port}")

    return start_uwsgi


def has_numpy(pid):
    return "_multiarray_umath" in Path(f"/proc/{pid}/maps").read_text()


def have_the_search(server):
    """Return whether the server's processes have loaded the search: one value if they agree."""
    return {has_numpy(pid) for pid in {server.process.pid, *server.workers()}}


@pytest.mark.thorough
def test_uwsgi_loads_the_command_as_a_file_and_idle_workers_have_the_search_in_common(start_uwsgi):
    server = start_uwsgi("--die-on-term")
    assert have_the_search(server) == {True}
    assert server.request("PUT", "/traits/CUSTOM_A").status_code == 201
    assert server.request("GET", "/traits/CUSTOM_A").status_code == 204
    assert server.stop(signal.SIGTERM) == 0


@pytest.mark.thorough
def test_with_lazy_apps_idle_workers_of_uwsgi_have_no_search(start_uwsgi):
    assert have_the_search(start_uwsgi("--lazy-apps")) == {False}


@pytest.mark.thorough
def test_uwsgi_mounts_it_below_a_prefix(start):
    port = free_port()
    mount = ["--mount", f"/placement={SCRIPT}", "--manage-script-name", "--need-app"]
    command = [uwsgi(), "--master", "--http-socket", f"127.0.0.1:{port}", *mount]
    server = start(command, f"http://127.0.0.1:{port}/placement")
    created = server.request("PUT", "/resource_classes/CUSTOM_A")
    assert created.headers["location"] == f"{server.url}/resource_classes/CUSTOM_A"
    (link, *_) = server.request("GET", "/resource_classes/CUSTOM_A").json()["links"]
    assert link["href"] == "/placement/resource_classes/CUSTOM_A"


def test_gunicorn_mounts_it_below_a_prefix(start):
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}"]
    server = start(
        [*command, "placement.wsgi.api:application"],
        f"http://127.0.0.1:{port}/placement",
        SCRIPT_NAME="/placement",
    )
    created = server.request("PUT", "/resource_classes/CUSTOM_A")
    assert created.headers["location"] == f"{server.url}/resource_classes/CUSTOM_A"


def test_the_command_is_a_program_of_this_environment():
    first = COMMAND.read_text().splitlines()[0]
    # pytest may have been started as `python3 -m pytest`
    interpreters = [f"#!{other}" for other in Path(sys.executable).parent.glob("python*")]
    assert first in interpreters
    assert os.access(COMMAND, os.X_OK)


@pytest.mark.parametrize("dashes", [["--"], pytest.param([], marks=pytest.mark.thorough)])
def test_the_command_serves_with_the_options_of_wsgi_scripts(start, dashes):
    port = free_port()
    command = [FORKED, "-b", "127.0.0.1", "-p", str(port), *dashes]
    server = start(command, f"http://127.0.0.1:{port}")
    assert server.request("GET", "/traits").status_code == 200


@pytest.mark.parametrize("script", [SCRIPT, COMMAND], ids=lambda script: script.name)
def test_a_server_may_load_the_script_by_its_path(tmp_path, monkeypatch, own_process, script):
    # as mod_wsgi does: into a module that is not __main__, with a stream that may not be used
    for name, value in configuration(tmp_path).items():
        if name.startswith("OS_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["mod_wsgi"])
    monkeypatch.setattr(sys, "stdin", None)
    module = types.ModuleType("_mod_wsgi_0123456789abcdef")
    module.__file__ = str(script)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    # the application is made when this is imported
    monkeypatch.setitem(sys.modules, "placement.wsgi.api", None)
    del sys.modules["placement.wsgi.api"]
    exec(compile(script.read_text(), str(script), "exec"), module.__dict__)
    client = Client(module.application)
    assert client.put("/traits/CUSTOM_A", headers=ADMIN).status_code == 201
    assert client.get("/traits/CUSTOM_A", headers=ADMIN).status_code == 204
