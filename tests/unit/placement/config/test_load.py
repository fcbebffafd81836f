"""Where the configuration comes from (rest-api.md 7.1)."""

import os

import pytest
from oslo_config import cfg

from placement import config
from placement.cli.failure import line_of
from placement.config import sources


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "placement.conf"
    path.write_text(
        "[api]\nauth_strategy = noauth2\n[placement]\nmax_allocation_candidates = 7\n"
        "[placement_database]\nconnection = sqlite:///from-file\n"
    )
    return str(path)


DATABASE = {("placement_database", "connection"): "sqlite://"}


def load(argv=(), files=(), environ=False, overrides=DATABASE):
    return config.load(argv, files, environ, overrides)


DEFAULTS = {
    ("api", "auth_strategy"): "keystone",
    ("placement", "randomize_allocation_candidates"): False,
    ("placement", "incomplete_consumer_project_id"): "00000000-0000-0000-0000-000000000000",
    ("placement", "incomplete_consumer_user_id"): "00000000-0000-0000-0000-000000000000",
    ("placement", "allocation_conflict_retry_count"): 10,
    ("placement", "max_allocation_candidates"): -1,
    ("placement", "allocation_candidates_generation_strategy"): "depth-first",
    ("workarounds", "optimize_for_wide_provider_trees"): False,
    ("placement_database", "connection_parameters"): "",
    ("placement_database", "slave_connection"): None,
    ("placement_database", "sync_on_startup"): False,
    ("placement_database", "sqlite_synchronous"): True,
    ("placement_database", "mysql_sql_mode"): "TRADITIONAL",
    ("placement_database", "connection_recycle_time"): 3600,
    ("placement_database", "max_pool_size"): None,
    ("placement_database", "max_retries"): 10,
    ("placement_database", "retry_interval"): 10,
    ("placement_database", "connection_debug"): 0,
    ("placement_database", "connection_trace"): False,
    ("oslo_policy", "enforce_new_defaults"): True,
    ("oslo_policy", "policy_file"): "policy.yaml",
    ("cors", "allowed_origin"): None,
    ("cors", "allow_methods"): ["GET", "PUT", "POST", "DELETE", "PATCH"],
    ("oslo_middleware", "enable_proxy_headers_parsing"): False,
}


@pytest.mark.parametrize(("option", "default"), DEFAULTS.items(), ids=lambda value: str(value))
def test_defaults_are_the_reference_s(option, default):
    group, name = option
    assert load()[group][name] == default


def test_files_win_over_defaults(file):
    conf = load(files=[file])
    assert (conf.api.auth_strategy, conf.placement.max_allocation_candidates) == ("noauth2", 7)


def test_the_environment_wins_over_files(file, monkeypatch):
    monkeypatch.setenv("OS_PLACEMENT__MAX_ALLOCATION_CANDIDATES", "8")
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", "sqlite:///from-environment")
    conf = load(files=[file], environ=True, overrides={})
    found = (conf.placement.max_allocation_candidates, conf.placement_database.connection)
    assert found == (8, "sqlite:///from-environment")


def test_the_environment_alone_is_enough(monkeypatch):
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", "sqlite:///from-environment")
    monkeypatch.setenv("OS_API__AUTH_STRATEGY", "noauth2")
    conf = load(environ=True, overrides={})
    found = (conf.api.auth_strategy, conf.placement_database.connection)
    assert found == ("noauth2", "sqlite:///from-environment")


def test_the_environment_can_be_left_out(monkeypatch):
    monkeypatch.setenv("OS_API__AUTH_STRATEGY", "noauth2")
    assert load().api.auth_strategy == "keystone"


def test_overrides_win_over_everything(file, monkeypatch):
    monkeypatch.setenv("OS_PLACEMENT__MAX_ALLOCATION_CANDIDATES", "8")
    overrides = {("placement", "max_allocation_candidates"): 9}
    conf = load(files=[file], environ=True, overrides=overrides)
    assert conf.placement.max_allocation_candidates == 9


def test_a_file_can_be_named_on_the_command_line(file):
    assert load([f"--config-file={file}"]).api.auth_strategy == "noauth2"


def test_the_deprecated_place_of_the_strategy_is_read(tmp_path):
    path = tmp_path / "old.conf"
    path.write_text("[DEFAULT]\nauth_strategy = noauth2\n")
    assert load(files=[str(path)]).api.auth_strategy == "noauth2"


def test_two_configurations_do_not_share_anything(file):
    first, second = load(files=[file]), load()
    assert (first.api.auth_strategy, second.api.auth_strategy) == ("noauth2", "keystone")


