"""Clients with passwords: the agent, nova-manage and `openstack`, in a cloud of two regions."""

import os
import signal
import subprocess
import time

import pytest

from tests.functional.placement.serving.programs import (
    PATIENCE,
    Server,
    free_port,
    needed,
    wait_until,
)
from tests.keystone.cloud import options, start_ours
from tests.keystone.identity import PASSWORD, Identity
from tests.keystone.server import BRIEF

AGENT = """\
[DEFAULT]
compute_driver = fake.SmallFakeDriver
host = {host}
state_path = {folder}
update_resources_interval = 1
[compute]
resource_provider_association_refresh = 1
[placement]
auth_type = password
auth_url = {keystone}
username = {user}
password = {password}
user_domain_name = Default
project_name = demo
project_domain_name = Default
region_name = {region}
valid_interfaces = {interfaces}
"""
#: seconds in which a running agent must report: it logs in often while tokens are brief
REPORT = 5 * PATIENCE


@pytest.fixture(scope="module")
def regions(start_for_module, tmp_path_factory, identity):
    """Return the services of two regions; the east's public endpoint is out of reach."""
    services = {}
    chosen = options(identity.url, token_cache_time="-1")
    for name in ("east", "west"):
        service = start_ours(start_for_module, tmp_path_factory.mktemp(name), **chosen)
        services[name] = service
    beyond = f"http://127.0.0.1:{free_port()}"
    identity.region("east", internal=services["east"].url, public=beyond)
    identity.region("west", public=services["west"].url)
    return services


@pytest.fixture
def configured(tmp_path, people, identity, regions):
    """Return a function that writes an agent's configuration file and returns its path."""

    def configured(user="the-service", region="east", **changes):
        values = {
            "host": tmp_path.name[:40],
            "folder": tmp_path / "state",
            "user": user,
            "keystone": identity.url,
            "password": PASSWORD,
            "region": region,
            "interfaces": "internal,public",
            **changes,
        }
        (tmp_path / "state").mkdir(exist_ok=True)
        path = tmp_path / "berth-compute.conf"
        path.write_text(AGENT.format(**values))
        return path

    return configured


def environ(**more):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    return plain | more


def run(program, path, *arguments):
    """Run a command; return its exit code and everything it said."""
    done = subprocess.run(
        [needed(program, "berth"), "--config-file", path, *arguments],
        env=environ(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def names(service, people):
    """Return the names of the providers of a service."""
    answer = service.ask(people.token("admin"))
    return {provider["name"] for provider in answer.body["resource_providers"]}


@pytest.mark.parametrize(("region", "other"), [("east", "west"), ("west", "east")])
def test_agent_and_nova_manage_work_in_their_region(
    configured, regions, people, tmp_path, region, other
):
    path = configured(region=region)
    code, said = run("berth-compute", path, "--once")
    assert code == 0, said
    host = tmp_path.name[:40]
    assert host in names(regions[region], people)
    assert host not in names(regions[other], people)
    code, said = run("nova-manage", path, "placement", "audit", "--http")
    assert code == 0, said


def test_an_agent_without_a_region_may_report_to_another(configured, regions, people, tmp_path):
    """It takes the first endpoint in the catalogue; only the east has an internal one."""
    path = configured(region="west", interfaces="internal")
    path.write_text(path.read_text().replace("region_name = west\n", ""))
    code, said = run("berth-compute", path, "--once")
    assert code == 0, said
    host = tmp_path.name[:40]
    assert host in names(regions["east"], people)
    assert host not in names(regions["west"], people)


def test_an_interface_that_a_region_lacks_is_named(configured):
    code, said = run("berth-compute", configured(region="west", interfaces="internal"), "--once")
    assert code == 3
    assert "endpoint for placement service in west region not found" in said


def test_an_endpoint_out_of_reach_is_named(configured):
    code, said = run("berth-compute", configured(interfaces="public"), "--once")
    assert code == 3
    assert "Connection refused" in said


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("berth-compute", "--once"), 3),
        (("nova-manage", "placement", "audit", "--http"), 1),
    ],
    ids=lambda command: command[0] if isinstance(command, tuple) else "",
)
@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"password": "wrong"}, "authentication"),
        ({"user": "nobody"}, "authentication"),
        ({"user": "the-member"}, "Policy does not allow placement:resource_providers:"),
    ],
    ids=["password", "user", "role"],
)
def test_a_refused_user_is_told_who_it_is_and_which_role_is_missing(
    configured, command, code, wrong, reason
):
    program, *arguments = command
    found, said = run(program, configured(**wrong), *arguments)
    assert found == code, said
    assert reason in said
    assert f"user '{wrong.get('user', 'the-service')}' of group [placement]" in said
    assert "the role service" in said
    assert "doc/agent.rst" in said
    assert PASSWORD not in said


