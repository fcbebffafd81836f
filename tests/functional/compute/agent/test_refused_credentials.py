"""What `berth-compute --once` and `nova-manage` say when placement doesn't let them in.

The agent is a process of its own; the service asks an identity server about each token.
"""

import os
import uuid

import pytest

from compute.cli import berth_compute, nova_manage
from compute.report.wire.failures import INCOMPLETE, PLAIN, UNREACHABLE, WRONG_ACCOUNT
from tests.functional.compute.agent.process import Service
from tests.functional.forked import Forked
from tests.functional.placement.http.test_keystone import file_of
from tests.functional.placement.keystone_stub import HOUR, Keystone, token
from tests.gabbi import services

AGENT = (berth_compute.main, "--once")
TREE = (nova_manage.main, "placement", "tree")
HEAL = (nova_manage.main, "placement", "heal_allocations", "--http")
MIGRATE = (nova_manage.main, "placement", "migrate_compute_inventory", "--http")
COMMANDS = pytest.mark.parametrize(
    ("command", "code"),
    [(AGENT, 3), (TREE, 1), (HEAL, 3), (MIGRATE, 1)],
    ids=["agent", "tree", "heal", "migrate"],
)
ROLE = (
    "The user of group [placement] needs the role service (admin is enough where nothing is "
    'reshaped): see "Access to placement"'
)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    with Keystone() as keystone:
        keystone.tokens.update(
            known=token("nova", ["service"], "services"),
            reader=token("rea", ["reader"], "services"),
            nova=token("nova", ["service", "admin"], "services"),
            operator=token("op", ["admin"], "services"),
            expired=token("nova", ["service"], "services", valid_for=-HOUR),
        )
        options = services.options_of(folder, {}) | {"api": {"auth_strategy": "keystone"}}
        options["keystone_authtoken"] = keystone.options()
        service = Service(None, file_of(folder, options))
        yield service
        service.stop()


@pytest.fixture
def run(tmp_path, forking, monkeypatch, capsys, own_logging):
    """Return a function that runs a command, and returns its exit code and line of stderr.

    The host has a node already, which `migrate_compute_inventory` needs; `new` is one without.
    """

    node = str(uuid.uuid4())

    def run(command, new=False, driver="fake.MediumFakeDriver", **placement):
        if not new:
            (tmp_path / "compute_id").write_text(node)
        options = {"auth_type": "admin_token", "token": "unknown", **placement}
        given = {f"OS_PLACEMENT__{name.upper()}": value for name, value in options.items()}
        given["OS_DEFAULT__STATE_PATH"] = str(tmp_path)
        given["OS_DEFAULT__COMPUTE_DRIVER"] = driver
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("OS_")}
        main, *arguments = command
        if main is berth_compute.main:
            ended = Forked(main, arguments, inherited | given)
            _, said = ended.communicate()
            code = ended.returncode
        else:
            with monkeypatch.context() as patched:
                for name in os.environ.keys() - inherited.keys():
                    patched.delenv(name)
                for name, value in given.items():
                    patched.setenv(name, value)
                capsys.readouterr()
                code = main(arguments)
            said = capsys.readouterr().err
        lines = [line for line in said.splitlines() if "normal at the first" not in line]
        (line,) = lines or [""]
        return code, line

    return run


@COMMANDS
@pytest.mark.parametrize("given", ["unknown", "expired"])
def test_a_token_that_keystone_refuses_is_one_line_that_says_what_to_check(
    run, service, command, code, given
):
    ended, line = run(command, endpoint=service.url, token=given)
    assert ended == code
    assert "401" in line
    assert "doesn't accept the token of group [placement]: check it." in line
    assert ROLE in line


@COMMANDS
def test_a_user_without_the_role_is_one_line_that_names_the_role(run, service, command, code):
    ended, line = run(command, endpoint=service.url, token="reader")
    assert ended == code
    assert "Placement knows the token of group [placement], but refuses the request." in line
    assert ROLE in line


