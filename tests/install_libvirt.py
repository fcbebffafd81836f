"""Installs libvirt's Python side, which pip builds, where libvirt itself is there to build against.

Run by tox before the tests. Without libvirt its driver's tests are skipped with a reason, or fail
where `CI=true`.
"""

import configparser
import shutil
import subprocess
import sys
from pathlib import Path

SETUP = Path(__file__).parents[1] / "setup.cfg"


def main() -> None:
    """Install it, or say why not."""
    found = shutil.which("pkg-config")
    if found is None or subprocess.run([found, "--exists", "libvirt"], check=False).returncode:
        print("libvirt-dev and pkg-config aren't installed: the libvirt driver is NOT TESTED")
        return
    setup = configparser.ConfigParser()
    setup.read(SETUP)
    wanted = setup["options.extras_require"]["libvirt"].split()
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *wanted], check=True)


if __name__ == "__main__":
    main()
