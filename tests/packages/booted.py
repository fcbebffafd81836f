"""systemd itself, as the first process of a Debian in a folder: units are started by it.

It has namespaces and a control group of its own, and only the machine's network. All its processes
end with it.
"""

import contextlib
import os
import shlex
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.placement.serving.programs import wait_until
from tests.packages.system import ENVIRONMENT, System

#: $1 is the folder, $2 the name of the control group. The hierarchy is the unified one, so that
#: systemd touches none of the machine's other groups.
BOOT = """
# units have file systems of their own, which needs a root that is mounted
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mkdir "sys/fs/cgroup/$2"
echo $$ >"sys/fs/cgroup/$2/cgroup.procs"
umount sys/fs/cgroup
exec unshare --cgroup sh -ec '
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
for name in null zero full random urandom tty; do
    touch dev/$name
    mount --bind /dev/$name dev/$name
done
mkdir dev/pts dev/shm
mount -t devpts devpts dev/pts
mount -t tmpfs tmpfs dev/shm
ln -s /proc/self/fd dev/fd
ln -s pts/ptmx dev/ptmx
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot . /lib/systemd/systemd
'
"""
#: removes the control group, which nobody uses any more
REMOVE = """
mount -t cgroup2 cgroup2 /mnt
[ -d "/mnt/$1" ] || exit 0
echo 1 >"/mnt/$1/cgroup.kill"
for turn in $(seq 300); do
    find "/mnt/$1" -depth -type d -exec rmdir {} + 2>/dev/null && exit 0
    sleep 0.1
done
exit 1
"""


class Machine:
    """A Debian whose first process is systemd; `first` is that process' number here."""

    def __init__(self, first: int) -> None:
        self._first = first

    def run(self, *command: str, succeeds: bool = True) -> str:
        """Run a command as root; return what it says."""
        enter = ["nsenter", f"--target={self._first}", "--mount", "--pid", "--ipc", "--uts"]
        done = subprocess.run(
            [*enter, "--cgroup", "--root", "--wd", *command],
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        assert (done.returncode == 0) is succeeds, f"{shlex.join(command)}:\n{done.stdout[-5000:]}"
        return done.stdout

    def journal(self, unit: str) -> str:
        """Return the last lines that a unit wrote."""
        return self.run("journalctl", "--no-pager", "--lines=30", f"--unit={unit}")


@contextlib.contextmanager
def booted(system: System) -> Iterator[Machine]:
    """Start systemd in the system's folder; yield the machine when all its units have started."""
    group = f"berth-{uuid.uuid4()}"
    enter = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork"]
    enter += ["--kill-child", "--uts", "--ipc", "sh", "-ec", BOOT, "sh", str(system.root), group]
    log = system.path("/boot.log")
    with log.open("wb") as output:
        started = subprocess.Popen(enter, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children")

        def first() -> int | None:
            if started.poll() is not None:
                pytest.fail(f"systemd doesn't start here: {log.read_text()}")
            return next(map(int, children.read_text().split()), None)

        number = wait_until(first, log.read_text)
        init = Path(f"/proc/{number}/comm")
        wait_until(lambda: init.read_text() == "systemd\n", log.read_text)
        machine = Machine(number)

        # degraded: a unit failed that has nothing to do with ours
        state = ("sh", "-c", "systemctl is-system-running 2>&1 || true")
        wait_until(lambda: machine.run(*state).strip() in ("running", "degraded"), log.read_text)
        yield machine
    finally:
        started.kill()
        started.wait()
        remove = ["unshare", "--mount", "sh", "-ec", REMOVE, "sh", group]
        subprocess.run(remove, env=os.environ, check=True)