def test_registering_twice_does_no_harm():
    conf = cfg.ConfigOpts()
    config.register(conf)
    assert config.register(conf) is None


def test_the_database_has_to_be_named():
    with pytest.raises(cfg.RequiredOptError, match="connection"):
        load(overrides={})


def test_a_value_that_is_no_choice_is_rejected():
    with pytest.raises(ValueError, match="Valid values are"):
        load(overrides={**DATABASE, ("api", "auth_strategy"): "none"})


def test_the_passwords_of_the_database_are_secret():
    options = {option.name: option for option in dict(config.list_opts())["placement_database"]}
    assert (options["connection"].secret, options["slave_connection"].secret) == (True, True)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return an empty home folder; no variable configures anything."""
    for name in [name for name in os.environ if name.startswith("OS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def count_of(conf):
    return conf.placement.allocation_conflict_retry_count


def write(path, count, connection=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"[placement]\nallocation_conflict_retry_count = {count}\n"
        f"[placement_database]\nconnection = sqlite://{connection}\n"
    )


def test_the_files_of_a_directory_override_the_file_in_the_order_of_their_names(home):
    write(home / ".placement" / "placement.conf", 1)
    write(home / ".placement" / "placement.conf.d" / "20-b.conf", 3)
    write(home / ".placement" / "placement.conf.d" / "10-a.conf", 2)
    assert count_of(config.load()) == 3


def test_the_variable_names_a_file_and_the_directory_beside_it(home, monkeypatch):
    write(home / ".placement" / "placement.conf", 1)
    write(home / ".placement" / "placement.conf.d" / "a.conf", 2)
    write(home / "etc" / "placement.conf", 3)
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(home / "etc"))
    conf = config.load()
    assert count_of(conf) == 3

    # the directory comes later: a reload reads it
    write(home / "etc" / "placement.conf.d" / "a.conf", 4)
    conf.reload_config_files()
    assert count_of(conf) == 4
    write(home / "etc" / "placement.conf.d" / "b.conf", 5)
    conf.reload_config_files()
    assert count_of(conf) == 5


def test_an_empty_variable_names_nothing(home, monkeypatch):
    write(home / ".placement" / "placement.conf", 1)
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", "")
    assert count_of(config.load()) == 1


def test_the_variable_s_file_must_be_there(home, monkeypatch):
    write(home / ".placement" / "placement.conf", 1)
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(home / "etc"))
    with pytest.raises(cfg.ConfigFilesNotFoundError):
        config.load()


def test_the_variable_counts_no_more_than_the_command_line(home, monkeypatch):
    write(home / "etc" / "placement.conf", 1)
    write(home / "etc" / "placement.conf.d" / "a.conf", 2)
    write(home / "own.conf", 3)
    write(home / "own.d" / "a.conf", 4)
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(home / "etc"))
    own = f"--config-file={home}/own.conf"
    assert count_of(config.load([own])) == 3
    assert count_of(config.load([own, f"--config-dir={home}/own.d"])) == 4


def test_a_caller_that_leaves_out_the_environment_ignores_the_variable(home, monkeypatch):
    write(home / ".placement" / "placement.conf", 1)
    write(home / "etc" / "placement.conf", 2)
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(home / "etc"))
    assert count_of(config.load(environ=False)) == 1


def test_without_any_file_the_message_says_where_files_are_searched(home, monkeypatch):
    monkeypatch.setenv("SNAP", "/snap/placement")
    with pytest.raises(cfg.RequiredOptError) as missing:
        config.load()
    assert str(missing.value) == (
        "value required for option connection in group [placement_database]: no configuration "
        "file found in ~/.placement, ~, /etc/placement, /etc and /snap/placement/etc/placement "
        "(placement.conf or placement.conf.d/*.conf)."
    )


def test_a_wrong_value_is_told_with_the_file_that_has_it(file):
    with open(file, "a") as more:
        more.write("[oslo_middleware]\nenable_proxy_headers_parsing = ja\n")
    with pytest.raises(cfg.ConfigFileValueError) as refused:
        sources.check_values(load(files=[file]))
    assert f"enable_proxy_headers_parsing from {file} is not valid" in line_of(refused.value)


def test_a_wrong_value_is_told_before_what_is_missing(home):
    (home / "placement.conf").write_text("[api]\nauth_strategy = $nobody\n")
    with pytest.raises(sources.UnknownReference, match=r"^\[api\]auth_strategy has a \$"):
        config.load()


def test_a_file_that_is_named_must_be_there(tmp_path):
    with pytest.raises(cfg.ConfigFilesNotFoundError):
        load(files=[str(tmp_path / "placement.conf")])