def test_an_agent_without_the_role_service_reports_all_but_a_reshape(configured, regions, people):
    code, said = run("berth-compute", configured(user="the-admin"), "--once")
    assert code == 0, said


def test_a_running_agent_gets_new_tokens(configured, regions, brief, people, tmp_path):
    """Its tokens expire, and are revoked: the agent logs no error."""
    path = configured(keystone=brief.url)
    log = regions["east"].server.log

    def answered(since):
        """Return the statuses of the agent's requests since an offset of the service's log."""
        lines = log.read_text()[since:].splitlines()
        return [line.split("status: ")[1].split()[0] for line in lines if "?in_tree=" in line]

    command = [needed("berth-compute", "berth"), "--config-file", str(path)]
    agent = Server(command, tmp_path, environ(), "")
    try:
        wait_until(lambda: "200" in answered(0), agent.said, REPORT)
        time.sleep(BRIEF)
        expired = len(log.read_text())
        wait_until(lambda: answered(expired).count("200") > 1, agent.said, REPORT)
        token = people.token("service")
        # a new password ends all tokens of a user, also if it is the old one
        Identity(brief.url).change("user", people.users["service"], password=PASSWORD)
        assert regions["east"].status(token) == 401
        revoked = len(log.read_text())
        wait_until(lambda: answered(revoked).count("200") > 1, agent.said, REPORT)
        assert [line for line in agent.said().splitlines() if " ERROR " in line] == []
    finally:
        assert agent.stop(signal.SIGTERM) == 0


def test_an_agent_outlives_a_keystone_that_is_down(configured, regions, keystone, tmp_path):
    log = regions["east"].server.log
    command = [needed("berth-compute", "berth"), "--config-file", str(configured())]
    agent = Server(command, tmp_path, environ(), "")
    try:
        before = len(log.read_text())
        wait_until(lambda: "status: 200" in log.read_text()[before:], agent.said, REPORT)
        keystone.stop()
        try:
            down = len(log.read_text())
            wait_until(lambda: "status: 503" in log.read_text()[down:], agent.said, REPORT)
        finally:
            keystone.start()
        back = len(log.read_text())
        wait_until(lambda: "status: 200" in log.read_text()[back:], agent.said, REPORT)
    finally:
        assert agent.stop(signal.SIGTERM) == 0


@pytest.mark.parametrize(
    ("user", "region", "said"),
    [
        ("the-admin", "east", None),
        ("the-service", "west", None),
        ("the-reader", "east", "403"),
        ("the-admin", "nowhere", "region"),
    ],
)
def test_openstack_finds_the_service_in_its_region(
    programs, identity, regions, people, user, region, said
):
    done = subprocess.run(
        [programs / "openstack", "resource", "provider", "list"],
        env=environ(
            OS_AUTH_URL=identity.url,
            OS_USERNAME=user,
            OS_PASSWORD=PASSWORD,
            OS_USER_DOMAIN_ID="default",
            OS_PROJECT_NAME="demo",
            OS_PROJECT_DOMAIN_ID="default",
            OS_REGION_NAME=region,
            OS_INTERFACE="internal" if region == "east" else "public",
        ),
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) is (said is None), done.stderr
    assert (said or "") in done.stderr
