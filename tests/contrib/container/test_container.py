"""contrib/container: the image is built, bootstrapped and served, as kolla does it."""

import contextlib
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.contrib.container import kolla_ansible
from tests.contrib.files import adapted
from tests.contrib.users import PLACEMENT, folder_of
from tests.functional.placement.serving.programs import free_port

STATE = "/var/lib/placement"
FILES = "/var/lib/kolla/config_files"
CONNECTION = {"OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{STATE}/placement.db"}


@pytest.fixture
def state():
    """Return the folder that is /var/lib/placement in the container."""
    with folder_of(PLACEMENT) as folder:
        yield folder


@pytest.fixture
def container(image):
    return image.container()


@pytest.fixture
def run(image, container, state):
    """Return a function that runs kolla_start in the container until it ends."""

    def run(*arguments, **environ):
        command = image.running(
            container, ["kolla_start", *arguments], CONNECTION | environ, {str(state): STATE}
        )
        return subprocess.run(command, env=image.environ, capture_output=True, text=True)

    return run


def test_the_image_has_kolla_s_layout(image, container):
    look = (
        "id -u placement; id -nG placement; stat -c %U /etc/placement; "
        "/var/lib/openstack/bin/placement-manage --version; "
        "command -v uwsgi; command -v placement-status"
    )
    ran = subprocess.run(
        image.running(container, ["sh", "-c", look]),
        env=image.environ,
        capture_output=True,
        text=True,
    )
    uid, groups, owner, _, *programs = ran.stdout.split("\n")[:6]
    assert (uid, groups, owner) == ("42482", "placement kolla", "placement"), ran.stderr
    assert programs == ["/var/lib/kolla/venv/bin/uwsgi", "/var/lib/kolla/venv/bin/placement-status"]


def test_bootstrap_makes_the_tables_as_placement_and_ends(run, state):
    ran = run(KOLLA_BOOTSTRAP="")
    assert ran.returncode == 0, ran.stderr
    assert (state / "placement.db").stat().st_uid == PLACEMENT
    # each step may be repeated, and ends
    for variable in ("KOLLA_BOOTSTRAP", "KOLLA_UPGRADE", "KOLLA_OSM"):
        ran = run(**{variable: "1"})
        assert ran.returncode == 0, f"{variable}: {ran.stdout}{ran.stderr}"


@pytest.fixture
def empty_database(database_kind, new_database, state):
    """Yield the URL of an empty database, and the volumes by which a container reaches it."""
    if database_kind == "sqlite":
        yield CONNECTION["OS_PLACEMENT_DATABASE__CONNECTION"], {str(state): STATE}
        return
    url = new_database(empty=True)
    folder = Path(re.search(r"(?:host|unix_socket)=([^&]+)", url)[1])
    folder = folder if folder.is_dir() else folder.parent
    mode = folder.stat().st_mode
    # the socket is in a folder that only the server's user and root can search
    folder.chmod(mode | 0o011)
    try:
        yield url, {str(folder): str(folder), str(state): STATE}
    finally:
        folder.chmod(mode)


