"""Install libvirt's Python bindings, which pip must build, if libvirt's headers are installed.

tox runs this before the tests. Without libvirt, the tests of its driver are skipped with a reason,
or fail if `CI=true`.
"""

import configparser
import shutil
import subprocess
import sys
from pathlib import Path

SETUP = Path(__file__).parents[1] / "setup.cfg"


def main() -> None:
    """Install the bindings, or print why not."""
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
