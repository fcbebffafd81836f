"""Selects the tests of this folder, builds the packages, and makes the systems to install them on.

To build takes minutes. So these tests run only if BERTH_DEB is set; the tox environment `deb` sets
it. They need root, and Debian's packages debhelper, dh-virtualenv, python3-docutils, python3-venv,
lintian and debootstrap. With BERTH_DEB_KEEP=DIRECTORY packages and systems are made in that
directory, stay there, and are used by the next run: for work on the tests.
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
from tests.packages.workspace import CONTAINED, workspace

collect_ignore_glob = [] if os.environ.get("BERTH_DEB") else ["test_built_*.py"]

ROOT = Path(__file__).parents[2]
NEWER = "5:0.2.9"


#: in python3-berth
MIGRATIONS = "usr/lib/berth/lib/python3*/site-packages/placement/storage/schema/migrations/versions"
#: a change of the schema
MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = {latest!r}


def upgrade() -> None:
    op.create_table("of_a_later_version", sa.Column("id", sa.Integer, primary_key=True))
"""


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    """Yield a folder that is removed at the end."""
    with workspace() as folder:
        yield folder


@pytest.fixture(scope="session")
def keep(scratch: Path) -> Path:
    """Return the folder of packages, and of the systems that tests copy."""
    folder = Path(os.environ.get("BERTH_DEB_KEEP") or scratch / "made").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def packages(keep: Path, scratch: Path) -> Path:
    """Return the folder with the packages of this version."""
    return _once(keep / "packages", lambda folder: _build(ROOT, folder, scratch))


@pytest.fixture(scope="session")
def newer_packages(packages: Path, keep: Path, scratch: Path) -> Path:
    """Return the folder with the packages of version NEWER: it changes the schema, and rotates
    logs every week.

    They are the built ones, changed: a second build would take minutes.
    """

    def change(folder: Path) -> None:
        for package in packages.glob("*.deb"):
            _make_newer(package, scratch / f"newer-{package.stem}", folder)

    return _once(keep / "newer", change)


def _make_newer(package: Path, unpacked: Path, into: Path) -> None:
    _dpkg_deb("--raw-extract", package, unpacked)
    control = unpacked / "DEBIAN/control"
    text = control.read_text()
    (version,) = re.findall("^Version: (.*)$", text, re.M)
    control.write_text(text.replace(version, NEWER))
    for rotation in unpacked.glob("etc/logrotate.d/*"):
        rotation.write_text(re.sub(r"\bdaily\b", "weekly", rotation.read_text()))
    if package.name.startswith("python3-berth_"):
        (migrations,) = unpacked.glob(MIGRATIONS)
        latest = max(path.name.split("_")[0] for path in migrations.glob("[0-9]*.py"))
        (migrations / "9999_of_a_later_version.py").write_text(MIGRATION.format(latest=latest))
        history = migrations.parents[1] / "schema_upgrade.py"
        ours = history.read_text()
        # the revisions are written down there, too
        assert ours.count(f'"{latest}")') == 1
        history.write_text(ours.replace(f'"{latest}")', f'"{latest}", "9999")'))
    # of the files before
    (unpacked / "DEBIAN/md5sums").unlink()
    _dpkg_deb("-z1", "--root-owner-group", "--build", unpacked, into)
    shutil.rmtree(unpacked)


def _dpkg_deb(*arguments: str | Path) -> None:
    subprocess.run([needed("dpkg-deb", "dpkg"), *arguments], check=True, capture_output=True)


def _once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Make a folder, if it isn't there; one that a killed run began is made anew."""
    if not folder.exists():
        begun = folder.with_suffix(".begun")
        if begun.exists():
            shutil.rmtree(begun)
        begun.mkdir()
        make(begun)
        begun.rename(folder)
    return folder


def _build(sources: Path, into: Path, scratch: Path) -> None:
    for program, package in {
        "dpkg-buildpackage": "dpkg-dev",
        "dh": "debhelper",
        "dh_virtualenv": "dh-virtualenv",
    }.items():
        needed(program, package)
    log = into / "build.log"
    with log.open("wb") as output:
        command = [*CONTAINED, sources / "contrib/debian/build", into]
        environment = {**os.environ, "TMPDIR": str(scratch)}
        built = subprocess.run(command, env=environment, stdout=output, stderr=output, check=False)
    assert built.returncode == 0, log.read_text()[-5000:]


@pytest.fixture(scope="session")
def base(keep: Path) -> Path:
    """Return the folder of a fresh Debian, for copies."""
    if os.geteuid() != 0:
        pytest.fail("To make systems to install packages on, these tests must run as root.")
    debootstrap = needed("debootstrap", "debootstrap")
    return _once(keep / "base", lambda root: make_base(root, debootstrap))


@pytest.fixture(scope="session")
def base_with_packages(base: Path, packages: Path, keep: Path) -> Path:
    """Return the folder of a Debian with our packages, for copies."""

    def install(root: Path) -> None:
        root.rmdir()
        System.copied(base, root).install(packages, "placement-api", "berth-compute")

    return _once(keep / "base-with-packages", install)


@pytest.fixture
def copied(scratch: Path) -> Iterator[Callable[[Path], System]]:
    """Yield a function that returns a system of its own: a copy of a folder."""
    systems: list[System] = []

    def copy(original: Path) -> System:
        root = scratch / f"system-{len(systems)}"
        systems.append(System.copied(original, root))
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


@pytest.fixture
def with_systemd(base_with_packages: Path, keep: Path, copied: Callable[[Path], System]) -> System:
    """Return a Debian with our packages that can be booted."""

    def install(root: Path) -> None:
        root.rmdir()
        system = System.copied(base_with_packages, root)
        # packages start and stop services there
        system.path("/usr/sbin/policy-rc.d").unlink()
        wanted = ("systemd", "systemd-sysv", "dbus", "procps")
        system.run("apt-get", "install", "--yes", "--no-install-recommends",
                   "-oAPT::Sandbox::User=root", *wanted)  # fmt: skip

    return copied(_once(keep / "base-with-systemd", install))
