"""The pages of doc/ hold together: links lead somewhere, named files exist, words are used."""

import collections
import configparser
import io
import pathlib
import re
from collections.abc import Iterator

import docutils.core
import docutils.nodes
import pytest
from docutils.parsers import rst
from docutils.utils import Reporter

import compute.config
import placement.config
from placement.config import keystone_authtoken

ROOT = pathlib.Path(__file__).parents[2]
DOC = ROOT / "doc"
PAGES = [ROOT / "README.rst", *sorted(DOC.rglob("*.rst"))]
PACKAGES = ("placement", "compute", "virt")
CODE = (*PACKAGES, "tests", "benchmarks")
#: `text <target>`_ of reStructuredText; the text and the target may be broken over lines
_LINK = re.compile(r"`[^`<>]+<(?P<target>[^`<>]+)>`_")
_UNDERLINE = re.compile(r"^(?P<title>\S.*)\n(?P<line>([=~^-])\3+)$", re.M)
#: a file of ours in literal quotes: `compute/claims.py`, or the name of a test file alone
_OWN_FILE = re.compile(rf"(?:{'|'.join(CODE)})/[\w./-]+|test_\w+\.py")
_LITERAL = re.compile(r"``([^`]+)``")
#: the same in Markdown
_CODE_SPAN = re.compile(r"`([^`\n]+)`")
#: the term of a definition list
_TERM = re.compile(r"^(?P<term>\S.*)\n {4}\S", re.M)


class _OfSphinx(rst.Directive):
    """A directive that only Sphinx knows: its options and its content say nothing here."""

    has_content = True
    final_argument_whitespace = True
    option_spec = collections.defaultdict(lambda: lambda text: text)

    def run(self) -> list[docutils.nodes.Node]:
        """Return nothing."""
        return []


for _name in ("toctree", "show-options", "show-policy"):
    rst.directives.register_directive(_name, _OfSphinx)


