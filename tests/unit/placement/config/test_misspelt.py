"""Options of files whose names are misspelt are told, those of other programs aren't."""

import pytest

import compute.config
from placement import config
from placement.config import misspelt


@pytest.fixture
def told(tmp_path):
    """Return a function that says what is told of a file, without the file's name."""

    def told(text, load=config.load):
        file = tmp_path / "some.conf"
        file.write_text(f"{text}\n[placement_database]\nconnection = sqlite://\n")
        found = misspelt.told(load(["--config-file", str(file)]))
        return [sentence.removeprefix(f"{file}: ") for sentence in found]

    return told


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[api]\nauth_strategi = x", "nobody reads [api]auth_strategi. Do you mean auth_strategy?"),
        ("[api]\nextensions = 1", "nobody reads [api]extensions. Do you mean [berth]extensions?"),
        (
            "[placment]\nx = 1",
            "nobody reads group [placment]. Do you mean [placement]?",
        ),
    ],
)
def test_a_name_that_nobody_reads_is_told_with_the_nearest(told, text, sentence):
    assert told(text) == [sentence]


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("OS_PLACEMENT_DATABASE__CONECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
        ("OS_PLACEMENT_DATABASE_CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
        # the name before a renaming is read in files alone
        ("OS_DEFAULT__LOGFILE", "OS_DEFAULT__LOG_FILE"),
        ("OS_PLACMENT__RANDOMIZE_ALLOCATION_CANDIDATES", None),
        ("OS_PLACEMENT_API_VERSION", None),
        ("OS_NEUTRON__USERNAME", None),
    ],
)
def test_a_variable_that_nobody_reads_is_told(told, monkeypatch, variable, meant):
    monkeypatch.setenv(variable, "x")
    said = [f"{variable}: nobody reads this variable. Do you mean {meant}?"] if meant else []
    assert told("") == said


def test_options_of_keystonemiddleware_are_known_before_it_registers_them(told, monkeypatch):
    monkeypatch.setenv("OS_API__AUTH_STRATEGY", "keystone")
    monkeypatch.setenv("OS_KEYSTONE_AUTHTOKEN__PASWORD", "x")
    given = "username = u\npassword = p\nmemcache_servers = m\nauth_uri = a\ntoken_cache_time = 3"
    assert told(f"[keystone_authtoken]\n{given}\nusernam = u") == [
        "nobody reads [keystone_authtoken]usernam. Do you mean username?",
        "OS_KEYSTONE_AUTHTOKEN__PASWORD: nobody reads this variable. "
        "Do you mean OS_KEYSTONE_AUTHTOKEN__PASSWORD?",
    ]


def test_variables_of_clients_are_not_told(told, monkeypatch):
    for option in ("ENDPOINT_OVERRIDE", "REGION_NAME", "SERVICE_TYPE", "MIN_VERSION"):
        monkeypatch.setenv(f"OS_PLACEMENT_{option}", "x")
    assert told("", compute.config.load) == []


def test_the_agent_s_options_are_told_too(told):
    said = told("[berth]\nnuma_in_placment = true", compute.config.load)
    assert said == ["nobody reads [berth]numa_in_placment. Do you mean numa_in_placement?"]


@pytest.mark.parametrize(
    "text",
    [
        "[DEFAULT]\nlogfile = x\nlog-dir = y\nmy_ip = z",
        "[neutron]\nusername = u\n[cache]\nenabled = true",
        "[placement_database]\nmax_retries = 3",
    ],
    ids=["old names", "another program's", "a name of ours"],
)
def test_other_names_are_not_told(told, text):
    assert told(text) == []


def test_options_of_the_way_to_authenticate_are_known(told):
    text = "[placement]\nauth_type = password\nuser-name = u\nauth_url = http://k\nendpoint = x"
    assert told(text, compute.config.load) == []


def test_the_files_of_folders_are_read(tmp_path):
    (tmp_path / "one.conf").write_text("[api]\nauth_strategi = x\n")
    (tmp_path / "two.conf").write_text("[placement_database]\nconnection = sqlite://\n")
    (said,) = misspelt.told(config.load(["--config-dir", str(tmp_path)]))
    assert said.startswith(f"{tmp_path}/one.conf: nobody reads [api]auth_strategi.")


def options(side):
    listed = side.list_opts()
    return {(group or "DEFAULT", option.dest) for group, found in listed for option in found}


@pytest.mark.parametrize(
    ("reader", "other"),
    [(config, compute.config), (compute.config, config)],
    ids=["service", "agent"],
)
def test_agent_and_service_may_share_a_file(told, reader, other):
    foreign = sorted(options(other) - options(reader))
    assert len(foreign) > 20
    text = "".join(f"[{group}]\n{name} = x\n" for group, name in foreign)
    assert told(text, reader.load) == []
