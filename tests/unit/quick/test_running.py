"""How quick runs the tests that it chose."""

import pytest

from tests.quick.__main__ import ROOT, run
from tests.quick.choice import ALWAYS, Choice

#: written into each file: the runs happen in a folder of their own
FAILING = "def test_{0}():\n    assert False, '{0} ran'\n"
TESTS = {
    f"{ALWAYS}/test_rules.py": FAILING.format("rules"),
    "tests/unit/test_lanes.py": FAILING.format("order") + FAILING.format("other"),
    "tests/unit/test_all.py": FAILING.format("whole_file"),
    "tests/gabbi/test_gabbi.py": (
        "import pytest\n@pytest.mark.parametrize('file', ['root', 'usages'])\n"
        "def test_requests(file):\n    assert False, f'{file} ran'\n"
    ),
}


@pytest.fixture
def tree(tmp_path):
    for path, text in TESTS.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_what_is_gone_since_the_record_keeps_nothing_else_from_running(tree, capfd, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    chosen = [
        "tests/unit/test_lanes.py::test_order",
        "tests/unit/test_lanes.py::test_that_was_renamed",
        "tests/unit/test_deleted.py::test_anything",
        "tests/unit/test_all.py",
        "tests/gabbi/test_gabbi.py::test_requests[root]",
    ]
    # to load all plugins takes longer than the tests
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    arguments = ["-p", "xdist.plugin", "--rootdir", str(tree), "-n", "0"]
    code = run(Choice(run=dict.fromkeys(chosen, "executes it")), tree, arguments)
    said = capfd.readouterr().out
    assert code == pytest.ExitCode.TESTS_FAILED, said
    ran = [
        each
        for each in ("rules", "order", "other", "whole_file", "root", "usages")
        if f"{each} ran" in said
    ]
    assert ran == ["rules", "order", "whole_file", "root"]