def test_a_reshape_without_the_role_is_one_line_that_names_the_role(run, service):
    assert run(AGENT, new=True, endpoint=service.url, token="nova") == (0, "")
    driver = "fake.FakeNUMAReshapeDriver"
    ended, line = run(AGENT, new=True, driver=driver, endpoint=service.url, token="operator")
    assert ended == 1
    assert "403" in line
    assert ROLE in line


@COMMANDS
def test_a_service_that_is_not_there_is_one_line_with_its_url(run, command, code):
    ended, line = run(command, endpoint="http://127.0.0.1:1")
    assert ended == code
    assert line.count("http://127.0.0.1:1/") == 1
    assert f"Connection refused. {UNREACHABLE}" in line


@pytest.mark.parametrize(
    ("command", "code"), [(AGENT, 5), (TREE, 1), (HEAL, 3)], ids=["agent", "tree", "heal"]
)
def test_an_endpoint_with_a_wrong_path_is_one_line_with_its_url(run, service, command, code):
    ended, line = run(command, endpoint=f"{service.url}/elsewhere", token="known")
    assert ended == code
    assert f"Placement isn't at {service.url}/elsewhere/resource_providers" in line


def test_a_provider_that_is_not_there_is_no_wrong_path(run, service):
    command = (*TREE, "--provider", str(uuid.uuid4()))
    ended, line = run(command, endpoint=service.url, token="known")
    assert ended == 2
    assert "Placement isn't at" not in line


@COMMANDS
def test_https_where_the_service_speaks_http_is_one_line_that_says_so(run, service, command, code):
    url = service.url.replace("http://", "https://")
    ended, line = run(command, endpoint=url)
    assert ended == code
    assert url in line
    assert PLAIN in line


def test_without_configuration_both_ways_to_placement_are_named(run):
    ended, line = run(TREE, auth_type="")
    assert ended == 127
    assert "doesn't say how to reach placement: set auth_type and what it needs in group" in line
    assert "[placement_database]connection. No configuration file was found" in line


def test_a_keystone_that_is_not_there_is_one_line_with_its_url(run):
    options = dict.fromkeys(("username", "password", "project_name"), "nova")
    options |= dict.fromkeys(("user_domain_name", "project_domain_name"), "Default")
    for url in ("http://127.0.0.1:1", "http://127.0.0.1:1/v3"):
        for command, code in ((AGENT, 3), (TREE, 1)):
            ended, line = run(command, auth_type="password", auth_url=url, **options)
            assert ended == code
            assert line.count("http://127.0.0.1:1") == 1
            assert f"Connection refused. {UNREACHABLE}" in line


def test_a_new_host_has_nothing_to_migrate_and_placement_is_not_asked(run):
    ended, line = run(MIGRATE, new=True, endpoint="http://127.0.0.1:1")
    assert ended == 2
    assert "the compute service never ran here" in line


@COMMANDS
def test_a_url_that_is_none_is_one_line_that_names_the_option(run, command, code):
    ended, line = run(command, endpoint="http://127.0.0.1:99999")
    assert ended == (2 if command == AGENT else 127)
    assert "Group [placement]: endpoint is not a URL: 'http://127.0.0.1:99999'." in line


def test_an_account_without_its_token_is_one_line_that_says_what_is_missing(run):
    ended, line = run(AGENT, endpoint="http://127.0.0.1:1", token="")
    assert ended == 2
    assert f"No valid authentication is available. {INCOMPLETE}" in line
    # who says too much lacks nothing
    options = dict.fromkeys(("username", "password", "project_name"), "nova")
    options |= {"user_domain_name": "Default", "system_scope": "all"}
    ended, line = run(AGENT, auth_type="password", auth_url="http://127.0.0.1:1/v3", **options)
    assert ended == 2
    assert f"trust, system or unscoped. {WRONG_ACCOUNT}" in line
    assert INCOMPLETE not in line
