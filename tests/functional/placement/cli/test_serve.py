"""placement-api: when it serves, and when it refuses to (architecture.rst D8)."""

import contextlib
import os
import re
import selectors
import signal
import socket
import sqlite3
import subprocess
import sys

import pytest
import requests
from werkzeug.test import Client

from placement.app import create_app
from placement.cli import serve as serve_command
from placement.cli.configuration import ConfigurationInForce
from tests.functional.placement.serving.programs import free_port
from tests.patience import PATIENCE

SECRET = "s3cr3t"
HEADERS = {"x-auth-token": "admin", "openstack-api-version": "placement 1.39"}


def command(*arguments):
    return [sys.executable, "-m", "placement.cli.serve", *arguments]


@pytest.fixture
def environ(tmp_path):
    """Return an environment without any configuration."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    return kept | {"HOME": str(tmp_path), "PYTHONPATH": os.getcwd()}


@pytest.fixture
def here(tmp_path, monkeypatch, own_logging):
    """Have this process without any configuration, and in the folder; return it."""
    for name in [name for name in os.environ if name.startswith("OS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(here, monkeypatch, capsys):
    """Return a function that runs the command, which must fail; it returns exit code and output."""

    def run(*arguments, **environ):
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        try:
            code = serve_command.main(arguments)
        except SystemExit as end:
            code = end.code
        told = capsys.readouterr()
        return code, told.out + told.err

    return run


@pytest.fixture
def in_force(here, monkeypatch):
    """Return a function that gives the configuration that the command would serve with."""

    def in_force(*arguments, **environ):
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        found = ConfigurationInForce(serve_command.parser().parse_args(arguments))
        found.check()
        return found

    return in_force


class Serving:
    """A running service: its URL, its output at the start, and its process."""

    def __init__(self, process, url, said):
        self.process = process
        self.url = url
        self.said = said

    def request(self, method, path, **options):
        return requests.request(
            method, self.url + path, headers=HEADERS, timeout=PATIENCE, **options
        )

    def stop(self):
        """Stop it as a service manager does; return the exit code and the rest of the output."""
        self.process.send_signal(signal.SIGTERM)
        rest, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, rest


@pytest.fixture
def serve(tmp_path, environ):
    """Return a function that starts the command and waits until it listens."""
    started = []

    def start(*arguments, **more):
        port = free_port()
        process = subprocess.Popen(
            command("--port", str(port), *arguments),
            cwd=tmp_path,
            env=environ | more,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return Serving(process, f"http://127.0.0.1:{port}", read_until(process, "Booting worker"))

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def read_until(process, words):
    said = ""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while words not in said:
            assert selector.select(PATIENCE), said
            # not `readline`: it may take two lines from the pipe, and the second one is waited for
            found = os.read(process.stdout.fileno(), 1 << 16)
            assert found, said
            said += found.decode()
    return said


def test_without_configuration_it_serves_this_machine_from_the_working_directory(
    serve, in_force, tmp_path
):
    service = serve()

    lines = [line for line in service.said.splitlines() if "placement-api" in line]
    assert lines == [
        "placement-api: no configuration found in ~/.placement, ~, /etc/placement and /etc: "
        f"serving {service.url} from "
        f"sqlite:///{tmp_path}/placement.db without authentication; "
        "'X-Auth-Token: admin' has the roles admin and service. For this machine only."
    ]
    assert service.request("GET", "/resource_providers").json() == {"resource_providers": []}
    # the administrator may reshape
    answer = service.request("POST", "/reshaper", json={"inventories": {}, "allocations": {}})
    assert answer.status_code == 400

    assert service.request("PUT", "/traits/CUSTOM_KEPT").status_code == 201
    code, _ = service.stop()
    files = sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("placement"))
    assert (code, files) == (0, ["placement.db"])
    # the next start finds all data in the one file that is left
    application = create_app(in_force().conf)
    assert Client(application).get("/traits/CUSTOM_KEPT", headers=HEADERS).status_code == 204


@pytest.mark.thorough
def test_several_workers_share_one_database(serve):
    service = serve("--workers", "2")
    names = [f"/traits/CUSTOM_{number}" for number in range(10)]
    created = [service.request("PUT", name).status_code for name in names]
    found = [service.request("GET", name).status_code for name in names]
    assert (created, found) == ([201] * 10, [204] * 10)


def test_with_configuration_no_defaults_of_one_machine_apply(in_force, here):
    found = in_force(
        OS_PLACEMENT_DATABASE__CONNECTION=f"sqlite:///{here}/other.db",
        OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP="true",
        OS_API__AUTH_STRATEGY="noauth2",
    )
    assert found.is_alone is False
    assert "service" not in found.conf.berth.noauth2_admin_roles
    assert [path.name for path in here.glob("*.db")] == ["other.db"]


def test_the_folder_that_the_environment_names_is_configuration(in_force, here):
    folder = here / "etc"
    folder.mkdir()
    (folder / "placement.conf").write_text(
        f"[placement_database]\nconnection = sqlite:///{here}/other.db\n"
        "sync_on_startup = true\n[api]\nauth_strategy = noauth2\n"
    )
    found = in_force(OS_PLACEMENT_CONFIG_DIR=str(folder))
    assert found.is_alone is False
    assert [path.name for path in here.glob("*.db")] == ["other.db"]


@pytest.mark.thorough
def test_a_socket_file_can_be_served(serve, tmp_path):
    serve("--unix-socket", str(tmp_path / "socket"))
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "socket"))
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", "*"])
def test_noauth2_is_not_served_on_a_public_address(refused, tmp_path, host):
    code, said = refused("--host", host)
    assert (code, said) == (
        1,
        f"placement-api: auth_strategy is noauth2 and {host} can be reached from elsewhere: "
        "everybody would be the administrator. Configure keystone, or say "
        "--allow-noauth2-anywhere.\n",
    )
    assert list(tmp_path.glob("placement.db*")) == []


def test_noauth2_is_served_on_a_public_address_with_the_option(in_force):
    found = in_force("--host", "0.0.0.0", "--allow-noauth2-anywhere")
    assert found.conf.api.auth_strategy == "noauth2"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql//u:{SECRET}@127.0.0.1/db",
        f"postgresql://u:{SECRET}@127.0.0.1:port/db",
        f"postgresql+nosuch://u:{SECRET}@127.0.0.1/db",
        f"nosuchdb://u:{SECRET}@127.0.0.1/db",
        "sqlite:////nowhere/at/all/placement.db",
    ],
)
def test_an_unusable_database_is_reported_in_one_line(refused, url):
    code, said = refused(OS_PLACEMENT_DATABASE__CONNECTION=url, OS_API__AUTH_STRATEGY="noauth2")
    assert (code, said.count("\n"), SECRET in said) == (1, 1, False)
    assert said.startswith("placement-api: ")


def test_a_database_with_another_schema_is_reported_with_the_differences(refused, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "placement.db")) as connection:
        connection.execute("CREATE TABLE users (id INTEGER PRIMARY KEY)")
    code, said = refused()
    assert code == 1
    assert re.search(
        "^placement-api: The database can't be taken over, its schema differs:\n"
        "  users: column created_at is missing\n",
        said,
        re.MULTILINE,
    )
    assert "Traceback" not in said


def test_configuration_without_a_database_names_the_option(refused):
    code, said = refused(OS_API__AUTH_STRATEGY="noauth2")
    assert (code, said) == (
        1,
        "placement-api: value required for option connection in group [placement_database]: "
        "no configuration file found in ~/.placement, ~, /etc/placement and /etc "
        "(placement.conf or placement.conf.d/*.conf).\n",
    )


def test_a_missing_file_is_named(refused):
    code, said = refused("--config-file", "nowhere.conf")
    assert (code, said.count("\n"), "nowhere.conf" in said) == (1, 1, True)


def test_bad_arguments_are_usage_errors(refused):
    code, said = refused("--port", "many")
    assert (code, said.startswith("usage: placement-api")) == (2, True)


@pytest.mark.thorough
def test_a_port_in_use_ends_it(tmp_path, environ):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = str(listener.getsockname()[1])
        ended = subprocess.run(
            command("--port", port), cwd=tmp_path, env=environ, capture_output=True, text=True
        )
    assert (ended.returncode, "Traceback" in ended.stderr) == (1, False)


def test_the_password_is_not_logged_either(refused):
    code, said = refused(
        "--debug",
        OS_PLACEMENT_DATABASE__CONNECTION=f"postgresql://u:{SECRET}@127.0.0.1:1/db",
        OS_PLACEMENT_DATABASE__MAX_RETRIES="0",
        OS_API__AUTH_STRATEGY="noauth2",
    )
    assert (code, SECRET in said) == (1, False)
