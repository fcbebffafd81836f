"""Selects the tests of this folder, builds the packages, and makes the systems to install them on.

To build takes minutes. So these tests run only if BERTH_DEB is set; the tox environment `deb` sets
it. They need root, and Debian's packages debhelper, dh-virtualenv, python3-docutils, python3-venv,
lintian and debootstrap.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.functional.placement.serving.programs import needed
from tests.packages.system import System, make_base

collect_ignore_glob = [] if os.environ.get("BERTH_DEB") else ["test_built_*.py"]

ROOT = Path(__file__).parents[2]
#: what the build reads, and nothing of this machine
FILES = "LICENSE README.rst setup.cfg pyproject.toml alembic.ini"
FOLDERS = "placement compute virt etc doc contrib"
NEWER = "5:0.2.9"


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a folder that is removed at the end: systems and packages are large."""
    folder = tmp_path_factory.mktemp("packages")
    # the users of the systems must get through
    for parent in (folder, folder.parent):
        parent.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def packages(scratch: Path) -> Path:
    """Return the folder with the packages of this version."""
    return _built(ROOT, scratch / "packages")


@pytest.fixture(scope="session")
def newer_packages(scratch: Path) -> Path:
    """Return the folder with the packages of version NEWER, which rotates logs every week."""
    sources = scratch / "sources"
    sources.mkdir()
    for name in FILES.split():
        shutil.copy2(ROOT / name, sources)
    for name in FOLDERS.split():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, sources / name, ignore=ignored)
    changelog = sources / "contrib/debian/changelog"
    text = changelog.read_text()
    first = re.sub(r"\(.*?\)", f"({NEWER})", text, count=1)
    changelog.write_text(f"{first}\n{text}")
    rotation = sources / "contrib/logrotate/placement-api"
    rotation.write_text(re.sub(r"\bdaily\b", "weekly", rotation.read_text()))
    return _built(sources, scratch / "newer")


def _built(sources: Path, into: Path) -> Path:
    for program, package in {
        "dpkg-buildpackage": "dpkg-dev",
        "dh": "debhelper",
        "dh_virtualenv": "dh-virtualenv",
    }.items():
        needed(program, package)
    into.mkdir()
    log = into / "build.log"
    with log.open("wb") as output:
        command = [sources / "contrib/debian/build", into]
        built = subprocess.run(command, stdout=output, stderr=output, check=False)
    assert built.returncode == 0, log.read_text()[-5000:]
    return into


@pytest.fixture(scope="session")
def base(scratch: Path) -> Path:
    """Return the folder of a fresh Debian, for copies."""
    if os.geteuid() != 0:
        pytest.fail("To make systems to install packages on, these tests must run as root.")
    return make_base(scratch / "base", needed("debootstrap", "debootstrap"))


@pytest.fixture(scope="session")
def base_with_packages(base: Path, packages: Path, scratch: Path) -> Path:
    """Return the folder of a Debian with our packages, for copies."""
    with System.copied(base, scratch / "base-with-packages") as system:
        system.install(packages, "placement-api", "berth-compute")
    return system.root


@pytest.fixture
def copied(tmp_path: Path) -> Iterator[Callable[[Path], System]]:
    """Yield a function that returns a system of its own: a copy of a folder."""
    systems: list[System] = []

    def copy(original: Path) -> System:
        systems.append(System.copied(original, tmp_path / f"system-{len(systems)}"))
        return systems[-1]

    yield copy
    for system in systems:
        system.close()
        shutil.rmtree(system.root)


@pytest.fixture
def fresh(base: Path, copied: Callable[[Path], System]) -> System:
    """Return a fresh Debian."""
    return copied(base)


@pytest.fixture
def installed(base_with_packages: Path, copied: Callable[[Path], System]) -> System:
    """Return a Debian with our packages."""
    return copied(base_with_packages)
