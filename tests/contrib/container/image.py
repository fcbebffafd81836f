"""The image of contrib/container, built from nothing, and containers of it."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.contrib.files import CONTRIB
from tests.functional.placement.serving.programs import needed

BASE = "localhost/berth-base"
NAME = "localhost/placement-api"
ROOT = CONTRIB.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".tox", ".venv", "*.egg-info", "__pycache__", "build")
STORAGE = '[storage]\ndriver = "vfs"\ngraphroot = "{0}/store"\nrunroot = "{0}/run"\n'


class Image:
    """The image, in a storage of its own; no daemon, registry or namespace is needed.

    :param folder: an empty folder, with room for some gigabytes; all is in it
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made: dict[str, str] = {}
        self.buildah = needed("buildah", "buildah")
        storage = folder / "storage.conf"
        storage.write_text(STORAGE.format(folder))
        self.environ = os.environ | {
            "CONTAINERS_STORAGE_CONF": str(storage),
            "BUILDAH_ISOLATION": "chroot",
        }

    def build(self) -> None:
        """Build the base and the image with the commands that the Containerfile names."""
        needed("debootstrap", "debootstrap")
        self._run([str(CONTRIB / "container" / "make_base"), BASE])
        source = self.folder / "source"
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(ROOT, source, ignore=LEFT_OUT)
        # Debian's Python, as in the image; its own pip may not install for the whole machine
        subprocess.run(["/usr/bin/python3", "-m", "venv", str(self.folder / "pip")], check=True)
        wheel = [str(self.folder / "pip/bin/python"), "-m", "pip", "wheel", "--quiet"]
        wanted = [".[keystone,postgresql,mysql]", "pyuwsgi"]
        self._run([*wheel, "--wheel-dir", "wheels", *wanted], cwd=source)
        file = ["--build-arg", f"BASE={BASE}", "--file", "contrib/container/Containerfile"]
        self._run([self.buildah, "build", "--tag", NAME, *file, "."], cwd=source)

    def container(self, name: str = "shared") -> str:
        """Return the container of this name; make it at the first call.

        A container is a copy of the image, which takes seconds. Tests share those that they
        don't change.
        """
        if name not in self._made:
            self._made[name] = self._run([self.buildah, "from", NAME]).strip()
        return self._made[name]

    def running(
        self,
        container: str,
        command: Sequence[str],
        environ: Mapping[str, str] = {},
        volumes: Mapping[str, str] = {},
    ) -> list[str]:
        """Return the command that runs a command in the container, with the machine's network.

        :param volumes: `{folder of the machine: folder in the container}`
        """
        given = [f"--env={name}={value}" for name, value in environ.items()]
        given += [f"--volume={ours}:{theirs}:rw" for ours, theirs in volumes.items()]
        return [self.buildah, "run", *given, container, "--", *command]

    def _run(self, command: Sequence[str], cwd: Path | None = None) -> str:
        ran = subprocess.run(command, cwd=cwd, env=self.environ, capture_output=True, text=True)
        assert ran.returncode == 0, f"{command}:\n{ran.stdout[-4000:]}\n{ran.stderr[-4000:]}"
        return ran.stdout
