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
USE = """
import json, sys
from tests.functional.placement.service import Service

service = Service(sys.argv[1])
for name in ("host1", "host2", "rack1"):
    made = service.write("POST", "/resource_providers", {"name": name})["uuid"]
    service.write("PUT", f"/resource_providers/{made}/inventories",
        {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}})

def names(query, version="VERSION"):
    found = service.get(f"/resource_providers?{query}", version=version)
    return [each["name"] for each in found.json.get("resource_providers", ())]

cold = names("name_prefix=host")
service.get("/allocation_candidates?resources=VCPU:1", version="VERSION")
trees = [service.get(f"/berth/v1/provider_trees?name_prefix={each}", version="VERSION")
    for each in ("host", "rack")]
print(json.dumps({
    "cold": cold, "warm": names("name_prefix=host"), "before": names("name_prefix=host", "1.39"),
    "tags": len({each.headers["etag"] for each in trees}),
}))
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


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the code in which the recipes were carried out."""
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.xz")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)
    blocks = list(_BLOCK.finditer(text_of("contributing.rst")))
    assert len(blocks) == 7
    for block in blocks:
        file = folder / block["path"]
        file.write_text(carry_out(file.read_text(), textwrap.dedent(block["change"])))
    return folder


def in_copy(copy, *arguments):
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy), "BERTH_TEST_DATABASES": "sqlite"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_recipe_adds_the_version_that_comes_next():
    major, minor = NEWEST
    assert f"+    ({major}, {minor + 1}): " in text_of("contributing.rst")


def test_the_new_parameter_counts_before_and_after_a_search(copy, tmp_path):
    version = f"{NEWEST[0]}.{NEWEST[1] + 1}"
    script = USE.replace("VERSION", version).replace("1.39", f"{NEWEST[0]}.{NEWEST[1]}")
    said = in_copy(copy, "-c", script, f"sqlite:///{tmp_path}/placement.db")
    assert said.splitlines()[-1] == (
        '{"cold": ["host1", "host2"], "warm": ["host1", "host2"], "before": [], "tags": 2}'
    )


def test_the_test_of_all_parts_holds_for_the_new_one(copy):
    file = "tests/functional/placement/operations/test_provider_lists.py"
    in_copy(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", file, "-k", "each_part")
