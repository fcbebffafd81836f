"""What a wheel has that is built in a clone, again and again."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: what the build reads, and the smallest of the packages
SOURCES = (
    *("LICENSE", "README.rst", "pyproject.toml", "setup.cfg"),
    *("contrib/release/build_backend.py", "contrib/release/packaged_description.py"),
    *("contrib/systemd/placement-api.service", "contrib/completion/berth"),
    *("doc/man/placement-api.rst", "etc/placement/placement.conf.sample"),
    *("placement/cli/placement-api", "virt/__init__.py"),
)


def built(clone, folder, **environ):
    """Build a wheel in a clone, as pip has it built; return it, opened.

    The backend that pyproject.toml names is asked: pip itself takes as long as the build.
    """
    folder.mkdir()
    system = tomllib.loads((clone / "pyproject.toml").read_text())["build-system"]
    environ |= {"PYTHONPATH": str(clone / system["backend-path"][0])}
    build = "import importlib, sys; importlib.import_module(sys.argv[1]).build_wheel(sys.argv[2])"
    command = [sys.executable, "-c", build, system["build-backend"], folder]
    told = subprocess.run(command, cwd=clone, capture_output=True, env=os.environ | environ)
    assert told.returncode == 0, told.stderr
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel)


def modules(wheel):
    return {name for name in wheel.namelist() if name.endswith(".py")}


@pytest.fixture
def clone(tmp_path):
    clone = tmp_path / "clone"
    for name in SOURCES:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, clone / name)
    return clone


def described(wheel):
    (name,) = [each for each in wheel.namelist() if each.endswith(".dist-info/METADATA")]
    return wheel.read(name).decode()


def test_a_wheel_has_what_packagers_look_for_and_no_link_that_leads_nowhere(tmp_path, clone):
    """The URLs are the builder's; nothing is invented without them."""
    with built(clone, tmp_path / "plain") as wheel:
        names = {name.partition(".data/data/share/")[2] for name in wheel.namelist()}
        text = described(wheel)
    assert {
        "man/man8/placement-api.8",
        "bash-completion/completions/berth",
        "berth/etc/placement.conf.sample",
        "berth/systemd/placement-api.service",
    } <= names
    assert "Project-URL" not in text
    assert re.findall(r"<(?!https?:)[\w./#-]+>`_", text) == []
    files = "https://berth.example/files/v1"
    public = {"BERTH_REPOSITORY_URL": "https://berth.example", "BERTH_FILES_URL": files}
    with built(clone, tmp_path / "public", **public) as wheel:
        text = described(wheel)
    assert "Project-URL: Source, https://berth.example\n" in text
    assert f"Project-URL: Changelog, {files}/CHANGELOG.rst\n" in text
    assert f"`its page <{files}/doc/page.rst>`__" in " ".join(text.split())
    assert re.findall(r"<(?!https?:)[\w./#-]+>`_", text) == []


def test_a_module_that_is_deleted_is_not_in_the_next_wheel(tmp_path, clone):
    of_a_branch = clone / "virt" / "of_a_branch.py"
    of_a_branch.write_text("")
    first = modules(built(clone, tmp_path / "first"))
    of_a_branch.unlink()
    second = modules(built(clone, tmp_path / "second"))
    assert first == {"virt/__init__.py", "virt/of_a_branch.py"}
    assert second == {"virt/__init__.py"}
