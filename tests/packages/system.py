"""A Debian in a folder: install packages on it, run its commands, and start its services.

Nothing is mounted outside of the commands' own namespaces, and their processes end with them.
"""

import configparser
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import requests

from tests.functional.placement.serving.programs import free_port, wait_until
from tests.packages.workspace import CONTAINED
from tests.patience import PATIENCE

#: enters a folder in namespaces of its own: $1 is the folder, the rest is the command
ENTER = """
root=$1; shift
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
exec chroot "$root" "$@"
"""
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
#: stands for systemd's own: writes down what it is asked
SYSTEMCTL = """#!/bin/sh
echo "$@" >>/systemctl.log
"""


def make_base(root: Path, debootstrap: str) -> None:
    """Make a small Debian in the folder, from the archives in this machine's settings of apt."""
    sources = _sources()
    release = _os_release()["VERSION_CODENAME"]
    archive = next(uri for uri, suite, _ in sources if suite == release)
    options = ["--variant=minbase", "--include=ca-certificates"]
    _run([*CONTAINED, debootstrap, *options, release, root, archive])
    lines = [f"deb {uri} {suite} {component}\n" for uri, suite, component in sources]
    (root / "etc/apt/sources.list").write_text("".join(lines))
    proxies = [line for line in _run(["apt-config", "dump"]).splitlines() if "Proxy" in line]
    (root / "etc/apt/apt.conf.d/99proxy").write_text("\n".join(proxies) + "\n")
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    # there is no systemd to start services
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    System(root).run("apt-get", "update", "-qq")


