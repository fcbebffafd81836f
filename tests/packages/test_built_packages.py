"""The Debian packages are installed, serve, are upgraded, and leave nothing behind but data."""

import subprocess
from pathlib import Path

import pytest
import requests

from tests.functional.placement.serving.programs import ADMIN, free_port, needed
from tests.packages.conftest import NEWER, ROOT
from tests.packages.system import System
from tests.patience import PATIENCE
from tests.unit.virt.libvirt.hosts import node_xml

CONFIGURATION = """\
[placement_database]
connection = sqlite:////var/lib/placement/placement.db

[api]
auth_strategy = noauth2

[berth]
noauth2_admin_roles = admin,service
"""
AGENT = """\
[DEFAULT]
compute_driver = {driver}
state_path = /var/lib/berth

[libvirt]
connection_uri = test:////etc/berth/hypervisor.xml

[placement]
auth_type = admin_token
endpoint = {url}
token = admin
"""
UNITS = ["placement-api", "berth-compute"]
#: paths in the files of contrib/, and those of the packages
PATHS = {"/opt/berth/bin": "/usr/bin", "/opt/berth": "/usr/lib/berth"}


def test_lintian_finds_nothing_that_has_no_reason(packages: Path) -> None:
    lintian = needed("lintian", "lintian")
    changes = next(packages.glob("*.changes"))
    command = [lintian, "--fail-on=error,warning", "--allow-root", "--tag-display-limit=0", changes]
    found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert found.returncode == 0, found.stdout


def test_an_installation_keeps_secrets_and_starts_nothing(fresh: System, packages: Path) -> None:
    fresh.record_systemctl()
    fresh.install(packages, "placement-api", "berth-compute")
    assert fresh.stat("/etc/placement") == "root placement 750"
    assert fresh.stat("/etc/placement/placement.conf") == "root placement 640"
    assert fresh.stat("/var/lib/placement") == "placement placement 750"
    assert fresh.stat("/var/log/placement") == "placement placement 750"
    assert fresh.stat("/etc/berth") == "root berth 750"
    assert fresh.stat("/etc/berth/berth-compute.conf") == "root berth 640"
    assert fresh.stat("/var/lib/berth") == "berth berth 750"
    assert list(fresh.path("/var/lib/placement").iterdir()) == []
    calls = fresh.systemctl_calls()
    assert [call for call in calls if "start" in call or "enable" in call] == []
    assert list(fresh.path("/etc/systemd/system").glob("*/*placement*")) == []
    assert list(fresh.path("/etc/systemd/system").glob("*/*berth*")) == []


def test_what_is_installed_without_configuration_says_what_is_missing(installed: System) -> None:
    said = installed.run("placement-manage", "db", "sync", succeeds=False)
    assert "connection" in said
    serve = ("env", "OS_PLACEMENT_CONFIG_DIR=/etc/placement", "placement-api")
    assert "connection" in installed.run(*serve, user="placement", succeeds=False)
    said = installed.run(
        *("berth-compute", "--once", "--config-file", "/etc/berth/berth-compute.conf"),
        user="berth",
        succeeds=False,
    )
    assert "[placement]" in said


