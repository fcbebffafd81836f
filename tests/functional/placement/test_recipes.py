"""The recipes of contributing.rst for a microversion and a query parameter, carried out."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from placement.microversions import NEWEST
from tests.page_code import text_of

ROOT = Path(__file__).parents[3]
#: what the copy needs to run the test of all parts
COPIED = ("placement", "compute", "virt", "tests", "setup.cfg", "pyproject.toml", "README.rst")
_BLOCK = re.compile(
    r"^ {3}\.\. code-block:: diff\n {6}:name: (?P<path>\S+)\n\n(?P<change>(?: {6} ?.*\n|\n)+)", re.M
)
#: a test for the copy
USE = """
from tests.functional.placement.service import Service

def test_use(tmp_path):
    service = Service(f"sqlite:///{tmp_path}/placement.db")
    for name in ("host1", "host2", "rack1"):
        made = service.write("POST", "/resource_providers", {"name": name})["uuid"]
        service.write("PUT", f"/resource_providers/{made}/inventories",
            {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}})

    def names(query, version="VERSION"):
        found = service.get(f"/resource_providers?{query}", version=version)
        return [each["name"] for each in found.json.get("resource_providers", ())]

    cold = names("name_prefix=host")
    service.get("/allocation_candidates?resources=VCPU:1", version="VERSION")
    assert names("name_prefix=host") == cold == ["host1", "host2"]
    assert names("name_prefix=host", "1.39") == []
    trees = [service.get(f"/berth/v1/provider_trees?name_prefix={each}", version="VERSION")
        for each in ("host", "rack")]
    assert len({each.headers["etag"] for each in trees}) == 2
"""


def carry_out(text: str, change: str) -> str:
    """Return a file's text with a change of the page; each part has to fit to one place."""
    for part in re.split(r"^ @@\n", change, flags=re.M):
        lines = part.rstrip("\n").splitlines()
        before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
        after = "".join(f"{line[1:]}\n" for line in lines)
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


def carried_out():
    """Return what the recipes make of the files that they change, by path."""
    files = {}
    blocks = list(_BLOCK.finditer(text_of("contributing.rst")))
    assert len(blocks) == 7
    for block in blocks:
        path = block["path"]
        text = files[path] if path in files else (ROOT / path).read_text()
        files[path] = carry_out(text, textwrap.dedent(block["change"]))
    return files


def test_the_changes_of_the_recipes_fit_to_the_code():
    for path, text in carried_out().items():
        compile(text, path, "exec")


@pytest.fixture
def copy(tmp_path):
    """Return a copy of the code in which the recipes were carried out."""
    folder = tmp_path / "copy"
    for name in COPIED:
        if (ROOT / name).is_dir():
            # with what Python made of it: a file has the time of its original
            ignored = shutil.ignore_patterns("*.pyc.*", "*.xz")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)
    for path, text in carried_out().items():
        (folder / path).write_text(text)
    return folder


def test_the_recipe_adds_the_version_that_comes_next():
    major, minor = NEWEST
    assert f"+    ({major}, {minor + 1}): " in text_of("contributing.rst")


@pytest.mark.thorough
def test_the_new_parameter_counts_and_the_test_of_all_parts_holds_for_it(copy):
    version = f"{NEWEST[0]}.{NEWEST[1] + 1}"
    folder = "tests/functional/placement/operations"
    use = USE.replace("VERSION", version).replace("1.39", f"{NEWEST[0]}.{NEWEST[1]}")
    (copy / folder / "test_use.py").write_text(use)
    parts = "test_provider_lists.py::test_each_part_of_a_filter_counts_for_every_reader"
    chosen = ["-q", "-p", "no:cacheprovider", f"{folder}/test_use.py", f"{folder}/{parts}"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *chosen],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy), "BERTH_TEST_DATABASES": "sqlite"},
        capture_output=True,
        text=True,
    )
    # none of them was skipped
    assert (ran.returncode, "\n2 passed" in ran.stdout) == (0, True), ran.stdout + ran.stderr
