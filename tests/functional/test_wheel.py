"""What a wheel has that is built in a clone, again and again."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: what the build reads, and the smallest of the packages
SOURCES = (
    *("LICENSE", "README.rst", "pyproject.toml", "setup.cfg"),
    *("contrib/release/build_backend.py", "placement/cli/placement-api", "virt/__init__.py"),
)


def modules_of_wheel(clone, folder):
    """Build a wheel in a clone as `pip install .` does; return the modules in it."""
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--quiet", "--wheel-dir", folder, "."], cwd=clone, check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if name.endswith(".py")}


def test_a_module_that_is_deleted_is_not_in_the_next_wheel(tmp_path):
    clone = tmp_path / "clone"
    for name in SOURCES:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, clone / name)
    of_a_branch = clone / "virt" / "of_a_branch.py"
    of_a_branch.write_text("")
    first = modules_of_wheel(clone, tmp_path / "first")
    of_a_branch.unlink()
    second = modules_of_wheel(clone, tmp_path / "second")
    assert first == {"virt/__init__.py", "virt/of_a_branch.py"}
    assert second == {"virt/__init__.py"}
