"""contrib/apache, loaded by Debian's Apache with mod_wsgi."""

import os
import pwd
import re
import signal
import site
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contrib.files import adapted
from tests.contrib.load import Load
from tests.contrib.users import as_user, folder_of, need_open_environment
from tests.functional.placement.serving.programs import ADMIN, free_port, needed, wait_until
from tests.functional.placement.serving.test_metrics import CLASSES, never_fell, scraped, values_of

SITE = "apache/placement-api.conf"
MODULES = Path("/usr/lib/apache2/modules")
#: what Debian's apache2.conf has around the site
FRAME = """
ServerRoot {folder}
ServerName localhost
PidFile {folder}/apache.pid
ErrorLog {folder}/error.log
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule wsgi_module {modules}/mod_wsgi.so
LogFormat "%h %l %u %t \\"%r\\" %>s %O" combined
WSGISocketPrefix {folder}/wsgi
GracefulShutdownTimeout 30
<Directory />
    Require all denied
</Directory>
{site}
"""


@pytest.fixture(scope="module")
def folder():
    """Return the folder of the user that Apache's processes have."""
    with folder_of(pwd.getpwnam("www-data").pw_uid) as folder:
        yield folder


@pytest.fixture(scope="module")
def home(folder):
    """Return an environment of the Python that mod_wsgi has, with the packages of ours."""
    python = needed("/usr/bin/python3", "python3")
    which = "import sys; print(*sys.version_info[:2])"
    theirs = subprocess.run([python, "-c", which], capture_output=True, text=True, check=True)
    if theirs.stdout.split() != [str(part) for part in sys.version_info[:2]]:
        pytest.skip(f"the packages of this environment aren't for Debian's Python {theirs.stdout}")
    need_open_environment()
    home = folder / "home"
    subprocess.run([python, "-m", "venv", "--without-pip", str(home)], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    # addsitedir also reads the .pth files there
    ours = "".join(f"import site; site.addsitedir({path!r})\n" for path in site.getsitepackages())
    (packages / "ours.pth").write_text(ours)
    return home


@pytest.fixture(scope="module")
def serve(start_for_module, folder, home):
    """Return a function that starts Apache with the site below a prefix.

    `more` are variables of its environment.
    """
    program = needed("apache2", "apache2")
    if not (MODULES / "mod_wsgi.so").exists():
        needed("mod_wsgi", "libapache2-mod-wsgi-py3")

    def serve(prefix, **more):
        user = pwd.getpwnam("www-data")
        port = free_port()
        script = Path(needed("placement-api", "openstack-berth"))
        ours = {
            "127.0.0.1:8778": f"127.0.0.1:{port}",
            "processes=4": "processes=2",
            "user=placement group=placement ": "",
            "python-home=/opt/berth": f"python-home={home}",
            "WSGIScriptAlias / /opt/berth/bin/placement-api": f"WSGIScriptAlias {prefix} {script}",
            "<Directory /opt/berth/bin>": f"<Directory {script.parent}>",
        }
        own = folder / str(port)
        own.mkdir()
        os.chmod(own, 0o777)
        conf = own / "apache.conf"
        conf.write_text(FRAME.format(folder=own, modules=MODULES, site=adapted(SITE, ours)))
        command = [program, "-DFOREGROUND", "-f", str(conf)]
        return start_for_module(
            as_user(user.pw_uid, command),
            f"http://127.0.0.1:{port}{prefix.rstrip('/')}",
            APACHE_LOG_DIR=str(own),
            # mod_wsgi looks for a Python in PATH
            PATH="/usr/sbin:/usr/bin:/sbin:/bin",
            PYTHONPATH=None,
            OS_PLACEMENT_DATABASE__CONNECTION=f"sqlite:///{own}/placement.db",
            **more,
        )

    return serve


@pytest.fixture(scope="module")
def apache(serve):
    return serve("/")


def test_it_serves_and_its_processes_share_the_database(apache):
    written = [apache.request("PUT", f"/traits/CUSTOM_{n}").status_code for n in range(8)]
    read = [apache.request("GET", f"/traits/CUSTOM_{n}").status_code for n in range(8)]
    assert (written, read) == ([201] * 8, [204] * 8)


def test_encoded_slashes_arrive_unchanged(apache):
    answer = apache.request("GET", "/traits/CUSTOM%2FA")
    # Apache's own 404 is a page of HTML
    assert (answer.status_code, answer.json()["errors"][0]["title"]) == (404, "Not Found")


def test_a_body_in_chunks_arrives(apache):
    headers = ADMIN | {"content-type": "application/json"}
    body = iter([b'{"name": "in ', b'chunks"}'])
    assert apache.request("POST", "/resource_providers", data=body, headers=headers).ok


def test_a_search_may_name_many_aggregates(apache):
    names = ",".join(f"00000000-0000-4000-8000-{number:012}" for number in range(400))
    path = f"/allocation_candidates?resources=VCPU:1&member_of=in:{names}"
    assert (len(path) > 14_000, apache.request("GET", path).status_code) == (True, 200)


def test_nothing_but_the_service_can_be_asked_for(apache):
    answer = apache.request("GET", "/../placement-manage")
    assert "python" not in answer.text


def test_it_is_served_below_a_prefix(serve):
    server = serve("/placement")
    created = server.request("PUT", "/resource_classes/CUSTOM_A")
    assert created.headers["location"] == f"{server.url}/resource_classes/CUSTOM_A"
    (link, *_) = server.request("GET", "/resource_classes/CUSTOM_A").json()["links"]
    assert link["href"] == "/placement/resource_classes/CUSTOM_A"


def daemons(server):
    """Return the processes of mod_wsgi; `display-name` names them."""
    lines = {pid: Path(f"/proc/{pid}/cmdline") for pid in server.workers()}
    return {pid for pid, line in lines.items() if line.read_bytes().startswith(b"placement-api")}


def test_a_graceful_reload_replaces_the_processes_under_requests(apache):
    before = wait_until(lambda: len(daemons(apache)) == 2 and daemons(apache), apache.said)
    with Load(lambda number: apache.request("GET", "/resource_providers")) as load:
        wait_until(lambda: load.sent() > 20, apache.said)
        apache.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: len(daemons(apache) - before) == 2, apache.said)
        enough = load.sent() + 20
        wait_until(lambda: load.sent() > enough, apache.said)
    # Apache answers 503 to requests between the old processes and the new ones
    assert set(load.answers) <= {200, 503}
    assert apache.request("GET", "/resource_providers").status_code == 200


