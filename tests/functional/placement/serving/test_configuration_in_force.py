"""The configuration that placement-api serves with: what a reload changes, and what it keeps.

The reload of a running service is in test_reloads.py.
"""

import os

import pytest

from placement.cli.configuration import ConfigurationInForce
from placement.cli.serve import parser
from tests.functional.placement.serving.test_reloads import KEPT, KEYSTONE

RIGHT = """
[DEFAULT]
debug = false
[api]
auth_strategy = noauth2
[placement_database]
connection = sqlite:///placement.db
sync_on_startup = true
[berth]
noauth2_admin_roles = admin,service
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Return the path of the configuration file, which nothing in the environment overrides."""
    for name in [name for name in os.environ if name.startswith("OS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "placement.conf"


@pytest.fixture
def in_force(file, own_logging):
    """Return a function that gives the configuration of a service that has started."""

    def in_force(text, *arguments):
        file.write_text(text)
        started = ConfigurationInForce(
            parser().parse_args(["--config-file", str(file), *arguments])
        )
        started.check()
        return started

    return in_force


@pytest.fixture
def reload(capsys):
    """Return a function that reloads, and returns what the log says of it."""

    def reload(started):
        capsys.readouterr()
        started.reload()
        return capsys.readouterr().err

    return reload


def test_a_file_of_names_that_is_not_there_is_told_at_the_start(in_force, tmp_path, capsys):
    in_force(f"{RIGHT}\nnames_file = {tmp_path}/names.json\n")
    said = capsys.readouterr().err
    assert f"names_file {tmp_path}/names.json: The file of names can't be" in said


def may_reshape(started):
    return "service" in started.conf.berth.noauth2_admin_roles


def test_a_reload_reads_the_file_again(in_force, file, reload):
    started = in_force(RIGHT)
    assert may_reshape(started)
    file.write_text(RIGHT.replace("admin,service", "admin"))
    assert KEPT not in reload(started)
    assert not may_reshape(started)


@pytest.mark.parametrize(
    ("right", "wrong", "reason"),
    [
        # the line itself isn't shown: it may have a secret
        ("[berth]", "[berth", "Invalid section (must end with ])"),
        ("[berth]", "[berth]\nsearch_time_limit = soon", "search_time_limit"),
        ("strategy = noauth2", "strategy = anything", "anything"),
        ("[berth]", "[berth]\nmetrics_allowed_source_ranges = here", "'here' does not appear"),
        ("[berth]", "[healthcheck]\nbackends = no\n[berth]", "[healthcheck]backends"),
        ("sqlite:///placement.db", "nothing://me:hunter2@host/name", "no kind of database"),
        ("debug = false", "debug = maybe", "maybe"),
        ("debug = false", "log_dir = /nowhere", "/nowhere"),
        ("debug = false", "log_config_append = /nowhere", "/nowhere"),
    ],
)
def test_a_wrong_option_changes_nothing_and_the_log_says_why(
    in_force, file, reload, right, wrong, reason
):
    started = in_force(RIGHT)
    policy = started.policy
    file.write_text(RIGHT.replace("admin,service", "admin").replace(right, wrong))
    said = reload(started)
    assert may_reshape(started)
    assert started.policy is policy
    (line,) = [line for line in said.splitlines() if KEPT in line]
    assert reason in line
    assert "hunter2" not in said


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"["])
def test_a_file_that_can_not_be_read_changes_nothing(in_force, file, reload, content):
    started = in_force(RIGHT)
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    assert str(file) in reload(started).partition(KEPT)[2]
    assert may_reshape(started)


def test_a_policy_that_can_not_be_used_changes_nothing(in_force, file, reload):
    started = in_force(RIGHT)
    policy = started.policy
    file.write_text(RIGHT.replace("admin,service", "admin"))
    (file.parent / "policy.yaml").write_text("x: [\n")
    assert "The policy can't be used" in reload(started).partition(KEPT)[2]
    assert may_reshape(started)
    assert started.policy is policy


def test_what_stays_in_force_is_the_configuration_of_the_last_good_reload(in_force, file, reload):
    started = in_force(RIGHT.replace("admin,service", "admin"))
    file.write_text(RIGHT)
    reload(started)
    file.write_text("[")
    reload(started)
    assert may_reshape(started)


def test_a_reload_can_not_remove_authentication_on_a_public_address(in_force, file, reload):
    started = in_force(RIGHT.replace("noauth2\n", "keystone\n") + KEYSTONE, "--host", "0.0.0.0")
    file.write_text(RIGHT)
    said = reload(started)
    assert "everybody would be the administrator" in said.partition(KEPT)[2]
    assert started.conf.api.auth_strategy == "keystone"
