"""The commands of doc/plans.rst, word for word, against a service of the test's own."""

from tests import readme_commands
from tests.functional.placement.serving.programs import needed
from tests.page_code import files_of
from tests.page_examples import run_all, unlike

PAGE = "plans.rst"


def test_plans_are_made_and_carried_out_as_the_page_shows(tmp_path):
    needed("curl", "curl")
    with readme_commands.service_in(tmp_path) as url:
        printed = run_all(PAGE, url)
    assert set(printed) == set(files_of(PAGE, "json"))
    assert unlike(PAGE, printed) is None
