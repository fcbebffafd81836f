"""Which tests `tox -e quick` runs for a change, and what it says of those it doesn't run."""

import pytest

from tests.gabbi import test_gabbi
from tests.quick.__main__ import told
from tests.quick.changes import Changed
from tests.quick.choice import GABBI, UNKNOWN, Chooser
from tests.quick.functions import MODULE
from tests.quick.record import Record

LANES = "placement/storage/lanes.py"
UNIT = "tests/unit/placement/storage/test_lanes.py::test_order"
SERVICE = "tests/functional/placement/test_service.py::test_write"
FILE = f"{GABBI}[sqlite-root]"
SLOW = "tests/faults/test_long.py::test_kill"
FILES = {
    LANES: "",
    "placement/storage/tables.py": "",
    "placement/storage/rows.py": "from placement.storage import tables",
    "placement/extensions/page/static/page.js": "",
    "placement/extensions/page/serving.py": "",
    "tests/page.py": 'PAGE = "decisions.rst"',
    "tests/gabbi/gabbits/root.yaml": "",
    "tests/unit/placement/storage/test_lanes.py": """
from placement.storage import lanes
def test_order(): ...
class TestOrders:
    def test_added_later(self): ...
    def helper(self): ...
""",
    "tests/unit/placement/storage/test_new.py": "from placement.storage import lanes",
    "tests/unit/test_by_name.py": 'text_of("decisions.rst")',
    "tests/functional/test_by_module.py": "from tests.page import PAGE",
    "tests/functional/conftest.py": "",
    "tests/functional/placement/test_service.py": """
from tests.functional import cloud
def test_write(): ...
def test_added_later(): ...
""",
    "tests/functional/cloud.py": "from tests import page",
    "tests/faults/test_long.py": "",
    "tests/galera/test_cluster.py": "from placement.storage import lanes",
    "doc/decisions.rst": "",
}
RECORD = Record(
    {UNIT: 0.5, SERVICE: 2.0, FILE: 1.0, SLOW: 70.0},
    {
        LANES: {"first": 0b0011, "second": 0b1110, "Lane.join": 0b1000},
        "placement/storage/rows.py": {"all_rows": 0b0010},
        "placement/extensions/page/serving.py": {"served": 0b0100},
    },
)


@pytest.fixture
def tree(tmp_path):
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


@pytest.fixture
def choose(tree):
    """Return a function that chooses for a path and the names of its changed functions."""

    def choose(path, *functions, budget=60.0):
        return Chooser(tree, RECORD, budget).chosen([Changed(path, frozenset(functions))])

    return choose


def test_a_changed_function_has_the_tests_that_execute_it_the_cheapest_first(choose):
    run = choose(LANES, "first").run
    assert [test for test in run if test in RECORD.tests] == [UNIT, SERVICE]


def test_what_has_no_time_is_left_out_with_the_reason(choose):
    choice = choose(LANES, "second")
    assert FILE in choice.run
    assert choice.left_out[SLOW] == "no time in 60 s"
    assert any("test_long.py: 1 (70.0 s): no time" in line for line in told(choice, RECORD))


def test_more_time_runs_more(choose):
    assert SLOW in choose(LANES, "second", budget=100.0).run


def test_a_change_outside_of_functions_has_the_tests_of_all_of_them(choose):
    assert {UNIT, SERVICE, FILE} <= choose(LANES, MODULE).run.keys()


def test_a_function_that_no_test_executed_has_those_of_its_file_and_is_told(choose):
    choice = choose(LANES, "third")
    assert {UNIT, SERVICE, FILE} <= choice.run.keys()
    assert choice.doubts == [f"no recorded test executes {LANES}: third"]


def test_a_file_without_functions_has_the_tests_of_those_that_import_it(choose):
    assert choose("placement/storage/tables.py", MODULE).run == {
        SERVICE: "uses placement/storage/tables.py"
    }


def test_a_test_that_was_never_recorded_runs_if_it_imports_the_change(choose):
    assert "tests/unit/placement/storage/test_new.py" in choose(LANES, "first").run


def test_a_test_that_was_added_since_the_record_runs_if_its_file_imports_the_change(choose):
    added = f"{UNIT.partition('::')[0]}::TestOrders::test_added_later"
    choice = choose(LANES, "first")
    assert choice.run[added] == f"imports {LANES}"
    # as long as the others of its file
    assert choice.seconds == 0.5 + 0.5 + 2.0 + UNKNOWN


def test_a_test_that_was_added_since_the_record_is_told_if_others_of_its_file_execute_it(choose):
    added = f"{SERVICE.partition('::')[0]}::test_added_later"
    assert choose(LANES, "first").left_out[added] == "not recorded"


def test_a_test_that_needs_another_environment_names_it(choose):
    choice = choose(LANES, "first")
    assert choice.left_out["tests/galera/test_cluster.py"] == "needs tox -e galera"


def test_a_changed_test_runs_itself(choose):
    path = "tests/unit/placement/storage/test_new.py"
    assert choose(path, "test_order").run == {path: "changed"}


def test_a_changed_module_of_the_tests_has_those_that_import_it_and_so_on(choose):
    assert choose("tests/page.py", MODULE).run == {
        "tests/functional/test_by_module.py": "imports tests/page.py",
        "tests/functional/placement/test_service.py": "imports tests/page.py",
    }


def test_changed_fixtures_have_the_tests_below(choose):
    path = "tests/functional/conftest.py"
    assert choose(path, MODULE).run == {
        "tests/functional/placement/test_service.py": f"below {path}"
    }


def test_a_changed_file_of_requests_is_one_test(choose):
    assert choose("tests/gabbi/gabbits/root.yaml").run == {FILE: "changed"}
    assert "root" in {file.stem for file in test_gabbi.FILES}
    assert hasattr(test_gabbi, GABBI.partition("::")[2])


@pytest.mark.parametrize(
    "path", ["tests/gabbi/gabbits/gone.yaml", "tests/unit/test_gone.py", "doc/glossary.rst"]
)
def test_what_is_gone_or_read_by_no_test_has_none(choose, path):
    assert choose(path).run == {}


def test_a_page_has_the_tests_that_read_it(choose):
    assert choose("doc/decisions.rst").run.keys() == {
        "tests/unit/test_by_name.py",
        "tests/functional/test_by_module.py",
    }


def test_a_file_that_is_no_python_has_the_tests_of_the_code_beside_it(choose):
    assert choose("placement/extensions/page/static/page.js").run.keys() == {FILE}


def test_without_a_record_quick_says_so(tree):
    choice = Chooser(tree, Record({}, {}), 60).chosen([Changed(LANES, frozenset({"first"}))])
    assert "tests/unit/placement/storage/test_new.py" in choice.run
    assert "tox -e record never ran" in told(choice, Record({}, {}))[-1]
