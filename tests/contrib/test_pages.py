"""The lines of contrib/'s files that pages show are the files' own."""

import re
import textwrap

import pytest

from tests.contrib.files import CONTRIB, text_of
from tests.page_code import text_of as page

#: a build imports its backend from here, and leaves that compiled
NAMES = sorted(
    str(path.relative_to(CONTRIB))
    for path in CONTRIB.rglob("*")
    if path.is_file() and path.parent.name != "__pycache__"
)
#: Debian says what the files in debian/ are, and some can't have comments
FILES = [name for name in NAMES if not name.startswith(("debian/", "grafana/"))]
#: how a block of commands begins
COMMANDS = re.compile("useradd|echo|sudo")
SHOWN = {
    "systemd/placement-api.service": "deployment.rst",
    "systemd/berth-compute.service": "agent.rst",
    "systemd/berth-audit.service": "suspects.rst",
    "apache/placement-api.conf": "deployment.rst",
    "nginx/placement-api": "deployment.rst",
    "haproxy/placement-api.cfg": "deployment.rst",
    "container/Containerfile": "container.rst",
}


def blocks_after(name, text):
    """Return the blocks of literal text that follow the link to the file."""
    _, found, rest = text.partition(f"<../contrib/{name}>`_")
    assert found, name
    # up to the next section, or the next tool
    folder = re.escape(name.partition("/")[0])
    rest = re.split(rf"^[=-]{{3,}}$|<../contrib/(?!{folder}/)", rest, maxsplit=1, flags=re.M)[0]
    return [
        textwrap.dedent(block[1]).strip().splitlines()
        for block in re.finditer(r"::\n\n((?: {4}.*\n|\n)+)", rest)
    ]


@pytest.mark.parametrize("name", SHOWN)
def test_the_lines_that_a_page_shows_are_in_the_file(name):
    # the head of a file, a comment, has the commands
    lines = {line.strip("# ").removeprefix("ExecStart=") for line in text_of(name).splitlines()}
    blocks = blocks_after(name, page(SHOWN[name]))
    shown = [line.strip() for block in blocks if not COMMANDS.match(block[0]) for line in block]
    ours = [line.removeprefix("ExecStart=") for line in shown]
    assert ours
    assert [line for line in ours if line not in lines] == []


@pytest.mark.parametrize("name", FILES)
def test_a_file_says_at_its_top_what_it_is(name):
    first = next(line for line in text_of(name).splitlines() if not line.startswith("#!"))
    assert re.match(r"(#|;|\"\"\") ?[A-Z]", first), first