class System:
    """A Debian in the folder `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._services: list[subprocess.Popen[bytes]] = []

    @classmethod
    def copied(cls, original: Path, root: Path) -> Self:
        """Copy a Debian to the folder `root`."""
        _run(["cp", "--archive", "--reflink=auto", original, root])
        return cls(root)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the services."""
        while self._services:
            service = self._services.pop()
            # `unshare` itself ignores the signal
            children = Path(f"/proc/{service.pid}/task/{service.pid}/children")
            for child in children.read_text().split() if service.poll() is None else ():
                os.kill(int(child), signal.SIGTERM)
            try:
                service.wait(PATIENCE)
            finally:
                service.kill()

    def path(self, inside: str) -> Path:
        """Return where this machine has the system's file."""
        return self.root / inside.lstrip("/")

    def run(self, *command: str, user: str | None = None, succeeds: bool = True) -> str:
        """Run a command, as root or `user`; return what it says."""
        done = subprocess.run(
            self._entered(command, user),
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # an installation takes minutes on a busy machine
            timeout=900,
            check=False,
        )
        assert (done.returncode == 0) is succeeds, f"{shlex.join(command)}:\n{done.stdout[-5000:]}"
        return done.stdout

    def _entered(self, command: tuple[str, ...], user: str | None = None) -> list[str]:
        person = _person(user, user) if user else []
        return [*CONTAINED, "sh", "-ec", ENTER, "sh", str(self.root), *person, *command]

    def install(self, packages: Path, *names: str, simulate: bool = False, beside: str = "") -> str:
        """Install our packages `names`, with python3-berth, and Debian's packages `beside`.

        Return what apt says. A system that is only asked to simulate isn't changed.
        """
        inside = self.path("/debs") / packages.name
        shutil.copytree(packages, inside, dirs_exist_ok=True)
        files = [next(inside.glob(f"{name}_*.deb")) for name in ("python3-berth", *names)]
        paths = [f"/{file.relative_to(self.root)}" for file in files]
        options = ["--simulate"] if simulate else []
        return self.run(
            *(
                "apt-get",
                "install",
                "--yes",
                "--no-install-recommends",
                "-oAPT::Sandbox::User=root",
            ),
            # as an operator's automation does: the operator's files win
            *("-oDpkg::Options::=--force-confdef", "-oDpkg::Options::=--force-confold"),
            *options,
            *paths,
            *beside.split(),
        )

    def versions(self) -> dict[str, str]:
        """Return package -> version, of all that are installed."""
        said = self.run("dpkg-query", "--show", "-f", "${db:Status-Abbrev}${Package} ${Version}\n")
        rows = [line.split() for line in said.splitlines()]
        return {row[1]: row[2] for row in rows if row[0] == "ii"}

    def stat(self, inside: str) -> str:
        """Return owner, group and mode of a file."""
        return self.run("stat", "-c", "%U %G %a", inside).strip()

    def ours(self) -> set[str]:
        """Return all files that are named after us, except what dpkg and apt know."""
        said = self.run(
            *("find", "/etc", "/usr", "/lib/systemd", "/var", "/run", "/opt", "/home", "/root"),
            *("(", "-name", "*berth*", "-o", "-name", "*placement*", ")"),
            *("-not", "-path", "/var/lib/dpkg/*", "-not", "-path", "/var/log/apt/*"),
        )
        return set(said.split())

    def record_systemctl(self) -> None:
        """Pretend that systemd runs, and write down from now on what it is asked."""
        self.path("/run/systemd/system").mkdir(parents=True)
        self.path("/usr/sbin/policy-rc.d").unlink()
        systemctl = self.path("/usr/bin/systemctl")
        systemctl.unlink(missing_ok=True)
        systemctl.write_text(SYSTEMCTL)
        systemctl.chmod(0o755)

    def systemctl_calls(self) -> list[str]:
        """Return what systemctl was asked since the last time."""
        log = self.path("/systemctl.log")
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    def unit(self, name: str) -> dict[str, str]:
        """Return the settings of the group [Service] of a unit."""
        unit = configparser.RawConfigParser(strict=False)
        unit.optionxform = str  # type: ignore[assignment,method-assign]
        unit.read(self.path(f"/lib/systemd/system/{name}.service"))
        return dict(unit["Service"])

    @contextlib.contextmanager
    def serving(self, name: str) -> Iterator[str]:
        """Start the unit's command as its user; yield the URL at which it answers."""
        unit = self.unit(name)
        port = free_port()
        person = _person(unit["User"], unit["Group"])
        place = ["env", f"--chdir={unit['WorkingDirectory']}", *shlex.split(unit["Environment"])]
        command = [*shlex.split(unit["ExecStart"]), "--port", str(port)]
        with self.started(*person, *place, *command, port=port) as url:
            yield url

    @contextlib.contextmanager
    def started(self, *command: str, port: int, user: str | None = None) -> Iterator[str]:
        """Start a server as root or `user`; yield the URL at which it answers."""
        log = self.path("/server.log")
        with log.open("wb") as output:
            service = subprocess.Popen(
                self._entered(command, user),
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self._services.append(service)
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: _answers(url, service, log), log.read_text)
        yield url
        self.close()


def _person(user: str, group: str) -> list[str]:
    """Return what runs a command as `user`; the change of the user would take away the signal."""
    identity = [f"--reuid={user}", f"--regid={group}", "--init-groups"]
    return ["setpriv", *identity, "--pdeathsig", "KILL"]


def _answers(url: str, service: subprocess.Popen[bytes], log: Path) -> bool:
    assert service.poll() is None, log.read_text()
    try:
        # the first answer of a server that loads the service late takes long
        return requests.get(url, timeout=PATIENCE).ok
    except requests.ConnectionError:
        return False


def _sources() -> list[tuple[str, str, str]]:
    """Return address, suite and component of Debian's archives in apt's configuration."""
    form = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    said = _run(
        ["apt-get", "indextargets", "--format", form, "Created-By: Packages", "Origin: Debian"]
    )
    rows = {tuple(line.split()[:3]) for line in said.splitlines()}
    return sorted(rows)  # type: ignore[arg-type]


def _os_release() -> Mapping[str, str]:
    text = Path("/etc/os-release").read_text()
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _run(command: list[str | Path]) -> str:
    done = subprocess.run(
        list(map(str, command)),
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout[-5000:]}"
    return done.stdout
