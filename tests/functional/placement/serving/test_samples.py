"""The samples in etc/placement are what the generators write, and the service takes them."""

import difflib
import importlib.metadata
import re
import subprocess

import pytest
from werkzeug.test import Client

from placement.cli.configuration import ConfigurationInForce
from placement.cli.serve import parser
from placement.wsgi.loading import load
from tests.functional.placement.serving.conftest import ROOT, configuration
from tests.functional.placement.serving.programs import ADMIN, FORKED, free_port, needed

SAMPLES = ROOT / "etc" / "placement"
CONFIGURATION = SAMPLES / "placement.conf.sample"
POLICY = SAMPLES / "policy.yaml.sample"
GENERATORS = {
    CONFIGURATION: ("oslo-config-generator", "etc/placement/config-generator.conf"),
    POLICY: ("oslopolicy-sample-generator", "etc/placement/policy-generator.conf"),
}
#: the libraries that wrote the checked-in samples; other versions have other options and layouts
WRITTEN_WITH = {
    "keystoneauth1": "5.18.1",
    "keystonemiddleware": "13.0.1",
    "oslo.config": "10.7.0",
    "oslo.log": "8.3.2",
    "oslo.middleware": "8.2.0",
    "oslo.policy": "6.0.1",
    "osprofiler": "4.4.0",
}
#: the part of the sample that depends on this project alone
OUR_GROUPS = ("api", "berth", "placement", "placement_database", "workarounds")
#: [keystone_authtoken] for a keystone that can't be reached
NO_KEYSTONE = {
    "OS_KEYSTONE_AUTHTOKEN__AUTH_TYPE": "password",
    "OS_KEYSTONE_AUTHTOKEN__AUTH_URL": "http://127.0.0.1:9/v3",
    "OS_KEYSTONE_AUTHTOKEN__WWW_AUTHENTICATE_URI": "http://127.0.0.1:9/v3",
    "OS_KEYSTONE_AUTHTOKEN__USERNAME": "placement",
    "OS_KEYSTONE_AUTHTOKEN__PASSWORD": "secret",
}


def generated(sample, folder):
    """Return what the sample's generator writes now."""
    program, configured = GENERATORS[sample]
    written = folder / sample.name
    environ = configuration(folder)
    # the installed package names what generators may ask for, not a build in the sources
    del environ["PYTHONPATH"]
    subprocess.run(
        [needed(program, "oslo"), "--config-file", configured, "--output-file", str(written)],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        check=True,
    )
    return written.read_text()


def of_ours(text):
    """Return the options of our groups: (group, option and default)."""
    options = set()
    group = None
    for line in text.splitlines():
        if found := re.fullmatch(r"\[(\w+)\]", line):
            group = found[1]
        elif group in OUR_GROUPS and re.match(r"#\w+ =", line):
            options.add((group, line))
    return options


@pytest.mark.parametrize("sample", GENERATORS, ids=lambda sample: sample.name)
def test_a_sample_is_what_its_generator_writes(sample, tmp_path):
    kept, made = sample.read_text(), generated(sample, tmp_path)
    program, configured = GENERATORS[sample]
    differences = "\n".join(difflib.unified_diff(kept.splitlines(), made.splitlines(), lineterm=""))
    advice = f"run `{program} --config-file {configured}`:\n{differences}"

    assert of_ours(kept) == of_ours(made), advice
    installed = {name: importlib.metadata.version(name) for name in WRITTEN_WITH}
    if installed == WRITTEN_WITH:
        assert kept == made, advice


def test_a_sample_names_the_options_that_an_operator_needs():
    text = CONFIGURATION.read_text()
    for option in (
        "#connection = <None>",
        "#auth_strategy = keystone",
        "#auth_url = <None>",
        "#password = <None>",
        # our defaults, not the libraries'
        "#http_connect_timeout = 5",
        "#http_request_max_retries = 1",
        "#enable_proxy_headers_parsing = false",
        "#allow_methods = GET,PUT,POST,DELETE,PATCH",
        "#policy_file = policy.yaml",
        "#use_json = false",
    ):
        assert text.count(f"\n{option}\n") == 1, option
    assert "OpenStack-API-Version" in text.partition("#allow_headers =")[2].splitlines()[0]
    for line in text.splitlines():
        assert str(ROOT) not in line


def with_all_defaults(text):
    """Return the sample with every option that has a default as a setting."""
    settings = re.sub(r"^#(\w+ = .*)$", r"\1", text, flags=re.MULTILINE)
    return re.sub(r"^\w+ = <None>$", "", settings, flags=re.MULTILINE)


def with_all_rules(text):
    """Return the policy with every rule set to its default."""
    return re.sub(r'^#("[\w:-]+": ")', r"\1", text, flags=re.MULTILINE)


@pytest.fixture
def folder(tmp_path):
    """Return the folder that the environment names."""
    path = tmp_path / "etc"
    path.mkdir()
    return path


def install(folder, as_settings):
    """Write the samples into the folder, as they are or with all defaults as settings."""
    options, rules = CONFIGURATION.read_text(), POLICY.read_text()
    if as_settings:
        options, rules = with_all_defaults(options), with_all_rules(rules)
        assert "\nhttp_connect_timeout = 5\n" in options
        assert '\n"placement:reshaper:reshape": "rule:service_api"\n' in rules
    (folder / "placement.conf").write_text(options)
    (folder / "policy.yaml").write_text(rules)


@pytest.mark.parametrize("as_settings", [False, True])
def test_the_service_is_made_from_the_samples(
    folder, tmp_path, monkeypatch, own_process, as_settings
):
    install(folder, as_settings)
    wanted = configuration(tmp_path) | NO_KEYSTONE | {"OS_PLACEMENT_CONFIG_DIR": str(folder)}
    for name, value in (wanted | {"OS_API__AUTH_STRATEGY": "keystone"}).items():
        if name.startswith("OS_"):
            monkeypatch.setenv(name, value)
    started = ConfigurationInForce(parser().parse_args([]))
    started.check()
    # keystone can't be reached, so a 503 is expected
    client = Client(load(started.conf, wait=False, policy=started.policy).application)
    assert client.get("/resource_providers", headers=ADMIN).status_code == 503


def test_the_service_starts_with_all_defaults_of_the_samples(start, folder):
    install(folder, as_settings=True)
    port = free_port()
    server = start(
        [FORKED, "--port", str(port)],
        f"http://127.0.0.1:{port}",
        OS_PLACEMENT_CONFIG_DIR=str(folder),
    )
    assert server.request("GET", "/resource_providers").status_code == 200
