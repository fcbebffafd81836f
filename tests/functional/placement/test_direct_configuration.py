"""PlacementDirect takes any configuration object and registers the options that it lacks."""

import itertools

import pytest
from oslo_config import cfg
from oslo_log import log

import compute.config
import placement.conf
from compute.config.placement import build_adapter
from placement.direct import PlacementDirect
from tests.functional.forked import PROCESSES, code_of

NIL_UUID = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def file(tmp_path):
    """Return a configuration file with options of both sides."""
    path = tmp_path / "both.conf"
    path.write_text(
        "[placement_database]\n"
        f"connection = sqlite:///{tmp_path}/placement.db\n"
        "sync_on_startup = true\n"
        "[placement]\n"
        "region_name = one\n"
        "incomplete_consumer_user_id = nobody\n"
    )
    return path


def parsed(file, register=()):
    """Return a configuration read from the file, with these options registered before."""
    conf = cfg.ConfigOpts()
    for each in register:
        each(conf)
    conf([], default_config_files=[str(file)], default_config_dirs=[], use_env=False)
    return conf


def status(conf):
    with PlacementDirect(conf) as client:
        return client.get("/resource_providers").status_code


def test_what_is_missing_is_told_by_what_was_read(tmp_path, monkeypatch):
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONECTION", "sqlite://")
    with pytest.raises(cfg.RequiredOptError, match=r"no configuration file was named\.$"):
        PlacementDirect.configured(files=[], environ=False)
    with pytest.raises(cfg.RequiredOptError, match="Do you mean OS_PLACEMENT_DATABASE__CONN"):
        PlacementDirect.configured(files=[])
    path = tmp_path / "some.conf"
    path.touch()
    with pytest.raises(cfg.RequiredOptError, match=rf"write it into {path}\.$"):
        PlacementDirect.configured(files=[str(path)], environ=False)


def test_nothing_has_to_be_registered(file):
    assert status(parsed(file)) == 200


def test_all_may_be_registered(file):
    assert status(parsed(file, [placement.conf.register_opts])) == 200


def test_some_may_be_registered(file):
    def some(conf):
        conf.register_opt(cfg.IntOpt("max_pool_size"), group="placement_database")
        conf.register_opt(cfg.StrOpt("region_name"), group="placement")

    assert status(parsed(file, [some])) == 200


def test_an_option_that_is_registered_differently_stays_unchanged(file):
    def otherwise(conf):
        conf.register_opt(cfg.StrOpt("connection", help="Mine."), group="placement_database")
        conf.register_opt(
            cfg.StrOpt("incomplete_consumer_project_id", default="mine"), group="placement"
        )
        conf.register_opt(cfg.ListOpt("allow_methods", default=["GET"]), group="cors")

    conf = parsed(file, [otherwise])
    assert status(conf) == 200
    assert conf.placement.incomplete_consumer_project_id == "mine"
    assert conf.cors.allow_methods == ["GET"]
    assert "X-Auth-Token" in conf.cors.allow_headers


def test_an_unparsed_configuration_is_accepted(tmp_path):
    conf = cfg.ConfigOpts()
    placement.conf.register_opts(conf)
    conf.set_override("connection", f"sqlite:///{tmp_path}/p.db", group="placement_database")
    conf.set_override("sync_on_startup", True, group="placement_database")
    assert status(conf) == 200


def test_the_same_configuration_may_be_opened_again(file):
    conf = parsed(file)
    assert [status(conf), status(conf)] == [200, 200]


def test_options_may_be_registered_twice():
    conf = cfg.ConfigOpts()
    placement.conf.register_opts(conf)
    placement.conf.register_opts(conf)
    assert conf.placement.incomplete_consumer_user_id == NIL_UUID


def test_the_command_line_is_still_to_be_parsed_after_the_options_were_registered():
    conf = cfg.ConfigOpts()
    placement.conf.register_opts(conf)
    conf.set_override("connection", "sqlite://", group="placement_database")
    conf(["--debug"], default_config_files=[], default_config_dirs=[], use_env=False)
    assert conf.debug is True


BOTH = [compute.config.register, placement.conf.register_opts]


@pytest.mark.parametrize(
    "register", list(itertools.permutations(BOTH)), ids=["compute", "placement"]
)
def test_one_configuration_serves_both_sides(file, register):
    conf = parsed(file, register)
    assert status(conf) == 200
    assert conf.placement.region_name == "one"
    assert conf.placement.incomplete_consumer_user_id == "nobody"
    assert conf.placement.valid_interfaces == ["internal", "public"]
    assert conf.state_path == "/var/lib/berth"
    assert conf.berth.parallel_node_updates == 8
    assert conf.berth.search_time_limit == 10


@pytest.mark.parametrize(
    "register", list(itertools.permutations(BOTH)), ids=["compute", "placement"]
)
def test_the_compute_side_finds_placement_in_it(file, register):
    conf = parsed(file, register)
    conf.set_override("auth_type", "none", group="placement")
    adapter = build_adapter(conf)
    assert (adapter.service_type, adapter.region_name) == ("placement", "one")


def test_a_configuration_parsed_by_the_compute_side_is_accepted(file):
    conf = compute.config.load(files=[str(file)], environ={})
    assert status(conf) == 200
    assert conf.state_path == "/var/lib/berth"


def test_the_compute_side_may_come_after_the_service(file):
    conf = parsed(file)
    assert status(conf) == 200
    compute.config.register(conf)
    assert (conf.state_path, conf.placement.region_name) == ("/var/lib/berth", "one")


def ask_with_the_global_configuration(file):
    conf = cfg.CONF
    log.register_options(conf)
    conf([], default_config_files=[file], default_config_dirs=[], use_env=False)
    assert status(conf) == 200


def test_the_global_configuration_is_accepted(file, forking):
    # in a separate process, so that other tests don't find its options registered
    asking = PROCESSES.Process(target=ask_with_the_global_configuration, args=(str(file),))
    asking.start()
    assert code_of(asking) == 0
