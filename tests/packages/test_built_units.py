"""The units of the packages, started, reloaded, upgraded and stopped by systemd itself."""

from pathlib import Path

import requests

from tests.functional.placement.serving.programs import free_port, wait_until
from tests.packages.booted import booted
from tests.packages.conftest import NEWER
from tests.packages.system import System
from tests.packages.test_built_packages import AGENT, configured, providers


def answering(url: str) -> bool:
    """Return whether the service answers."""
    try:
        return requests.get(url, timeout=5).status_code == 200
    except requests.RequestException:
        return False


def test_systemd_runs_both_units(with_systemd: System, newer_packages: Path) -> None:
    system = with_systemd
    configured(system)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = system.unit("placement-api")["ExecStart"]
    drop_in = system.path("/etc/systemd/system/placement-api.service.d/port.conf")
    drop_in.parent.mkdir()
    # the network is that of this machine
    drop_in.write_text(f"[Service]\nExecStart=\nExecStart={command} --port {port}\n")
    system.path("/etc/berth/berth-compute.conf").write_text(AGENT.format(url=url, driver="host"))
    system.path("/etc/hostname").write_text("of-this-test\n")
    debs = system.path("/debs/newer")
    debs.mkdir(parents=True)
    for package in newer_packages.glob("*.deb"):
        (debs / package.name).hardlink_to(package)
    with booted(system) as machine:

        def main() -> int:
            said = machine.run("systemctl", "show", "--property=MainPID", "placement-api")
            return int(said.partition("=")[2])

        def told() -> str:
            return machine.journal("placement-api") + machine.journal("berth-compute")

        # Type=notify: it answers when this ends
        machine.run("systemctl", "enable", "--now", "placement-api", "berth-compute")
        assert answering(url), told()
        wait_until(lambda: len(providers(url)) == 1, told)
        user = machine.run("ps", "--no-headers", "-o", "user", "-p", str(main()))
        assert user.strip() == "placement"
        before = main()
        machine.run("systemctl", "reload", "placement-api")
        assert (answering(url), main()) == (True, before)
        machine.run("kill", "-KILL", str(before))
        wait_until(lambda: main() not in (0, before) and answering(url), told)

        # the new version has a migration: the service says so, until somebody does it
        machine.run("sh", "-c", "dpkg --install /debs/newer/*.deb")
        wait_until(lambda: "placement-manage db sync" in machine.journal("placement-api"), told)
        assert not answering(url)
        sync = ("setpriv", "--reuid=placement", "--regid=placement", "--init-groups")
        machine.run(*sync, "placement-manage", "db", "sync")
        wait_until(lambda: answering(url), told)
        assert NEWER in machine.run("dpkg-query", "--show", "-f", "${Version}", "placement-api")
        assert len(providers(url)) == 1

        machine.run("apt-get", "remove", "--yes", "placement-api", "berth-compute")
        assert not answering(url)
        for unit in ("placement-api", "berth-compute"):
            machine.run("systemctl", "is-active", unit, succeeds=False)
