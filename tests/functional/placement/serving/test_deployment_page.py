"""The deployment page's files and commands work."""

import configparser
import subprocess

import pytest

from placement import config
from placement.storage.engine import Database, DatabaseSettings
from tests.functional.placement.keystone_stub import Keystone, token
from tests.functional.placement.serving.page import file_shown
from tests.functional.placement.serving.programs import free_port, needed

UNIT = "/etc/systemd/system/placement-api.service"
CONFIGURATION = "/etc/placement/placement.conf"


@pytest.fixture
def unit():
    """Return the page's systemd unit."""
    read = configparser.ConfigParser(interpolation=None)
    read.optionxform = str
    read.read_string(file_shown(UNIT))
    return read


@pytest.fixture
def configured(tmp_path):
    """Return a folder with the page's configuration file."""
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "placement.conf").write_text(file_shown(CONFIGURATION))
    return folder


@pytest.fixture
def keystone():
    with Keystone() as server:
        server.tokens["admin"] = token("ada", ["admin"], "p")
        yield server


def where_installed(command):
    """Return the command with paths of the environment that runs the tests."""
    program, *arguments = command.split()
    name = program.removeprefix("/opt/berth/bin/")
    return [needed(name, "berth"), *arguments]


def test_systemd_accepts_the_unit(unit, tmp_path):
    verify = needed("systemd-analyze", "systemd")
    command = unit["Service"]["ExecStart"]
    # the accounts and files of the page's host don't exist here
    ours = {"ExecStart": " ".join(where_installed(command)), "User": "root", "Group": "root"}
    unit["Service"].update(ours)
    path = tmp_path / "placement-api.service"
    with path.open("w") as file:
        unit.write(file, space_around_delimiters=False)
    checked = subprocess.run(
        [verify, "verify", "--man=no", str(path)], capture_output=True, text=True
    )
    faults = [line for line in checked.stderr.splitlines() if "placement-api" in line]
    assert (checked.returncode, faults) == (0, [])


def test_the_unit_s_command_serves_the_page_s_configuration(
    unit, configured, keystone, start, tmp_path
):
    port = free_port()
    variables = dict([unit["Service"]["Environment"].split("=", 1)])
    assert variables == {"OS_PLACEMENT_CONFIG_DIR": "/etc/placement"}
    command = where_installed(unit["Service"]["ExecStart"].replace("8778", str(port)))
    # replaces the page's example addresses
    addresses = {
        f"OS_KEYSTONE_AUTHTOKEN__{name.upper()}": value
        for name, value in keystone.options().items()
    }
    server = start(
        command,
        f"http://127.0.0.1:{port}",
        OS_PLACEMENT_CONFIG_DIR=str(configured),
        OS_API__AUTH_STRATEGY=None,
        **addresses,
    )
    statuses = [
        server.request("GET", "/resource_providers", headers={"x-auth-token": given}).status_code
        for given in ("admin", "unknown")
    ]
    assert statuses == [200, 401]
    assert server.stop() == 0


def test_the_configuration_s_database_needs_what_the_page_installs(configured):
    conf = config.load(files=[str(configured / "placement.conf")], environ=False)
    database = Database(DatabaseSettings.of(conf.placement_database))
    assert database.engine.dialect.name == "postgresql"
    assert conf.oslo_middleware.enable_proxy_headers_parsing is True