def test_two_bootstraps_at_once_make_the_tables_once(image, empty_database):
    url, volumes = empty_database
    environ = {"OS_PLACEMENT_DATABASE__CONNECTION": url, "KOLLA_BOOTSTRAP": ""}
    commands = [
        image.running(image.container(name), ["kolla_start"], environ, volumes)
        for name in ("shared", "second")
    ]
    both = [
        subprocess.Popen(
            command, env=image.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for command in commands
    ]
    said = [one.communicate()[0] for one in both]
    assert [one.returncode for one in both] == [0, 0], said


def served(image, container, state, start, arguments, environ, volumes, port):
    """Start the container's service; return it when it answers."""
    command = image.running(
        container, ["kolla_start", *arguments], environ, {str(state): STATE, **volumes}
    )
    kept = {name: value for name, value in image.environ.items() if not name.startswith("OS_")}
    return start(command, f"http://127.0.0.1:{port}", **kept)


def descendants(pid):
    """Return the processes below the process."""
    found = set()
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for child in children.read_text().split():
                found |= {int(child), *descendants(child)}
    return found


def users_of(server):
    """Return the users of the service's processes in the container."""
    lines = [Path(f"/proc/{pid}/cmdline") for pid in descendants(server.process.pid)]
    return {line.stat().st_uid for line in lines if b"/venv/bin/placement-api" in line.read_bytes()}


@contextlib.contextmanager
def ending(server):
    """End the container's processes at the end; `buildah run` doesn't pass on signals."""
    try:
        yield
    finally:
        for pid in descendants(server.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_it_serves_as_placement_with_the_command_it_is_given(image, container, state, run, start):
    port = free_port()
    assert run(KOLLA_BOOTSTRAP="").returncode == 0
    command = ["placement-api", "--host", "127.0.0.1", "--port", str(port)]
    alone = CONNECTION | {"OS_API__AUTH_STRATEGY": "noauth2"}
    server = served(image, container, state, start, command, alone, {}, port)
    with ending(server):
        assert server.request("PUT", "/traits/CUSTOM_A").status_code == 201
        assert users_of(server) == {PLACEMENT}


def test_it_serves_with_uwsgi_and_the_files_that_config_json_names(image, state, tmp_path, start):
    container = image.container("with config.json")
    port = free_port()
    files = tmp_path / "config_files"
    files.mkdir()
    (files / "placement.conf").write_text(
        f"[placement_database]\nconnection = sqlite:///{STATE}/placement.db\n"
        "sync_on_startup = true\n[api]\nauth_strategy = noauth2\n"
    )
    ours = {
        "127.0.0.1:8778": f"127.0.0.1:{port}",
        "/opt/berth/bin": "/var/lib/kolla/venv/bin",
        "processes = 4": "processes = 1",
    }
    (files / "uwsgi.ini").write_text(adapted("uwsgi/placement-api-uwsgi.ini", ours))
    copied = [
        {"source": f"{FILES}/{name}", "dest": f"/etc/placement/{name}", "owner": "placement"}
        for name in ("placement.conf", "uwsgi.ini")
    ]
    config = {
        "command": "uwsgi --ini /etc/placement/uwsgi.ini",
        "config_files": [entry | {"perm": "0600"} for entry in copied],
        "permissions": [{"path": "/var/log/kolla", "owner": "placement", "recurse": True}],
    }
    (files / "config.json").write_text(json.dumps(config))
    # as kolla-ansible leaves them: for root alone
    files.chmod(0o700)
    volumes = {str(files): FILES}
    more = {"KOLLA_CONFIG_STRATEGY": "COPY_ALWAYS"}
    server = served(image, container, state, start, [], more, volumes, port)
    with ending(server):
        assert server.request("PUT", "/traits/CUSTOM_A").status_code == 201

        def inside(*command):
            command = image.running(container, command, {}, volumes)
            return subprocess.run(command, env=image.environ, capture_output=True).returncode

        assert inside("healthcheck_curl", f"http://127.0.0.1:{port}") == 0
        assert inside("healthcheck_curl", f"http://127.0.0.1:{free_port()}") == 1
        assert inside("sudo", "-E", "kolla_set_configs", "--check") == 0
        (files / "placement.conf").write_text("[DEFAULT]\n")
        assert inside("sudo", "-E", "kolla_set_configs", "--check") == 1


def test_it_serves_with_what_kolla_ansible_writes(image, state, tmp_path, start):
    container = image.container("of kolla-ansible")
    port = free_port()
    files = kolla_ansible.written(tmp_path)
    ini = files / "placement-api-uwsgi.ini"
    text = ini.read_text()
    assert "127.0.0.1:8780" in text
    ini.write_text(text.replace("127.0.0.1:8780", f"127.0.0.1:{port}"))
    options = (files / "placement.conf").read_text()
    assert "allocation_candidates_generation_strategy = breadth-first" in options
    # there are no database and no keystone of its cloud
    more = CONNECTION | {
        "OS_API__AUTH_STRATEGY": "noauth2",
        "KOLLA_CONFIG_STRATEGY": "COPY_ALWAYS",
        "KOLLA_SERVICE_NAME": "placement-api",
    }
    volumes = {str(state): STATE, str(files): FILES}

    def inside(*command, **environ):
        command = image.running(container, command, more | environ, volumes)
        return subprocess.run(command, env=image.environ, capture_output=True, text=True)

    for step in ("KOLLA_BOOTSTRAP", "KOLLA_UPGRADE", "KOLLA_OSM"):
        ran = inside("kolla_start", **{step: ""})
        assert ran.returncode == 0, f"{step}: {ran.stdout}{ran.stderr}"
    server = served(image, container, state, start, [], more, volumes, port)
    with ending(server):
        assert server.request("PUT", "/traits/CUSTOM_A").status_code == 201
        assert inside("healthcheck_curl", f"http://127.0.0.1:{port}").returncode == 0
        assert inside("sudo", "-E", "kolla_set_configs", "--check").returncode == 0
