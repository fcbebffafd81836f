"""Berth and OpenStack Placement, both from real packages, in one environment and in two."""

import configparser
import os
import subprocess
import sys
import sysconfig
import venv

import pytest

from tests.installation.conftest import ROOT

REFERENCE = "openstack-placement==16.0.0"
COMMANDS = ("placement-api", "placement-manage", "placement-status", "berth-compute", "nova-manage")
#: a command line of each that would do something
DOES = {
    "placement-api": [],
    "placement-manage": ["db", "version"],
    "placement-status": ["upgrade", "check"],
    "berth-compute": ["--once"],
    "nova-manage": ["placement", "tree"],
}


class Environment:
    """A virtual environment that finds the libraries of the tests' own behind its packages."""

    def __init__(self, folder):
        self.folder = folder
        venv.create(folder, with_pip=False, symlinks=True)
        minor = f"python3.{sys.version_info.minor}"
        self.site = folder / "lib" / minor / "site-packages"
        (self.site / "libraries.pth").write_text(sysconfig.get_path("purelib"))

    def pip(self, *arguments):
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "--python", str(self.folder / "bin" / "python")),
                *arguments,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def install(self, *packages):
        # what the tests' environment has behind does not count as installed
        self.pip("install", "--no-deps", "--ignore-installed", *packages)

    def run(self, program, *arguments):
        names = ("PYTHONPATH", "PYTHONHOME")
        environ = {
            name: value
            for name, value in os.environ.items()
            if name not in names and not name.startswith("OS_")
        }
        environ["HOME"] = str(self.folder)
        environ["OS_PLACEMENT_DATABASE__CONNECTION"] = f"sqlite:///{self.folder}/placement.db"
        return subprocess.run(
            [str(self.folder / "bin" / program), *arguments],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=300,
        )


@pytest.fixture
def environment(tmp_path):
    return Environment(tmp_path / "environment")


@pytest.fixture
def shared(environment, wheel):
    """Return an environment with OpenStack Placement, and Berth over it."""
    environment.install(REFERENCE)
    environment.install(str(wheel))
    return environment


def test_no_command_works_among_the_files_of_openstack_placement(shared):
    for command in COMMANDS:
        ran = shared.run(command, *DOES[command])
        assert ran.returncode != 0, command
        assert "Traceback" not in ran.stderr, ran.stderr
        if command == "placement-status":
            assert ran.returncode == 2
            assert "Result: Failure" in ran.stdout
        else:
            assert ran.stderr.startswith(f"{command}: OpenStack Placement (openstack-placement 16")
        assert shared.run(command, "--help").returncode == 0


def test_a_wsgi_server_gets_the_same_sentence(shared):
    ran = shared.run("python", "-c", "import placement.wsgi.api")
    assert "SharedEnvironment: OpenStack Placement (openstack-placement 16.0.0)" in ran.stderr


def test_the_agent_sees_an_openstack_placement_that_came_later(environment, wheel):
    environment.install(str(wheel))
    environment.install(REFERENCE)
    ran = environment.run("berth-compute", "--once")
    assert ran.returncode == 5
    assert "berth-compute: OpenStack Placement (openstack-placement 16.0.0)" in ran.stderr


def test_a_new_installation_repairs_what_openstack_placement_took_along(shared, wheel):
    shared.pip("uninstall", "--yes", "openstack-placement")
    # the tests' own Berth is behind this environment, so an import would still find it
    gone = [shared.folder / "bin" / "placement-status", shared.site / "placement" / "__init__.py"]
    assert [path for path in gone if path.exists()] == []
    shared.install("--force-reinstall", str(wheel))
    assert [path for path in gone if not path.exists()] == []
    assert shared.run("placement-manage", "db", "sync").returncode == 0
    assert shared.run("placement-status", "upgrade", "check").returncode == 0


def test_an_environment_before_another_hides_it(environment, tmp_path, wheel):
    other = Environment(tmp_path / "other")
    other.install(REFERENCE)
    environment.install(str(wheel))
    (environment.site / "other.pth").write_text(str(other.site))
    assert environment.run("placement-manage", "db", "sync").returncode == 0
    assert environment.run("placement-status", "upgrade", "check").returncode == 0


def test_an_openstack_placement_before_berth_is_named_by_the_agent(environment, tmp_path, wheel):
    behind = Environment(tmp_path / "behind")
    behind.install(str(wheel))
    environment.install(REFERENCE)
    (environment.site / "behind.pth").write_text(str(behind.site))
    script = "from compute.cli.berth_compute import main; raise SystemExit(main(['--once']))"
    ran = environment.run("python", "-c", script)
    assert ran.returncode == 5, ran.stderr
    assert "the package placement that this Python imports isn't Berth's" in ran.stderr


@pytest.fixture
def alone(tmp_path, wheel):
    """Return an environment with Berth's requirements and no extra."""
    folder = tmp_path / "alone"
    venv.create(folder, with_pip=False, symlinks=True)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")),
            *("install", "--quiet", str(wheel)),
        ],
        check=True,
    )
    return folder


def test_without_extras_every_command_starts_or_names_the_extra(alone, tmp_path):
    def run(program, *arguments, **environ):
        return subprocess.run(
            [str(alone / "bin" / program), *arguments],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)} | environ,
            capture_output=True,
            text=True,
            timeout=60,
        )

    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    for command in COMMANDS:
        said = run(command, "--version")
        assert setup["metadata"]["version"] in said.stdout + said.stderr, command
    url = f"sqlite:///{tmp_path}/placement.db"
    ran = run("placement-manage", "db", "sync", OS_PLACEMENT_DATABASE__CONNECTION=url)
    assert (ran.returncode, ran.stderr.count("\n")) == (0, 1), ran.stderr
    assert "The schema was at no revision" in ran.stderr
    for url, extra in (("postgresql://h/n", "postgresql"), ("mysql://h/n", "mysql")):
        ran = run("placement-manage", "db", "sync", OS_PLACEMENT_DATABASE__CONNECTION=url)
        assert (ran.returncode, f"openstack-berth[{extra}]" in ran.stderr) == (1, True), ran.stderr
    ran = run(
        "placement-api",
        OS_PLACEMENT_DATABASE__CONNECTION=f"sqlite:///{tmp_path}/placement.db",
        OS_API__AUTH_STRATEGY="keystone",
    )
    assert (ran.returncode, "openstack-berth[keystone]" in ran.stderr) == (1, True), ran.stderr
    for driver in ("libvirt", "ironic"):
        conf = tmp_path / "agent.conf"
        conf.write_text(
            f"[DEFAULT]\ncompute_driver = {driver}\nstate_path = {tmp_path}\n[ironic]\n"
            "node_source = openstack\n[placement]\nauth_type = admin_token\ntoken = admin\n"
            "endpoint = http://127.0.0.1:1\n"
        )
        ran = run("berth-compute", "--once", "--config-file", str(conf))
        assert (ran.returncode, f"extra `{driver}`" in ran.stderr) == (4, True), ran.stderr
