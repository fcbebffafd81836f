"""Who else has files in the environment that Berth is installed in."""

import sys

import pytest

from placement import installation
from placement.installation import (
    SharedEnvironment,
    UnusableInstallation,
    hidden_reference,
    missing_files,
    refuse_other_gunicorn,
    refuse_replaced_script,
    refuse_shared_environment,
)

THEIRS = "openstack_placement-16.0.0.dist-info"
COMMANDS = "[console_scripts]\nplacement-manage = placement.cmd.manage:main\n"


class Site:
    """A directory of packages on `sys.path`, with a package `placement`."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.package = folder / "placement"
        self.package.mkdir(parents=True)
        monkeypatch.syspath_prepend(folder)

    def add(self, metadata, version="16.0.0", **files):
        """Write a distribution's metadata; `record` and `entry_points` become its files."""
        place = self.folder / metadata
        place.mkdir()
        name = metadata.partition("-")[0].replace("_", "-")
        description = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (place / ("PKG-INFO" if metadata.endswith("egg-info") else "METADATA")).write_text(
            description
        )
        if "record" in files:
            (place / "RECORD").write_text("".join(f"{name},,\n" for name in files["record"]))
        if "entry_points" in files:
            (place / "entry_points.txt").write_text(files["entry_points"])
        return place

    def write(self, *names):
        for name in names:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()


@pytest.fixture
def site(tmp_path, monkeypatch):
    return Site(tmp_path / "site", monkeypatch)


@pytest.fixture
def other_site(tmp_path, monkeypatch):
    return Site(tmp_path / "other", monkeypatch)


def test_the_environment_of_the_tests_is_berths_own():
    refuse_shared_environment()


def test_files_of_both_in_one_directory_are_refused(site):
    site.write("placement/cmd/manage.py")
    site.add(THEIRS, record=["placement/cmd/manage.py", f"{THEIRS}/RECORD"])
    with pytest.raises(SharedEnvironment, match=r"ent 16\.0\.0.*/site/placement\. I"):
        refuse_shared_environment(site.package)


def test_packages_of_the_system_without_a_list_of_files_are_known_by_their_commands(site):
    site.add("openstack_placement-16.0.0.egg-info", entry_points=COMMANDS)
    refuse_shared_environment(site.package)
    site.write("placement/cmd/manage.py")
    with pytest.raises(SharedEnvironment):
        refuse_shared_environment(site.package)


def test_an_editable_installation_beside_ours_has_its_files_elsewhere(site):
    site.add(THEIRS, record=["__editable__.openstack_placement-16.0.0.pth", f"{THEIRS}/RECORD"])
    refuse_shared_environment(site.package)


def test_metadata_that_an_uninstallation_left_is_no_owner(site):
    (site.folder / THEIRS).mkdir()
    refuse_shared_environment(site.package)


@pytest.mark.parametrize("first", [False, True])
def test_another_directory_of_the_path_is_no_owner(site, other_site, monkeypatch, first):
    other_site.add(THEIRS, record=["placement/cmd/manage.py"])
    other_site.write("placement/cmd/manage.py")
    if not first:
        monkeypatch.setattr(sys, "path", [*sys.path[1:], sys.path[0]])
    refuse_shared_environment(site.package)


def test_a_second_directory_that_holds_both_is_found_behind_the_first(site, other_site):
    for one in (site, other_site):
        one.write("placement/cmd/manage.py")
        one.add(THEIRS, record=["placement/cmd/manage.py"])
    with pytest.raises(SharedEnvironment):
        refuse_shared_environment(site.package)


def test_a_directory_is_known_behind_a_link(site, tmp_path):
    (tmp_path / "link").symlink_to(site.folder)
    site.add(THEIRS, record=["placement/cmd/manage.py"])
    site.write("placement/cmd/manage.py")
    with pytest.raises(SharedEnvironment):
        refuse_shared_environment(tmp_path / "link" / "placement")


def test_other_names_are_not_looked_at(site):
    site.add("openstack_placement_extras-1.dist-info", record=["placement/cmd/manage.py"])
    refuse_shared_environment(site.package)


def test_files_that_are_gone_are_named(site):
    names = ["placement/__init__.py", "placement/app.py", "compute/__init__.py"]
    site.add("openstack_berth-0.2.0.dist-info", record=[*names, "placement/gone.cpython-311.pyc"])
    site.write("placement/app.py")
    assert missing_files(site.package) == ["placement/__init__.py"]
    site.write("placement/__init__.py")
    assert missing_files(site.package) == []


def test_an_installation_in_another_directory_says_nothing_of_our_files(site, other_site):
    other_site.add("openstack_berth-0.2.0.dist-info", record=["placement/app.py"])
    assert missing_files(site.package) == []


def test_a_hidden_reference_of_the_same_python_is_found(site, other_site, monkeypatch):
    other_site.add(THEIRS, record=["placement/cmd/manage.py"])
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    assert hidden_reference(site.package).version == "16.0.0"
    monkeypatch.setattr(sys, "base_prefix", "/elsewhere")
    assert hidden_reference(site.package) is None


def test_a_script_that_both_installed_is_refused(site, tmp_path):
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "nova-manage"
    script.touch()
    site.add("nova-32.0.0.dist-info", "32.0.0", record=["nova/__init__.py", "../bin/nova-manage"])
    with pytest.raises(SharedEnvironment, match=r"nova 32\.0\.0 .*bin/nova-manage.*no-deps nova"):
        refuse_replaced_script("nova-manage", "nova", str(script))


def test_a_script_elsewhere_and_a_module_are_not_refused(site, tmp_path):
    site.add("nova-32.0.0.dist-info", "32.0.0", record=["../bin/nova-manage"])
    for path in ("elsewhere/nova-manage", "site/compute/cli/nova_manage.py"):
        refuse_replaced_script("nova-manage", "nova", str(tmp_path / path))


@pytest.mark.parametrize("installed", ["23.0.0", "23.0", "25.2.0", "27.0.1", "100.0rc1"])
def test_gunicorn_may_be_new(monkeypatch, installed):
    monkeypatch.setattr(installation, "version", lambda name: installed)
    refuse_other_gunicorn()


def test_an_old_gunicorn_is_refused_with_what_is_needed(monkeypatch):
    monkeypatch.setattr(installation, "version", lambda name: "22.0.0")
    with pytest.raises(UnusableInstallation, match=r"22\.0\.0 is too old\. .*gunicorn 23\.0"):
        refuse_other_gunicorn()


def test_a_missing_gunicorn_is_named(monkeypatch):
    def version(name):
        raise installation.PackageNotFoundError(name)

    monkeypatch.setattr(installation, "version", version)
    with pytest.raises(UnusableInstallation, match=r"gunicorn isn't installed.*WSGI server"):
        refuse_other_gunicorn()
