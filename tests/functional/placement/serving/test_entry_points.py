"""Entry points by which other programs load the service, options and rules (rest-api.md 7.5)."""

import importlib.metadata
import inspect
import subprocess

import pytest
from werkzeug.test import Client

from placement import config
from placement.deploy import loadapp
from placement.wsgi import init_application
from tests.functional.placement.serving.conftest import configuration
from tests.functional.placement.serving.programs import needed
from tests.service_settings import UNTIMED

HEADERS = {"x-auth-token": "admin", "openstack-api-version": "placement latest"}


def overrides(tmp_path, **options):
    found = {
        **UNTIMED,
        ("placement_database", "connection"): f"sqlite:///{tmp_path}/placement.db",
        ("placement_database", "sync_on_startup"): True,
        ("api", "auth_strategy"): "noauth2",
    }
    return found | {tuple(name.split("__")): value for name, value in options.items()}


@pytest.fixture
def conf(tmp_path):
    return config.load(files=[], environ=False, overrides=overrides(tmp_path))


@pytest.mark.parametrize("more", [{}, {"project_name": "anything"}])
def test_loadapp_returns_the_service_of_a_configuration(conf, more):
    client = Client(loadapp(conf, **more))
    assert client.get("/traits/CUSTOM_A", headers=HEADERS).status_code == 404
    # the standard names exist before the first request
    assert len(client.get("/resource_classes", headers=HEADERS).json["resource_classes"]) > 10


def test_loadapp_s_arguments_have_the_reference_s_names():
    assert list(inspect.signature(loadapp).parameters) == ["config", "project_name"]


def test_two_loaded_apps_are_independent(tmp_path):
    clients = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        conf = config.load(files=[], environ=False, overrides=overrides(tmp_path / name))
        clients.append(Client(loadapp(conf)))
    clients[0].put("/traits/CUSTOM_A", headers=HEADERS)
    found = [one.get("/traits/CUSTOM_A", headers=HEADERS).status_code for one in clients]
    assert found == [204, 404]


def test_the_policy_is_read_before_the_database_is_touched(tmp_path):
    (tmp_path / "policy.yaml").write_text("a: [b\n")
    conf = config.load(
        files=[],
        environ=False,
        overrides=overrides(tmp_path, oslo_policy__policy_file=str(tmp_path / "policy.yaml")),
    )
    with pytest.raises(ValueError, match="while parsing"):
        loadapp(conf)
    assert not (tmp_path / "placement.db").exists()


def test_init_application_reads_the_environment(tmp_path, monkeypatch, own_process):
    for name, value in configuration(tmp_path).items():
        if name.startswith("OS_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))
    (tmp_path / "placement.conf").touch()
    answer = Client(init_application()).get("/resource_providers", headers=HEADERS)
    assert answer.json == {"resource_providers": []}


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("console_scripts", "placement-manage"),
        ("console_scripts", "placement-status"),
        ("oslo.config.opts", "placement.conf"),
        ("oslo.config.opts.defaults", "placement.conf"),
        ("oslo.policy.policies", "placement"),
        ("oslo.policy.enforcer", "placement"),
    ],
)
def test_entry_points_are_those_of_the_reference(group, name):
    ours = importlib.metadata.distribution("openstack-berth").entry_points
    (found,) = ours.select(group=group, name=name)
    assert callable(found.load())


def output(tmp_path, command, *arguments):
    """Return the output of a command of an oslo library."""
    ran = subprocess.run(
        [needed(command, "oslo.config and oslo.policy"), *arguments],
        cwd=tmp_path,
        env=configuration(tmp_path),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_policy_in_force_can_be_written(tmp_path):
    folder = tmp_path / ".placement"
    folder.mkdir()
    (folder / "placement.conf").write_text(f"[oslo_policy]\npolicy_file = {folder}/policy.yaml\n")
    (folder / "policy.yaml").write_text('"placement:traits:list": "role:auditor"\n')
    policy = output(tmp_path, "oslopolicy-policy-generator", "--namespace", "placement")
    assert '"placement:traits:list": "role:auditor"' in policy
    assert '"placement:reshaper:reshape": "rule:service_api"' in policy
