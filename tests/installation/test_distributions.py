"""What the source distribution and the wheel contain."""

import subprocess
import tarfile
import zipfile

from tests.installation.conftest import ROOT

PACKAGES = ("placement/", "compute/", "virt/")
#: files of packages that are not Python modules
DATA = (
    "placement/extensions/page/static/index.html",
    "placement/extensions/page/static/drawings/",
    "placement/storage/schema/migrations/script.py.mako",
    "virt/host/samples/",
)


def tracked():
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files"], check=True, capture_output=True, text=True
    )
    return {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


def test_the_source_distribution_has_every_file_of_the_repository(sdist):
    with tarfile.open(sdist) as archive:
        names = {one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()}
    made = {name for name in names if name.startswith("openstack_berth.egg-info/")}
    packed = names - made - {"PKG-INFO"}

    assert tracked() - packed == set()
    for wanted in ("tests/", "doc/", "etc/", "contrib/", "benchmarks/"):
        assert any(name.startswith(wanted) for name in packed), wanted
    assert {"tox.ini", "alembic.ini", "LICENSE", ".ci/run", "README.rst"} <= packed
    # a working tree may have modules that nobody added yet, and setup.cfg
    assert [name for name in packed - tracked() if not name.startswith(PACKAGES)] in (
        [],
        ["setup.cfg"],
    )


def test_the_wheel_has_the_packages_and_their_data_alone(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        described = archive.read(metadata).decode()
    packed = {name for name in names if ".dist-info/" not in name and ".data/" not in name}

    assert [name for name in packed if not name.startswith(PACKAGES)] == []
    assert {name for name in tracked() if name.startswith(PACKAGES)} - packed == set()
    for data in DATA:
        assert any(name.startswith(data) for name in packed), data
    assert "Author: Berth contributors" in described
    for minor in (11, 12, 13):
        assert f"Classifier: Programming Language :: Python :: 3.{minor}" in described
