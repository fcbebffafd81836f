"""contrib/uwsgi, loaded by uWSGI."""

import signal

import pytest

from tests.contrib.files import adapted
from tests.contrib.load import Load
from tests.functional.placement.serving.programs import free_port, needed, wait_until

FILE = "uwsgi/placement-api-uwsgi.ini"


@pytest.fixture(scope="module")
def uwsgi(start_for_module, tmp_path_factory):
    """Give the service under uWSGI, configured by the file and by /etc/placement's stand-in.

    A signal stops it at the end.
    """
    folder = tmp_path_factory.mktemp("etc")
    database = f"connection = sqlite:///{folder}/placement.db\nsync_on_startup = true\n"
    conf = f"[placement_database]\n{database}[api]\nauth_strategy = noauth2\n"
    (folder / "placement.conf").write_text(conf)
    port = free_port()
    ours = {
        "127.0.0.1:8778": f"127.0.0.1:{port}",
        "/opt/berth/bin/placement-api": needed("placement-api", "openstack-berth"),
        "processes = 4": "processes = 2",
    }
    ini = folder / "placement-api-uwsgi.ini"
    ini.write_text(adapted(FILE, ours))
    # a misspelled option would be ignored without --strict
    command = [needed("uwsgi", "pyuwsgi"), "--strict", "--ini", str(ini)]
    server = start_for_module(
        command,
        f"http://127.0.0.1:{port}",
        OS_PLACEMENT_CONFIG_DIR=str(folder),
        OS_PLACEMENT_DATABASE__CONNECTION=None,
        OS_API__AUTH_STRATEGY=None,
    )
    server.folder = folder
    wait_until(lambda: server.said().count("WSGI app 0") == 2, server.said)
    yield server
    assert server.stop() == 0


def test_it_serves_with_the_configuration_that_the_file_names(uwsgi):
    created = uwsgi.request("POST", "/resource_providers", json={"name": "a"})
    found = uwsgi.request("GET", "/resource_providers").json()["resource_providers"]
    assert (created.status_code, [one["name"] for one in found]) == (200, ["a"])
    assert (uwsgi.folder / "placement.db").exists()


def test_a_client_is_told_that_the_connection_ends(uwsgi):
    for method, path in (("GET", "/traits"), ("PUT", "/traits/CUSTOM_A"), ("GET", "/nothing")):
        assert uwsgi.request(method, path).headers["Connection"] == "close"


def test_a_search_may_name_many_aggregates(uwsgi):
    names = ",".join(f"00000000-0000-4000-8000-{number:012}" for number in range(400))
    path = f"/allocation_candidates?resources=VCPU:1&member_of=in:{names}"
    assert (len(path) > 14_000, uwsgi.request("GET", path).status_code) == (True, 200)


def test_a_reload_reads_the_configuration_and_loses_no_request(uwsgi):
    before = uwsgi.workers()
    (uwsgi.folder / "policy.yaml").write_text('"placement:resource_classes:list": "!"\n')
    with Load(lambda number: uwsgi.request("GET", "/resource_providers"), 1) as load:
        wait_until(lambda: load.sent() > 20, uwsgi.said)
        uwsgi.process.send_signal(signal.SIGHUP)
        # one worker after the other
        wait_until(lambda: "chain next victim is worker 2" in uwsgi.said(), uwsgi.said)
        wait_until(lambda: "chain reloading complete" in uwsgi.said(), uwsgi.said)
    assert (set(load.answers), len(uwsgi.workers() - before)) == ({200}, 2)
    assert uwsgi.request("GET", "/resource_classes").status_code == 403
