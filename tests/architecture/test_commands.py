"""Every page that shows commands belongs to a test that runs them, or says here why none does."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
DOC = ROOT / "doc"
#: a block of code; without a language it is a literal block
_BLOCK = re.compile(
    r"(?:\.\. code-block:: (?:bash|console)|(?<!\.\.)::)\n(?: {3}:\w+:.*\n)*\n((?: {4}.*\n|\n)+)"
)
#: what begins a command, after prompts and variables
_COMMAND = re.compile(
    r"^ {4}(?:\$ )?(?:[A-Z_]+=\S+ )*(?:sudo )?"
    r"(?:\S*/)?(?:placement-\w+|nova-manage|berth-compute|openstack|curl|call|python3?|pip|tox|pytest"
    r"|gunicorn|systemctl|promtool|podman|buildah|oslo\w*-\w+|make_base)\b(?! =)",
    re.M,
)
#: pages whose commands no test runs as the page has them
EXCEPTIONS = {
    "contributing.rst": "they start the tests themselves, and the environments that CI runs",
    "performance.rst": "the measurements take minutes each",
    "promises.rst": "it starts the tests that the page names",
}


def pages_with_commands() -> list[str]:
    """Return the pages that show a command in a block."""
    found = []
    for page in sorted(DOC.glob("*.rst")):
        blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
        if any(_COMMAND.search(block) for block in blocks):
            found.append(page.name)
    return found


def readers(page: str) -> list[pathlib.Path]:
    """Return the test files that name the page, without those about all pages alike."""
    return [
        path
        for path in (ROOT / "tests").rglob("*.py")
        if path.parent != pathlib.Path(__file__).parent
        and f'"{page}"' in path.read_text(encoding="utf-8")
    ]


def test_pages_with_commands_are_found() -> None:
    assert {"tutorial.rst", "deployment.rst", "nova_manage.rst"} <= set(pages_with_commands())


@pytest.mark.parametrize("page", pages_with_commands())
def test_the_commands_of_a_page_are_run_by_a_test(page: str) -> None:
    assert page in EXCEPTIONS or readers(page)


def test_no_exception_is_left_over() -> None:
    assert set(EXCEPTIONS) <= set(pages_with_commands())