def _anchors(page: pathlib.Path) -> set[str]:
    titles = [match["title"] for match in _UNDERLINE.finditer(page.read_text(encoding="utf-8"))]
    return {re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") for title in titles}


def _links(page: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Yield the path and the section of each link that stays in the repository."""
    for link in _LINK.finditer(page.read_text(encoding="utf-8")):
        target = " ".join(link["target"].split())
        if "://" not in target:
            path, _, section = target.partition("#")
            yield path, section


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_have_no_markup_that_is_shown_as_an_error(page: pathlib.Path) -> None:
    said = io.StringIO()
    settings = {"warning_stream": said, "report_level": Reporter.ERROR_LEVEL}
    text = page.read_text(encoding="utf-8")
    docutils.core.publish_doctree(text, str(page), settings_overrides=settings)
    assert said.getvalue() == ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_pages_and_sections_that_exist(page: pathlib.Path) -> None:
    astray = []
    for path, section in _links(page):
        target = (page.parent / path) if path else page
        if not target.exists() or (section and section not in _anchors(target)):
            astray.append(f"{path}#{section}")
    assert astray == []


def _named_files() -> Iterator[tuple[pathlib.Path, str]]:
    for page in [*PAGES, *sorted(DOC.rglob("*.md"))]:
        literals = _LITERAL if page.suffix == ".rst" else _CODE_SPAN
        for literal in literals.finditer(page.read_text(encoding="utf-8")):
            for word in literal[1].split():
                if match := _OWN_FILE.fullmatch(word.partition("::")[0].rstrip("/")):
                    yield page, match[0]


def test_files_that_pages_name_exist() -> None:
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    tests |= set(re.findall(r":name: (test_\w+\.py)", (DOC / "driver_guide.rst").read_text()))
    astray = {
        f"{page.name}: {name}"
        for page, name in _named_files()
        if not (ROOT / name).exists() and name not in tests
    }
    assert astray == set()


def test_options_that_pages_name_exist() -> None:
    ours: dict[str, set[str]] = {}
    for listed in (placement.config, compute.config, keystone_authtoken):
        for group, options in listed.list_opts():
            ours.setdefault(group or "DEFAULT", set()).update(option.dest for option in options)
    named = {
        (page.name, *option)
        for page in PAGES
        for option in re.findall(r"``\[(\w+)\](\w+)", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 50
    # other groups are those of libraries, or of keystone
    assert {name for name in named if name[1] in ours and name[2] not in ours[name[1]]} == set()
    assert {group for _, group, _ in named} - set(ours) == {
        *("profiler", "fernet_tokens", "oslo_policy"),
    }


def _commands(program: str) -> list[list[str]]:
    """Return the arguments of each command of the contributing page that runs this program."""
    text = (DOC / "contributing.rst").read_text(encoding="utf-8")
    found = re.findall(rf"\b{program} ((?:[\w./-]+ ?)+)", text)
    return [arguments.split() for arguments in found]


def test_the_paths_of_pytests_commands_exist_and_k_selects_something() -> None:
    commands = [words for words in _commands("pytest") if any("/" in word for word in words)]
    assert len(commands) > 10
    for words in commands:
        paths = [ROOT / word for word in words if word.startswith("tests/")]
        assert [path for path in paths if not path.exists()] == []
        if "-k" in words:
            selected = words[words.index("-k") + 1]
            named = any(selected in path.name for path in paths[0].rglob("*"))
            assert named or selected in paths[0].read_text(encoding="utf-8")


def test_the_benchmarks_of_the_pages_exist_and_have_the_options() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    commands = re.findall(r"\bpython -m (benchmarks\.\w+)((?: [\w./-]+)*)", text)
    assert len(commands) > 10
    for module, arguments in commands:
        source = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        options = re.findall(r"--[\w-]+", arguments)
        assert [option for option in options if f'"{option}"' not in source] == [], module


def test_toxs_environments_exist() -> None:
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    named = {words[0] for words in _commands("tox -e")}
    assert named >= {"lint", "quick", "reference", "adoption", "galera"}
    # tox knows the interpreters itself
    own = {name for name in named if not re.fullmatch(r"py3\d+", name)}
    assert {name for name in own if f"testenv:{name}" not in tox} == set()


def test_contributors_read_of_each_of_toxs_environments_and_of_those_in_ci() -> None:
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    page = (DOC / "contributing.rst").read_text(encoding="utf-8")
    rows = re.findall(r"^``(\w+)`` {2,}[\d.]+(?: to \d+)? (?:s|min) {2,}\S", page, re.M)
    own = {name.removeprefix("testenv:") for name in tox.sections() if name.startswith("testenv:")}
    assert sorted(rows) == sorted(own | {"py"})
    ci = re.search(r"^CI runs (?:.+\n)+", page, re.M)
    assert ci
    run = re.findall(r"-m tox -e (\w+)", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    always = re.split(r",\s*", tox["tox"]["envlist"])
    assert set(re.findall(r"``(\w+)``", ci[0])) == {*run, *always}


def test_contributors_read_of_each_debian_package_that_ci_installs() -> None:
    page = (DOC / "contributing.rst").read_text(encoding="utf-8")
    added = re.findall(r"missing\+=\((.+)\)", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    packages = {name for names in added for name in names.split()}
    assert len(packages) > 10
    assert {name for name in packages if f"``{name}``" not in page} == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_the_layout_shows_each_folder_of_a_package(package: str) -> None:
    page = (DOC / "architecture.rst").read_text(encoding="utf-8")
    layout = re.search(rf"^    {package}/\n(?:      .*\n)+", page, re.M)
    assert layout
    folders = {file.parent.name for file in (ROOT / package).glob("*/__init__.py")}
    assert {folder for folder in folders if f" {folder}/" not in layout[0]} == set()


def test_every_page_is_in_the_index() -> None:
    listed = {path for path, _ in _links(DOC / "index.rst")}
    # readme.rst is the README as a page of the site, which the index links as a file
    assert listed >= {page.name for page in DOC.glob("*.rst")} - {"index.rst", "readme.rst"}


#: a manual page has the sections of manual pages, and release notes are for everybody
_FOR_WHOM = [
    page
    for page in [*sorted(DOC.glob("*.rst")), *sorted((DOC / "api").glob("*.rst"))]
    if page.name not in ("index.rst", "readme.rst")
]


@pytest.mark.parametrize("page", _FOR_WHOM, ids=lambda page: page.name)
def test_every_page_says_first_for_whom_it_is(page: pathlib.Path) -> None:
    _, _, _, _, first, *_ = page.read_text(encoding="utf-8").splitlines()
    assert re.match(r"\*For [^*]+\.\*", first)


@pytest.mark.parametrize("page", ["index.rst", "contributing.rst"])
def test_the_glossary_is_linked_where_readers_begin(page: str) -> None:
    assert "glossary.rst" in {path for path, _ in _links(DOC / page)}


def _terms() -> list[str]:
    return _TERM.findall((DOC / "glossary.rst").read_text(encoding="utf-8"))


def test_each_term_of_the_glossary_is_used() -> None:
    files = [path for top in PACKAGES for path in (ROOT / top).rglob("*.py")]
    pages = [*DOC.rglob("*.rst"), *DOC.rglob("*.md")]
    files += [page for page in pages if page.name != "glossary.rst"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files if path.is_file())
    unused = []
    for term in _terms():
        words = map(re.escape, re.split(r"[ -]", term.removeprefix("the ")))
        # `report client` is also written report_client and ReportClient
        if not re.search(r"[\s_-]*".join(words), text, re.I):
            unused.append(term)
    assert unused == []


def test_no_term_of_the_glossary_is_told_twice() -> None:
    terms = _terms()
    assert len(terms) > 40
    assert len(terms) == len(set(terms))
