"""contrib/completion/berth: bash completes what the commands' --help names."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "doc" / "man" / "completion.py"
_SPEC = importlib.util.spec_from_file_location("completion", SOURCE)
completion = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(completion)

#: prints what TAB offers after the words of $@
_TAB = """
source "$0"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_berth
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(*words):
    ran = subprocess.run(
        ["bash", "-euc", _TAB, completion.FILE, *words], capture_output=True, text=True, check=True
    )
    assert ran.stderr == ""
    return ran.stdout.split()


def test_the_file_is_up_to_date_with_the_programs():
    assert completion.FILE.read_text() == completion.written(), "run: python doc/man/completion.py"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["nova-manage", "placement", "tr"], ["tree"]),
        (["nova-manage", "--config-file", "x.conf", "placement", "heal"], ["heal_allocations"]),
        (["/opt/berth/bin/placement-manage", "db", "s"], ["stamp", "sync"]),
        (["placement-api", "--wo"], ["--workers"]),
        (["berth-compute", "--onc"], ["--once"]),
        (["nova-manage", "placement", "nonsense", "tree", "--no"], ["--node"]),
        (["placement-manage", "$(touch made)", "db", "vers"], ["version"]),
    ],
    ids=" ".join,
)
def test_tab_offers(words, found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert offered(*words) == found
    # nothing of what was typed is run
    assert list(tmp_path.iterdir()) == []
