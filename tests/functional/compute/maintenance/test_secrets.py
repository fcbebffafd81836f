"""No secret of the configuration is in what agent and commands say when something is wrong."""

import contextlib
import socketserver
import threading

import pytest

from compute.cli import berth_compute, nova_manage
from tests.functional.compute.maintenance.http_service import serving
from tests.functional.compute.maintenance.site import Site
from virt.fake import MediumFakeDriver

SECRETS = ("hunter2", "HUNTER2", "aHVudGVyMi")
#: a port that nobody listens on
DEAD = "127.0.0.1:9"
USER = "nova:hunter2%2Fsecret"

QUERY = "/placement?token=hunter2"
LOG_IN = "auth_type = password\nusername = nova\nproject_name = service\n"
DOMAINS = "user_domain_name = Default\nproject_domain_name = Default\n"
#: what is wrong → the rest of the configuration file
WRONG = {
    "endpoint": f"[placement]\nauth_type = admin_token\ntoken = t\nendpoint = http://{USER}@{DEAD}\n",
    "no URL": f"[placement]\nauth_type = admin_token\ntoken = t\nendpoint = htp://{USER}@{DEAD}\n",
    "no port": f"[placement]\nauth_type = admin_token\ntoken = t\nendpoint = http://{USER}@h:x\n",
    "override": f"[placement]\nauth_type = none\nendpoint_override = http://{USER}@{DEAD}/p\n",
    "token": f"[placement]\nauth_type = admin_token\ntoken = hunter2\nendpoint = http://{DEAD}\n",
    "auth_url": f"[placement]\n{LOG_IN}{DOMAINS}password = p\nauth_url = http://{USER}@{DEAD}\n",
    "password": f"[placement]\n{LOG_IN}{DOMAINS}password = hunter2\nauth_url = http://{DEAD}/v3\n",
    "no domains": f"[placement]\n{LOG_IN}password = hunter2\nauth_url = http://{DEAD}/v3\n",
    "no =": f"[placement]\n{LOG_IN}password hunter2\n",
    "no section": "[placement\npassword = hunter2\n",
    "no key": "[placement]\n= hunter2\n",
    "continued": "[placement]\n  hunter2\n",
    "basic": f"[placement]\nauth_type = http_basic\nusername = nova\npassword = hunter2\n"
    f"endpoint = http://{DEAD}\n",
    "served": f"[placement]\nauth_type = admin_token\ntoken = t\nendpoint = http://{USER}@SERVED\n",
    "query": f"[placement]\nauth_type = admin_token\ntoken = t\nendpoint = http://{DEAD}{QUERY}\n",
    "served query": f"[placement]\nauth_type = admin_token\ntoken = t\nendpoint = http://SERVED{QUERY}\n",
    "fragment": f"[placement]\nauth_type = none\nendpoint_override = http://{DEAD}/p#hunter2\n",
    "network": f"[placement]\nauth_type = none\nendpoint_override = http://{DEAD}\n"
    f"[neutron]\nauth_type = none\nendpoint_override = http://{USER}@{DEAD}{QUERY}\n",
    "query of auth_url": f"[placement]\n{LOG_IN}{DOMAINS}password = p\nauth_url = http://{DEAD}/v3{QUERY}\n",
    "user and query": f"[placement]\nauth_type = none\nendpoint_override = http://{USER}@{DEAD}{QUERY}\n",
    "query of no URL": f"[placement]\nauth_type = none\nendpoint_override = {DEAD}{QUERY}\n",
    "no @": f"[placement]\nauth_type = none\nendpoint_override = http://nova:hunter2/{DEAD}\n",
    "query of the database": f"[placement_database]\nconnection = mysql+pymysql://{DEAD}/placement?user=nova&password=hunter2\n",
    "query of no database": "[placement_database]\nconnection = nodb://nova/?password=hunter2\n",
    "query of a file": "[placement_database]\nconnection = sqlite:///none.db?password=hunter2\n",
    "database": f"[placement_database]\nconnection = mysql+pymysql://{USER}@{DEAD}/placement\n",
    "no database": "[placement_database]\nconnection = nodb://nova:hunter2@/\n",
}
#: program → its arguments
RUN = {
    "agent": (berth_compute.main, ["--once"]),
    "agent --debug": (berth_compute.main, ["--debug", "--once"]),
    "tree": (nova_manage.main, ["placement", "tree"]),
    "heal": (nova_manage.main, ["placement", "heal_allocations"]),
    "audit --debug": (nova_manage.main, ["--debug", "placement", "audit", "--json"]),
}


@pytest.fixture
def site(tmp_path, capsys, own_logging):
    with contextlib.closing(Site(tmp_path, "sqlite:///none.db", capsys.readouterr)) as site:
        yield site


def pairs():
    """Yield program and what is wrong; an ordinary run has each of what is wrong once."""
    for row, program in enumerate(RUN):
        for number, wrong in enumerate(WRONG):
            is_some = number % len(RUN) == row
            yield pytest.param(program, wrong, marks=() if is_some else pytest.mark.thorough)


@pytest.mark.parametrize(("program", "wrong"), list(pairs()))
def test_no_secret_is_shown_or_logged(site, capsys, tmp_path, wrong, program):
    main, arguments = RUN[program]
    log = tmp_path / "log"
    with contextlib.ExitStack() as stack:
        more = WRONG[wrong]
        if "SERVED" in more:
            answering = stack.enter_context(_garbage())
            more = more.replace("SERVED", answering)
        site.file.write_text(
            f"[DEFAULT]\nhost = h\nstate_path = {site.state}\nlog_file = {log}\n"
            f"compute_driver = fake.MediumFakeDriver\n{more}"
        )
        code = main([f"--config-file={site.file}", *arguments])
    out, err = capsys.readouterr()

    shown = out + err + (log.read_text() if log.exists() else "")
    assert code not in (0, 255), shown
    assert shown
    assert not any(secret in shown for secret in SECRETS)
    for file in site.state.rglob("*"):
        assert not any(secret.encode() in file.read_bytes() for secret in SECRETS)


@contextlib.contextmanager
def _garbage():
    """Give the address of what accepts connections, and closes each at once."""

    class Closing(socketserver.BaseRequestHandler):
        """Answers nothing."""

    with socketserver.TCPServer(("127.0.0.1", 0), Closing) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_a_user_of_a_url_is_sent(sqlite_site, monkeypatch):
    """A proxy before placement may want one."""
    sqlite_site.started(MediumFakeDriver)
    seen = []
    with serving(sqlite_site.url, roles=["admin"], seen=seen) as url:
        with_user = url.replace("http://", "http://nova:hunter2%2Fsecret@")
        sqlite_site.configure(
            more=f"[placement]\nauth_type = admin_token\nendpoint = {with_user}\ntoken = admin\n"
        )
        assert sqlite_site.run("tree").code == 0
    assert {headers["HTTP_AUTHORIZATION"] for headers in seen} == {
        "Basic bm92YTpodW50ZXIyL3NlY3JldA=="
    }
    assert {headers["HTTP_X_AUTH_TOKEN"] for headers in seen} == {"admin"}