def ask(server, times):
    for _ in range(times):
        assert server.request("GET", "/resource_classes/VCPU").status_code == 200


def test_its_processes_share_a_folder_and_counters_never_fall(serve, folder):
    shared = folder / "metrics"
    shared.mkdir()
    os.chmod(shared, 0o777)
    apache = serve("/", PROMETHEUS_MULTIPROC_DIR=str(shared))
    first = wait_until(lambda: len(daemons(apache)) == 2 and daemons(apache), apache.said)
    ask(apache, 20)
    known = scraped(apache.url)
    assert known[CLASSES] == 20
    for pid in first:
        os.kill(int(pid), signal.SIGKILL)
    second = wait_until(lambda: len(daemons(apache) - first) == 2 and daemons(apache), apache.said)
    with Load(lambda number: apache.request("GET", "/resource_classes/VCPU")) as load:
        wait_until(lambda: load.sent() > 20, apache.said)
        apache.process.send_signal(signal.SIGUSR1)
        while len(daemons(apache) - second) < 2:
            before, known = known, scraped_patiently(apache)
            never_fell(before, known)
        enough = load.sent() + 20
        wait_until(lambda: load.sent() > enough, apache.said)
    # what Apache answers between the processes has not come to the service
    assert set(load.answers) <= {200, 503}
    after = scraped(apache.url)
    never_fell(known, after)
    assert after[CLASSES] == 20 + load.answers[200]
    assert len(list(shared.iterdir())) == 1


def scraped_patiently(server):
    """Return the page's values; Apache answers 503 between the old processes and the new ones."""

    def text():
        answer = server.request("GET", "/metrics")
        return answer.status_code == 200 and answer.text

    return values_of(wait_until(text, server.said))


def test_without_a_folder_each_process_says_which_it_is_and_logs_how_to_join_them(serve, folder):
    apache = serve("/")
    counted = {}

    def both_answered():
        ask(apache, 1)
        for series, value in scraped(apache.url).items():
            if series.startswith("placement_http_requests_total{") and "/{name}" in series:
                counted[re.search('pid="([0-9]+)"', series)[1]] = value
        return len(counted) == 2

    wait_until(both_answered, apache.said)
    assert set(counted) == daemons(apache)
    log = (folder / apache.url.rpartition(":")[2] / "placement-api_error.log").read_text()
    told = [line for line in log.splitlines() if "set PROMETHEUS_MULTIPROC_DIR" in line]
    # one of each process
    assert len(told) == 2
