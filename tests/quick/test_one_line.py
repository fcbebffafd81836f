"""Quick notices a changed line, whatever the layer: it fails for each of these.

It is long: `pytest --thorough tests/quick`.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: path, line, what it becomes
CHANGES = [
    (
        "placement/operations/allocations.py",
        "    locked.check_generations()",
        "    pass",
    ),
    (
        "placement/operations/allocations.py",
        "    refuse_unknown_providers(locked.requests, nodes)",
        "    pass",
    ),
    (
        "placement/domain/capacity.py",
        "        & (used + asked_before + asked <= _capacity(inventory))",
        "        & (used + asked_before + asked < _capacity(inventory))",
    ),
    ("placement/microversions.py", "        return OLDEST", "        return NEWEST"),
    (
        "placement/http/dispatch.py",
        "                if following is None or not part:",
        "                if following is None:",
    ),
    (
        "placement/http/entity_tags.py",
        "    return not {ANY, tag}.isdisjoint(named(header))",
        "    return {ANY, tag}.isdisjoint(named(header))",
    ),
    (
        "placement/handlers/usages.py",
        "    return call.reply(body, modified=NOW)",
        "    return call.reply(body)",
    ),
    ("placement/schemas/usages.py", "    (1, 38): Schema(", "    (1, 39): Schema("),
    (
        "placement/policies/usages.py",
        "        ADMIN_OR_PROJECT_READER_OR_SERVICE,",
        "        ADMIN_OR_SERVICE,",
    ),
    (
        "placement/candidates/trees/same_subtree.py",
        "        if len(apart) < 2:",
        "        if len(apart) < 3:",
    ),
    (
        "placement/extensions/explain/explanation_text.py",
        "    if not total:",
        "    if total:",
    ),
    (
        "placement/storage/feed/change_feed.py",
        "    old = sa.select(ids).where(ids < oldest_kept, ids > 0).order_by(ids).limit(most)",
        "    old = sa.select(ids).where(ids > oldest_kept, ids > 0).order_by(ids).limit(most)",
    ),
    (
        "placement/cli/old_rows.py",
        "        .where(consumers.c.id.is_(None))",
        "        .where(consumers.c.id.is_not(None))",
    ),
    (
        "placement/extensions/monitoring/health.py",
        "        status = WARN if silence <= DOUBTFUL else FAIL",
        "        status = FAIL if silence <= DOUBTFUL else WARN",
    ),
    (
        "placement/compare/verdict.py",
        "        if limit is None:",
        "        if limit is not None:",
    ),
    (
        "compute/provider_tree/tree.py",
        "        if self._forest.find(uuid):",
        "        if not self._forest.find(uuid):",
    ),
    (
        "compute/report/trees/tree_write.py",
        "    if len(roots) != 1:",
        "    if len(roots) == 1:",
    ),
    (
        "compute/resource_tracker/node/root_inventory.py",
        "    inventory = {name: sized(total) for name, total in totals.items() if total > 0}",
        "    inventory = {name: sized(total) for name, total in totals.items() if total >= 0}",
    ),
    (
        "compute/consumers/rules.py",
        "    if evidence.consumer_type not in OUR_TYPES:",
        "    if evidence.consumer_type in OUR_TYPES:",
    ),
    (
        "compute/maintenance/heal/doubling.py",
        "        if sum(held.values()) > asked:",
        "        if sum(held.values()) >= asked:",
    ),
    (
        "virt/reshape/numa.py",
        "    return result | now.get(name, {})",
        "    return result",
    ),
    (
        "virt/host/kernel_facts.py",
        "    return {size: count for size, count in counts.items() if count}",
        "    return {size: count for size, count in counts.items()}",
    ),
]
pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the sources, committed, in which one file at a time is changed."""
    folder = tmp_path_factory.mktemp("copy")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    me = ["-c", "user.name=me", "-c", "user.email=me@localhost", "-c", "commit.gpgsign=false"]
    for command in (["init", "--quiet"], ["add", "."], [*me, "commit", "--quiet", "-m", "all"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize(("path", "line", "instead"), CHANGES)
def test_quick_fails_for_a_changed_line(copy, path, line, instead):
    before = (copy / path).read_text()
    lines = before.split("\n")
    assert lines.count(line) >= 1, f"{path} has changed: choose another line"
    # some lines stand in several functions: the first is enough
    lines[lines.index(line)] = instead
    (copy / path).write_text("\n".join(lines))
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "tests.quick", "-x"],
            cwd=copy,
            env={**os.environ, "BERTH_QUICK_BASE": "HEAD", "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        (copy / path).write_text(before)
    # a broken import ends the run as well, but no test has failed then
    assert re.search(r"^\d+ failed", ended.stdout, re.M), (
        ended.stdout[-4000:] + ended.stderr[-2000:]
    )
