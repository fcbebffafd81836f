"""compute.md §11: where options come from, and what they are when nobody says anything."""

import pytest
from oslo_config import cfg

from compute import config


def load(**sources):
    return config.load(**{"files": [], "environ": {}, **sources})


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "berth-compute.conf"
        path.write_text(text)
        return str(path)

    return write


@pytest.mark.parametrize(
    ("group", "option", "default"),
    [
        (None, "compute_driver", None),
        (None, "cpu_allocation_ratio", None),
        (None, "initial_cpu_allocation_ratio", 4.0),
        (None, "initial_ram_allocation_ratio", 1.0),
        (None, "initial_disk_allocation_ratio", 1.0),
        (None, "reserved_host_cpus", 0),
        (None, "reserved_host_memory_mb", 512),
        (None, "reserved_host_disk_mb", 0),
        (None, "update_resources_interval", 0),
        ("compute", "resource_provider_association_refresh", 300),
        ("compute", "sharing_providers_max_uuids_per_request", 200),
        ("compute", "provider_config_location", "/etc/nova/provider_config/"),
        ("compute", "image_type_exclude_list", []),
        ("compute", "allocation_writer", "auto"),
        ("workarounds", "reshape_periodic_nonfatal", False),
        ("devices", "enabled_mdev_types", []),
        ("pci", "report_in_placement", False),
        ("pci", "alias", []),
        ("placement", "service_type", "placement"),
        ("scheduler", "max_placement_results", 1000),
        ("scheduler", "query_placement_for_image_type_support", False),
        ("scheduler", "image_metadata_prefilter", False),
        ("filter_scheduler", "pci_in_placement", False),
        ("berth", "numa_in_placement", False),
        ("berth", "owner_trait", True),
        ("berth", "sysfs_root", "/sys"),
        ("berth", "procfs_root", "/proc"),
    ],
)
def test_an_option_nobody_sets_has_the_default_of_the_table(group, option, default):
    conf = load()
    assert (conf[group] if group else conf)[option] == default


def test_each_type_of_mediated_devices_that_is_enabled_may_have_a_group(file):
    path = file(
        "[devices]\nenabled_mdev_types = nvidia-35, nvidia-36\n"
        "[mdev_nvidia-35]\nmax_instances = 4\nmdev_class = CUSTOM_BIG\n"
        "[vgpu_nvidia-36]\ndevice_addresses = 0000:84:00.0,0000:85:00.0\n"
    )
    conf = load(files=[path])
    assert conf["mdev_nvidia-35"].max_instances == 4
    assert conf["mdev_nvidia-35"].mdev_class == "CUSTOM_BIG"
    assert conf["mdev_nvidia-36"].device_addresses == ["0000:84:00.0", "0000:85:00.0"]


@pytest.mark.parametrize("line", ["mdev_class = SMALL_GPU", "max_instances = 0"])
def test_a_group_of_a_type_that_makes_no_sense_is_refused_at_once(file, line):
    path = file(f"[devices]\nenabled_mdev_types = nvidia-35\n[mdev_nvidia-35]\n{line}\n")
    with pytest.raises(cfg.ConfigFileValueError, match=line.split()[0]):
        load(files=[path])


def test_the_environment_wins_over_a_file(file):
    path = file("[DEFAULT]\nreserved_host_cpus = 1\n[berth]\nsysfs_root = /from/file\n")
    conf = load(
        files=[path],
        environ={"OS_DEFAULT__RESERVED_HOST_CPUS": "2", "OS_BERTH__NUMA_IN_PLACEMENT": "true"},
    )
    assert conf.reserved_host_cpus == 2
    assert conf.berth.numa_in_placement is True
    assert conf.berth.sysfs_root == "/from/file"


def test_the_environment_is_the_process_s_own_unless_one_is_given(monkeypatch):
    monkeypatch.setenv("OS_DEFAULT__RESERVED_HOST_CPUS", "3")
    assert config.load(files=[]).reserved_host_cpus == 3
    assert config.load(files=[], environ={}).reserved_host_cpus == 0


def test_overrides_win_over_everything():
    conf = load(
        environ={"OS_DEFAULT__RESERVED_HOST_CPUS": "2"},
        overrides={(None, "reserved_host_cpus"): 5, ("berth", "numa_in_placement"): True},
    )
    assert (conf.reserved_host_cpus, conf.berth.numa_in_placement) == (5, True)


