"""Where disks of guests are that aren't files: in a Ceph pool, or in a volume group of LVM."""

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compute import exceptions
from virt.node.disk import GIB, disk_space, image_cache_gb
from virt.node.facts import DiskSpace

OPTION = "[libvirt]images_type"
#: seconds until a program that says nothing is given up
PATIENCE = 60
#: what it may print; a cluster of thousands of pools has less to say
MOST_BYTES = 2**24
#: of what it prints, the characters that a message has
MOST_TOLD = 500

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
    #: the directory below `instances_path` that has the images
    image_cache: str = "_base"

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

    def image_cache_gb(self) -> int:
        """Return what the image cache takes, in whole GiB; raises HostFactsError."""
        return image_cache_gb(Path(self.instances_path, self.image_cache))

    def _in_ceph(self, run: Run) -> DiskSpace:
        user = ("--id", self.ceph_user) if self.ceph_user else ()
        conf = ("--conf", self.ceph_conf) if self.ceph_conf else ()
        printed = run(["ceph", "df", "--format=json", *user, *conf])
        try:
            found = json.loads(printed)
            total = _amount(found["stats"]["total_bytes"])
            free = {one["name"]: _amount(one["stats"]["max_avail"]) for one in found["pools"]}
        except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
            raise _unasked("ceph df", f"unknown answer, {_brief(repr(error))}") from error
        if self.pool not in free:
            raise exceptions.InvalidConfiguration(
                f"[libvirt]images_rbd_pool is {self.pool}, which Ceph doesn't have."
            )
        return DiskSpace(total // GIB, free[self.pool] // GIB)

    def _in_lvm(self, run: Run) -> DiskSpace:
        asked = ["vgs", "--noheadings", "--nosuffix", "--separator", "|", "--units", "b"]
        printed = run([*asked, "-o", "vg_size,vg_free", str(self.volume_group)])
        try:
            total, free = (_amount(number) for number in printed.strip().split("|"))
        except ValueError as error:
            raise _unasked("vgs", f"unknown answer, {_brief(repr(printed))}") from error
        return DiskSpace(total // GIB, free // GIB)


def run_program(arguments: Sequence[str]) -> str:
    """Return what a program prints. Raises VirtDriverNotReady, with the reason, if it fails."""
    name = arguments[0]
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _unasked(name, str(error)) from error
    with process:
        try:
            printed, complained = _ended(process)
        except BaseException as error:
            # a program that it started may keep the pipes open
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, _GivenUp):
                raise _unasked(name, str(error)) from error
            raise
    if process.returncode != 0:
        raise _unasked(name, _brief(complained) or f"exit code {process.returncode}")
    return printed


def _amount(said: Any) -> int:
    if (amount := int(said)) < 0:
        raise ValueError(f"{amount} bytes")
    return amount


class _GivenUp(Exception):
    pass


def _ended(process: subprocess.Popen[bytes]) -> tuple[str, str]:
    """Return what a program prints, and what it complains of, until it closes both."""
    deadline = time.monotonic() + PATIENCE
    printed, complained = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, text in ((process.stdout, printed), (process.stderr, complained)):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ, text)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise _GivenUp(f"no answer within {PATIENCE} seconds")
            for key, _ in selector.select(left):
                read = os.read(key.fd, 65536)
                key.data.extend(read)
                if not read:
                    selector.unregister(key.fileobj)
            if len(printed) + len(complained) > MOST_BYTES:
                raise _GivenUp(f"it prints more than {MOST_BYTES} bytes")
    try:
        process.wait(max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise _GivenUp(f"it doesn't end within {PATIENCE} seconds") from error
    return printed.decode(errors="replace"), complained.decode(errors="replace")


def _brief(text: str) -> str:
    """Return a text on one line, with its end if it is long: there the reason is."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_TOLD else f"…{line[-MOST_TOLD:]}"


def _unasked(program: str, reason: str) -> exceptions.VirtDriverNotReady:
    return exceptions.VirtDriverNotReady(
        f"{OPTION}: {program} doesn't tell how much disk there is: {reason}"
    )
