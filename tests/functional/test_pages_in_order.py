"""README and the pages with examples, one after the other, in one folder, as readers meet them."""

import re
import subprocess
import textwrap

import pytest

from tests import readme_commands
from tests.functional.placement.serving.programs import needed
from tests.page_code import DOC, files_of, text_of
from tests.page_examples import run_all, unlike, values

#: the pages whose examples are for an empty service, in the order of the index
PAGES = ("tutorial.rst", "extensions.rst", "drain.rst", "plans.rst")
POOL = "without_openstack.rst"
LINK = "<tutorial.rst#begin-anew>"


def begin_anew(folder):
    """Run the block of the tutorial that deletes the data of a service that was ended."""
    section = text_of("tutorial.rst").partition("\nBegin anew\n----------\n")[2]
    commands = textwrap.dedent(re.search(r"::\n\n((?: {4}.*\n)+)", section)[1])
    subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, check=True)


def test_each_page_holds_after_those_before_it(tmp_path):
    needed("curl", "curl")
    with readme_commands.service_in(tmp_path) as url:
        readme_commands.run(readme_commands.commands_beginning("url="), url)
    for page in PAGES:
        if page == "tutorial.rst" or LINK in text_of(page):
            begin_anew(tmp_path)
        with readme_commands.service_in(tmp_path) as url:
            assert unlike(page, run_all(page, url)) is None, page
            if page == PAGES[-1]:
                # it says of no service that it is empty
                blocks = files_of(POOL, "bash")
                printed = readme_commands.run(blocks["names"] + blocks["the pool"], url)
    assert values(printed) == values(files_of(POOL, "json")["the pool"])


@pytest.mark.parametrize("page", PAGES[1:])
def test_a_page_for_an_empty_service_says_how_to_get_one(page):
    assert re.search(r"empty\s+service", text_of(page))
    assert LINK in text_of(page)


def test_every_page_with_such_examples_is_in_the_order():
    pages = {page.name for page in DOC.glob("*.rst") if readme_commands.URL in text_of(page.name)}
    with_examples = {page for page in pages if files_of(page, "bash")}
    assert with_examples - {*PAGES, POOL} == set()