def test_a_config_file_can_be_named_on_the_command_line(file):
    conf = load(argv=["--config-file", file("[DEFAULT]\nhost = named\n")])
    assert conf.host == "named"


def test_two_configurations_do_not_know_of_each_other():
    one, other = load(overrides={(None, "host"): "one"}), load(overrides={(None, "host"): "other"})
    assert (one.host, other.host) == ("one", "other")


def test_a_value_that_is_not_valid_is_refused_at_once_and_says_where_it_stands(file):
    path = file("[DEFAULT]\nreserved_host_cpus = many\n")
    with pytest.raises(cfg.ConfigFileValueError, match=f"reserved_host_cpus from {path} is not"):
        load(files=[path])


def test_a_value_of_the_environment_that_is_not_valid_names_the_variable():
    with pytest.raises(cfg.ConfigSourceValueError, match="from OS_BERTH__NUMA_IN_PLACEMENT is not"):
        load(environ={"OS_BERTH__NUMA_IN_PLACEMENT": "perhaps"})


@pytest.mark.parametrize(
    "sources",
    [
        {"environ": {"OS_IRONIC__CONDUCTOR_GROUP": "a$nothing"}},
        {"overrides": {("ironic", "conductor_group"): "a$nothing"}},
        # earlier names
        {"file": "[ironic]\npartition_key = a$nothing\n"},
        {"file": "[DEFAULT]\nimage_cache_subdirectory_name = a$nothing\n"},
    ],
)
def test_what_nobody_can_read_is_refused_wherever_it_is_said(file, sources):
    more = {"files": [file(sources["file"])]} if "file" in sources else sources
    with pytest.raises(cfg.Error, match=r"\$ that names no other option"):
        load(**more)


def test_a_file_that_is_not_there_is_refused():
    with pytest.raises(cfg.ConfigFilesNotFoundError):
        load(argv=["--config-file", "/nowhere/berth-compute.conf"])


def test_the_options_of_an_authentication_plugin_come_from_the_environment_as_well():
    from compute.config import placement

    conf = load(
        environ={
            "OS_PLACEMENT__AUTH_TYPE": "admin_token",
            "OS_PLACEMENT__ENDPOINT": "http://placement.example",
            "OS_PLACEMENT__TOKEN": "secret",
        }
    )
    adapter = placement.build_adapter(conf)
    assert adapter.get_endpoint() == "http://placement.example"


def test_every_option_is_listed_once_with_a_help_text():
    listed = [(group, option.dest) for group, options in config.list_opts() for option in options]
    assert len(listed) == len(set(listed))
    assert all(option.help for _, options in config.list_opts() for option in options)


class TestTheDirectoryThatAVariableNames:
    @pytest.fixture(autouse=True)
    def home(self, tmp_path, monkeypatch):
        """Make a home with a file of its own, and the named directory."""
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / "berth-compute.conf").write_text("[DEFAULT]\nreserved_host_cpus = 1\n")
        (tmp_path / "named").mkdir()
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setenv(config.VARIABLE, str(tmp_path / "named"))

    @pytest.mark.parametrize("name", ["berth.conf", "berth-compute.conf", "berth.conf.d/a.conf"])
    def test_is_searched_alone_if_it_has_a_file_of_the_agent(self, tmp_path, name):
        path = tmp_path / "named" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("[berth]\nsysfs_root = /named\n")
        conf = config.load()
        assert (conf.berth.sysfs_root, conf.reserved_host_cpus) == ("/named", 0)

    def test_changes_nothing_if_it_has_the_service_s_file_alone(self, tmp_path):
        (tmp_path / "named" / "placement.conf").write_text("[DEFAULT]\nreserved_host_cpus = 2\n")
        assert config.load().reserved_host_cpus == 1

    def test_counts_no_more_than_the_command_line(self, tmp_path):
        (tmp_path / "named" / "berth.conf").write_text("[DEFAULT]\nreserved_host_cpus = 2\n")
        (tmp_path / "own.conf").write_text("[DEFAULT]\nreserved_host_cpus = 3\n")
        assert config.load([f"--config-file={tmp_path}/own.conf"]).reserved_host_cpus == 3

    def test_is_named_where_nothing_was_found(self, tmp_path, monkeypatch):
        (tmp_path / "home" / "berth-compute.conf").unlink()
        assert f"is in {tmp_path}/named, ~/.berth" in config.where_searched(config.load())
