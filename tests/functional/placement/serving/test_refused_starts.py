"""What placement-api says when it can't start: one sentence, exit code 1."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile

import pytest

from tests.functional.placement.serving.conftest import configuration
from tests.functional.placement.serving.programs import free_port
from tests.functional.placement.serving.refusing import refusing
from tests.patience import PATIENCE

COMMAND = [sys.executable, "-m", "placement.cli.serve"]


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys, own_logging):
    """Return a function that runs placement-api in this process and returns what it said."""
    run = refusing(tmp_path, monkeypatch, capsys)

    def refused(*arguments, **variables):
        (line,) = [line for line in run(*arguments, **variables) if "Tables added" not in line]
        assert line.startswith("placement-api: ")
        return line

    return refused


@pytest.fixture
def taken():
    """Return a port that this process listens on."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        yield listener.getsockname()[1]


def test_a_port_in_use(refused, taken, tmp_path):
    line = refused("--port", str(taken))
    assert f"can't serve on 127.0.0.1 port {taken}: Address already in use." in line
    assert not (tmp_path / "placement.db").exists()


def test_no_folder_for_temporary_files(refused, tmp_path, monkeypatch):
    """As on a read-only file system: gunicorn keeps such a file for each worker."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "missing")])
    line = refused()
    assert "can't make temporary files: No usable temporary directory found in" in line
    assert "Let TMPDIR name a folder that this user can write to" in line


def test_an_address_of_another_machine(refused):
    line = refused("--host", "192.0.2.1", "--port", str(free_port()), "--allow-noauth2-anywhere")
    assert "can't serve on 192.0.2.1 port" in line


@pytest.mark.parametrize(
    ("connection", "reason"),
    [
        ("nonsense", "[placement_database]connection is not a database URL"),
        ("nothing://me:hunter2@host/name", "names no kind of database known here"),
        ("postgresql://me:hu@nter2/hunter2@host/name", "(special characters as %XX)"),
        ("sqlite:////nowhere/placement.db", "needs to be able to write to the file and its"),
        ("sqlite:////etc/passwd", "what [placement_database]connection names is damaged"),
    ],
)
def test_a_database_that_can_not_be_used(refused, connection, reason):
    line = refused("--port", str(free_port()), OS_PLACEMENT_DATABASE__CONNECTION=connection)
    assert reason in line
    assert "nter2" not in line


@pytest.mark.parametrize("locale", ["C", pytest.param("POSIX", marks=pytest.mark.thorough)])
def test_the_process_ends_with_one_line_in_a_poor_locale_too(tmp_path, locale):
    (tmp_path / "é.conf").write_bytes(b"garbage here\n[x\n")
    ran = subprocess.run(
        [*COMMAND, "--config-file", os.fsencode(tmp_path / "é.conf")],
        env=configuration(tmp_path) | {"LC_ALL": locale},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        # one that starts would serve until somebody stops it
        timeout=PATIENCE,
    )
    (line,) = ran.stderr.splitlines()
    assert (ran.returncode, ran.stdout) == (1, "")
    assert line.startswith("placement-api: ")
    assert "Failed to parse" in line


def test_a_file_that_is_no_text_is_named(refused, tmp_path):
    path = tmp_path / "one.conf"
    path.write_bytes(b"\xff\xfe[DEFAULT]\n")
    assert f"{path} is not UTF-8 text" in refused("--config-file", str(path))
    assert f"{path} is not UTF-8 text" in refused("--config-dir", str(tmp_path))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xef\xbb\xbf[DEFAULT]\n", "it begins with a byte order mark. Save it as UTF-8 without"),
        (b"debug = true\n[api]\n", "an option stands before the first group"),
        (
            b"[placement_database]\nconnection = sqlite://\n[api]\nauth_strategy = keystnoe\n",
            "auth_strategy from {path} is not valid",
        ),
        (b"[api]\nauth_strategy = noauth2\n", "group [placement_database]: write it into"),
        (
            b"[placement_database]\nconnection = sqlite://\nmax_pool_size = -1\n",
            "Should be greater than or equal to 0",
        ),
        (
            b"[placement_database]\nconnection = mysql://a:hun$ter2@b/c\n",
            "[placement_database]connection has a $ that names no other option. Write $$ for",
        ),
        (
            b"[placement_database]\nconnection = $connection\n",
            "[placement_database]connection has a $ that names no other option. Write $$ for",
        ),
        (
            b"[placement_database]\nconnection = mysql://a:hun$ter2.x@b/c\n",
            "[placement_database]connection has a $ that names no other option. Write $$ for",
        ),
    ],
)
def test_a_wrong_line_of_a_file_is_told_with_what_to_do(refused, tmp_path, content, said):
    path = tmp_path / "placement.conf"
    path.write_bytes(content)
    variables = {"OS_PLACEMENT_DATABASE__CONNECTION": None, "OS_API__AUTH_STRATEGY": None}
    line = refused("--config-file", str(path), **variables)
    assert said.format(path=path) in line
    assert "ter2" not in line


def test_a_configuration_file_that_is_a_folder_is_told(refused, tmp_path):
    assert f"{tmp_path} can't be read: Is a directory" in refused("--config-file", str(tmp_path))


def test_a_value_that_only_workers_use(refused):
    line = refused("--port", str(free_port()), OS_BERTH__SEARCH_TIME_LIMIT="soon")
    assert "search_time_limit" in line


def test_a_keystone_whose_url_is_none(refused):
    uri = {"WWW_AUTHENTICATE_URI": "http://keystone.example"}
    variables = uri | {"AUTH_TYPE": "password", "AUTH_URL": "keystone.example:5000/v3"}
    options = {f"OS_KEYSTONE_AUTHTOKEN__{name}": value for name, value in variables.items()}
    line = refused("--port", str(free_port()), OS_API__AUTH_STRATEGY="keystone", **options)
    assert "[keystone_authtoken]auth_url is not a URL. Write it as http://host:port/v3" in line
    for password in ("hun$ter2", "hun$ter2.x", "$password"):
        given = {**options, "OS_KEYSTONE_AUTHTOKEN__PASSWORD": password}
        line = refused("--port", str(free_port()), OS_API__AUTH_STRATEGY="keystone", **given)
        assert "A value of [keystone_authtoken] has a $ that names no other option." in line
        assert "ter2" not in line
    options["OS_KEYSTONE_AUTHTOKEN__PASSWORD"] = "hun$ter2"
    line = refused("--port", str(free_port()), OS_API__AUTH_STRATEGY="keystone", **options)
    assert "A value of [keystone_authtoken] has a $" in line
    assert "ter2" not in line


@pytest.mark.parametrize("name", ["cafile", "certfile", "keyfile"])
def test_a_file_for_keystone_s_tls_that_can_not_be_used(refused, tmp_path, name):
    given = {"auth_url": "https://keystone.example/v3", "auth_type": "password"}
    given |= {"www_authenticate_uri": "https://keystone.example", name: f"{tmp_path}/it"}
    options = {f"OS_KEYSTONE_AUTHTOKEN__{key.upper()}": value for key, value in given.items()}
    said = f"[keystone_authtoken]{name}: {tmp_path}/it can't be used: "
    line = refused("--port", str(free_port()), OS_API__AUTH_STRATEGY="keystone", **options)
    assert f"{said}No such file or directory." in line
    if name == "cafile":
        (tmp_path / "it").write_text("no certificate")
        line = refused("--port", str(free_port()), OS_API__AUTH_STRATEGY="keystone", **options)
        assert f"{said}[X509" in line


def test_addresses_and_backends_that_are_none(refused):
    port = str(free_port())
    line = refused("--port", port, OS_BERTH__METRICS_ALLOWED_SOURCE_RANGES="here")
    assert "[berth]metrics_allowed_source_ranges: 'here'" in line
    line = refused("--port", port, OS_HEALTHCHECK__BACKENDS="no")
    assert "[healthcheck]backends: there is no no" in line


@pytest.mark.parametrize("option", ["LOG_DIR", "LOG_FILE", "LOG_CONFIG_APPEND"])
def test_a_log_that_can_not_be_written(refused, option):
    line = refused("--port", str(free_port()), **{f"OS_DEFAULT__{option}": "/nowhere/x"})
    assert "/nowhere/x" in line


@pytest.mark.parametrize("content", ["x: [\n", "- 1\n- 2\n", "\0"])
def test_a_policy_that_can_not_be_used(refused, tmp_path, content):
    path = tmp_path / "rules.yaml"
    path.write_text(content)
    line = refused("--port", str(free_port()), OS_OSLO_POLICY__POLICY_FILE=str(path))
    assert f"The policy can't be used ({path} " in line
    assert "attribute" not in line


def test_files_that_are_not_there(refused):
    assert "/nowhere.conf" in refused("--config-file", "/nowhere.conf")
    assert "/nowhere/placement.conf" in refused(OS_PLACEMENT_CONFIG_DIR="/nowhere")