@pytest.mark.parametrize("unit", UNITS)
def test_units_are_the_ones_of_contrib(installed: System, unit: str) -> None:
    text = installed.path(f"/lib/systemd/system/{unit}.service").read_text()
    assert text.startswith("[Unit]\n")
    assert f"\nExecStart=/usr/bin/{unit} " in text
    assert "/opt/" not in text
    verify = [
        needed("systemd-analyze", "systemd"),
        "verify",
        "--man=no",
        f"--root={installed.root}",
        f"{unit}.service",
    ]
    said = subprocess.run(verify, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    # the small system has no targets; they come with systemd
    complaints = [
        line for line in said.stdout.splitlines() if unit in line and ".target" not in line
    ]
    assert complaints == []


def configured(system: System) -> None:
    system.path("/etc/placement/placement.conf").write_text(CONFIGURATION)
    system.run("setpriv", "--reuid=placement", "--regid=placement", "--init-groups", "sh", "-c",
               "placement-manage db sync")  # fmt: skip


def agent(system: System, url: str, driver: str = "host") -> str:
    path = "/etc/berth/berth-compute.conf"
    system.path(path).write_text(AGENT.format(url=url, driver=driver))
    return system.run("berth-compute", "--once", "--config-file", path, user="berth")


def listed(url: str) -> list[dict[str, str]]:
    answer = requests.get(f"{url}/resource_providers", headers=ADMIN, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["resource_providers"])


def providers(url: str) -> list[str]:
    return [provider["name"] for provider in listed(url)]


def test_the_service_serves_and_the_agent_reports(installed: System) -> None:
    configured(installed)
    with installed.serving("placement-api") as url:
        assert providers(url) == []
        agent(installed, url)
        assert len(providers(url)) == 1
        check = ("placement-status", "upgrade", "check")
        assert "Success" in installed.run(*check, user="placement")
    assert installed.stat("/var/lib/placement/placement.db").startswith("placement placement")
    assert installed.stat("/etc/placement/placement.conf") == "root placement 640"


def contrib(name: str, port: int) -> str:
    text = (ROOT / "contrib" / name).read_text()
    for theirs, ours in {**PATHS, "127.0.0.1:8778": f"127.0.0.1:{port}"}.items():
        text = text.replace(theirs, ours)
    return text


def test_apache_loads_the_command_as_a_wsgi_file(installed: System) -> None:
    installed.run("apt-get", "install", "-qq", "--no-install-recommends",
                  "apache2", "libapache2-mod-wsgi-py3")  # fmt: skip
    configured(installed)
    port = free_port()
    site = installed.path("/etc/apache2/sites-available/placement-api.conf")
    site.write_text(contrib("apache/placement-api.conf", port))
    installed.path("/etc/apache2/ports.conf").write_text("")
    installed.run("a2dissite", "000-default")
    installed.run("a2ensite", "placement-api")
    start = "cd /; . /etc/apache2/envvars; mkdir -p $APACHE_RUN_DIR; exec apache2 -DFOREGROUND"
    with installed.started("sh", "-ec", start, port=port) as url:
        agent(installed, url)
        assert len(providers(url)) == 1


def test_debians_uwsgi_loads_the_command_as_a_wsgi_file(installed: System) -> None:
    installed.run("apt-get", "install", "-qq", "--no-install-recommends",
                  "uwsgi-core", "uwsgi-plugin-python3")  # fmt: skip
    configured(installed)
    port = free_port()
    ini = "/etc/placement/placement-api-uwsgi.ini"
    installed.path(ini).write_text(contrib("uwsgi/placement-api-uwsgi.ini", port))
    command = f"uwsgi --plugin python3 --virtualenv /usr/lib/berth --ini {ini}"
    with installed.started(*command.split(), port=port, user="placement") as url:
        agent(installed, url)
        assert len(providers(url)) == 1


def test_the_agent_uses_debians_bindings_of_libvirt(installed: System) -> None:
    installed.run("apt-get", "install", "-qq", "--no-install-recommends", "python3-libvirt")
    configured(installed)
    # the default test hypervisor has an instance, with which the agent starts on no new host
    installed.path("/etc/berth/hypervisor.xml").write_text(node_xml(cpus=3))
    with installed.serving("placement-api") as url:
        agent(installed, url, "libvirt")
        (provider,) = listed(url)
        inventories = f"{url}/resource_providers/{provider['uuid']}/inventories"
        answer = requests.get(inventories, headers=ADMIN, timeout=PATIENCE)
        assert answer.json()["inventories"]["VCPU"]["total"] == 3


def test_every_driver_of_a_database_and_the_middleware_are_there(installed: System) -> None:
    names = "psycopg psycopg_binary pymysql keystonemiddleware.auth_token memcache openstack"
    imports = f"import certifi, os, {', '.join(names.split())}"
    code = f"{imports}; print(os.path.realpath(certifi.where()))"
    said = installed.run("/usr/lib/berth/bin/python", "-c", code, user="placement")
    assert said.strip() == "/etc/ssl/certs/ca-certificates.crt"


def test_an_upgrade_keeps_what_the_operator_changed(
    installed: System, newer_packages: Path
) -> None:
    configured(installed)
    rotation = installed.path("/etc/logrotate.d/placement-api")
    changed = rotation.read_text().replace("rotate 14", "rotate 90")
    rotation.write_text(changed)
    with installed.serving("placement-api") as url:
        agent(installed, url)
        before = providers(url)
    installed.path("/etc/berth/berth-compute.conf").unlink()
    installed.record_systemctl()

    installed.install(newer_packages, "placement-api", "berth-compute")

    for name in ("python3-berth", "placement-api", "berth-compute"):
        assert installed.versions()[name] == NEWER
    assert installed.path("/etc/placement/placement.conf").read_text() == CONFIGURATION
    assert rotation.read_text() == changed
    assert "weekly" in rotation.with_name("placement-api.dpkg-dist").read_text()
    assert not installed.path("/etc/berth/berth-compute.conf").exists()
    assert list(installed.path("/usr/lib/berth/lib").rglob("*9999_of_a_later_version*.pyc"))
    calls = installed.systemctl_calls()
    for unit in UNITS:
        assert any("try-restart" in call and unit in call for call in calls), calls
    assert [call for call in calls if call.startswith(("start", "stop"))] == []

    # the new version changes the schema
    for command in (f"placement-api --port {free_port()}", "placement-status upgrade check"):
        said = installed.run("env", "OS_PLACEMENT_CONFIG_DIR=/etc/placement", *command.split(),
                             user="placement", succeeds=False)  # fmt: skip
        assert "placement-manage db sync" in " ".join(said.split())
    configured(installed)
    with installed.serving("placement-api") as url:
        assert providers(url) == before


def test_a_removal_keeps_configuration_and_a_purge_the_data(installed: System) -> None:
    configured(installed)
    with installed.serving("placement-api") as url:
        agent(installed, url)
    ours = ["placement-api", "berth-compute", "python3-berth"]
    installed.path("/etc/placement/policy.yaml").write_text("{}\n")
    installed.path("/var/log/placement/placement-api.log").write_text("a line\n")
    installed.record_systemctl()

    installed.run("apt-get", "remove", "--yes", *ours)

    assert any("stop" in call and "placement-api" in call for call in installed.systemctl_calls())
    assert installed.path("/etc/placement/placement.conf").read_text() == CONFIGURATION
    assert not installed.path("/usr/lib/berth").exists()
    assert not installed.path("/usr/bin/placement-api").exists()

    installed.run("apt-get", "purge", "--yes", *ours)

    left = installed.ours()
    assert "/var/lib/placement/placement.db" in left
    assert {path for path in left if not path.startswith("/var/lib/")} == {"/etc/placement"}
    # of the operator's own file
    assert [path.name for path in installed.path("/etc/placement").iterdir()] == ["policy.yaml"]
    assert "placement:" in installed.path("/etc/passwd").read_text()


def test_a_purge_of_unused_packages_leaves_nothing(installed: System) -> None:
    installed.run("apt-get", "purge", "--yes", "placement-api", "berth-compute", "python3-berth")
    assert installed.ours() == set()


def test_users_and_files_from_before_stay(fresh: System, packages: Path) -> None:
    fresh.run("groupadd", "--gid", "5000", "openstack")
    fresh.run("useradd", "--uid", "42482", "--gid", "openstack", "placement")
    fresh.run("install", "-d", "-m", "0755", "/etc/placement")
    fresh.path("/etc/placement/placement.conf").write_text(CONFIGURATION)
    fresh.install(packages, "placement-api")
    assert fresh.path("/etc/placement/placement.conf").read_text() == CONFIGURATION
    assert fresh.run("id", "-u", "placement").strip() == "42482"
    assert fresh.run("id", "-nG", "placement").split() == ["openstack", "placement"]
    assert fresh.stat("/var/lib/placement") == "placement placement 750"
    configured(fresh)
    with fresh.serving("placement-api") as url:
        assert providers(url) == []


def test_the_packages_of_openstack_placement_are_replaced(fresh: System, packages: Path) -> None:
    # without what they depend on, which has nothing to do with this
    fresh.run("sh", "-ec", "mkdir /theirs; cd /theirs; apt-get -q download"
              " placement-api placement-common python3-placement")  # fmt: skip
    fresh.run("sh", "-c", "dpkg --force-depends --unpack /theirs/*.deb")
    # dpkg puts its files of /etc in place; its script fails without what it depends on
    fresh.run("sh", "-c", "dpkg --force-depends --configure placement-api || true")
    # apt changes nothing while a dependency is missing
    names = r"placement-api\|placement-common\|python3-placement"
    fresh.run(
        "sed", "-i", rf"/^Package: \({names}\)$/,/^$/{{/^Depends:/d}}", "/var/lib/dpkg/status"
    )
    assert fresh.path("/etc/init.d/placement-api").exists()

    said = fresh.install(packages, "placement-api", simulate=True)
    assert "Remv python3-placement" in said
    fresh.run("sh", "-c", "dpkg --force-depends --remove placement-common python3-placement")
    fresh.install(packages, "placement-api")

    assert "python3-placement" not in fresh.versions()
    assert not fresh.path("/etc/init.d/placement-api").exists()
    assert fresh.path("/usr/bin/placement-manage").resolve().name == "placement-manage"
    assert fresh.run("readlink", "-f", "/usr/bin/placement-api").startswith("/usr/lib/berth/")


def test_debian_doesnt_replace_ours(installed: System) -> None:
    assert "placement-api" not in installed.run("apt-get", "--simulate", "dist-upgrade")
    assert "Remv placement-api" in installed.run(
        "apt-get", "--simulate", "install", "python3-placement"
    )
    installed.run("sh", "-ec", "cd /tmp; apt-get -q download"
                  " python3-placement")  # fmt: skip
    said = installed.run("sh", "-c", "dpkg --install /tmp/python3-placement*.deb", succeeds=False)
    assert "conflict" in said


def test_the_agent_is_installed_beside_nova(fresh: System, packages: Path) -> None:
    nova = "nova-common nova-compute"
    said = fresh.install(packages, "berth-compute", simulate=True, beside=nova)
    assert "Remv" not in said
    for name in ("berth-compute", "python3-berth", "nova-common", "nova-compute"):
        assert f"Inst {name} " in said
    fresh.install(packages, "berth-compute")
    assert "placement-api" not in fresh.versions()
    fresh.run("sh", "-ec", "cd /tmp; apt-get -q download"
              f" {nova} python3-nova")  # fmt: skip
    # no file of one is a file of the other
    fresh.run("sh", "-ec", "dpkg --force-depends --unpack /tmp/*nova*.deb")
    assert fresh.path("/usr/bin/nova-manage").is_file()
    assert fresh.path("/usr/lib/berth/bin/nova-manage").is_file()
