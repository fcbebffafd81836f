"""Where disks of guests are that aren't files: in a Ceph pool, or in a volume group of LVM."""

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compute import exceptions
from virt.node.disk import GIB, disk_space
from virt.node.facts import DiskSpace

OPTION = "[libvirt]images_type"
#: seconds until a program that says nothing is given up
PATIENCE = 60

#: Runs a program and returns what it prints.
Run = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class Disks:
    """Where guests' disks are; the options of group [libvirt] say so."""

    instances_path: str | os.PathLike[str]
    images_type: str = "default"
    volume_group: str | None = None
    pool: str = "rbd"
    ceph_conf: str = ""
    ceph_user: str | None = None

    def space(self, run: Run | None = None) -> DiskSpace:
        """Return how much there is, in whole GiB.

        Raises VirtDriverNotReady while that can't be found out, InvalidConfiguration if there is no
        such pool, and HostFactsError if the file system can't be read.
        """
        run = run or run_program
        if self.images_type == "rbd":
            return self._in_ceph(run)
        if self.images_type == "lvm":
            return self._in_lvm(run)
        return disk_space(self.instances_path)

    def _in_ceph(self, run: Run) -> DiskSpace:
        user = ("--id", self.ceph_user) if self.ceph_user else ()
        conf = ("--conf", self.ceph_conf) if self.ceph_conf else ()
        printed = run(["ceph", "df", "--format=json", *user, *conf])
        try:
            found = json.loads(printed)
            total = int(found["stats"]["total_bytes"])
            free = {one["name"]: int(one["stats"]["max_avail"]) for one in found["pools"]}
        except (ValueError, LookupError, TypeError) as error:
            raise _unasked("ceph df", f"unknown answer, {error!r}") from error
        if self.pool not in free:
            raise exceptions.InvalidConfiguration(
                f"[libvirt]images_rbd_pool is {self.pool}, which Ceph doesn't have."
            )
        return DiskSpace(total // GIB, free[self.pool] // GIB)

    def _in_lvm(self, run: Run) -> DiskSpace:
        asked = ["vgs", "--noheadings", "--nosuffix", "--separator", "|", "--units", "b"]
        printed = run([*asked, "-o", "vg_size,vg_free", str(self.volume_group)])
        try:
            total, free = (int(number) for number in printed.strip().split("|"))
        except ValueError as error:
            raise _unasked("vgs", f"unknown answer, {printed!r}") from error
        return DiskSpace(total // GIB, free // GIB)


def run_program(arguments: Sequence[str]) -> str:
    """Return what a program prints. Raises VirtDriverNotReady, with the reason, if it fails."""
    name = arguments[0]
    try:
        done = subprocess.run(  # noqa: S603 - no shell
            arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _unasked(name, f"no answer within {PATIENCE} seconds") from error
    except (OSError, ValueError) as error:
        raise _unasked(name, str(error)) from error
    if done.returncode != 0:
        raise _unasked(name, " ".join(done.stderr.split()) or f"exit code {done.returncode}")
    return done.stdout


def _unasked(program: str, reason: str) -> exceptions.VirtDriverNotReady:
    return exceptions.VirtDriverNotReady(
        f"{OPTION}: {program} doesn't tell how much disk there is: {reason}"
    )
