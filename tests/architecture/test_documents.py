"""The pages of doc/ hold together: links lead somewhere, named files exist, words are used."""

import collections
import configparser
import functools
import io
import pathlib
import re
import subprocess
from collections.abc import Iterator

import docutils.core
import docutils.frontend
import docutils.nodes
from docutils.parsers import rst
from docutils.readers import standalone
from docutils.utils import Reporter

import compute.config
import placement.config
from placement.config import keystone_authtoken
from tests import extent
from tests.architecture.files import ROOT, shown, text_of
from tests.offenders import assert_none

#: all that the root of the project has
TOP_LEVEL = {
    *(
        ".ci",
        ".editorconfig",
        ".gitignore",
        "CHANGELOG.rst",
        "LICENSE",
        "README.rst",
        "SECURITY.md",
    ),
    *(".pre-commit-config.yaml", "alembic.ini", "pyproject.toml", "setup.cfg", "tox.ini"),
    *("benchmarks", "compute", "contrib", "doc", "etc", "placement", "tests", "virt"),
}
DOC = ROOT / "doc"
PAGES = [ROOT / "README.rst", ROOT / "CHANGELOG.rst", *sorted(DOC.rglob("*.rst"))]
#: those of them that Sphinx doesn't read
_NOT_BUILT = [ROOT / "CHANGELOG.rst", *sorted((DOC / "releases/changes").glob("*.rst"))]
PACKAGES = ("placement", "compute", "virt")
CODE = (*PACKAGES, "tests", "benchmarks")
#: `text <target>`_ of reStructuredText; the text and the target may be broken over lines
_LINK = re.compile(r"`[^`<>]+<(?P<target>[^`<>]+)>`_")
_UNDERLINE = re.compile(r"^(?P<title>\S.*)\n(?P<line>([=~^-])\3+)$", re.M)
#: a file of ours in literal quotes: `compute/claims.py`, or the name of a module alone
_OWN_FILE = re.compile(rf"(?:{'|'.join(CODE)})/[\w./-]+|\w+\.py")
#: the name of a file that a page shows whole
_SHOWN_FILE = re.compile(r":name: (\w+\.py)")
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


for _name in ("toctree", "index", "show-options", "show-policy"):
    rst.directives.register_directive(_name, _OfSphinx)


@functools.cache
def _anchors(page: pathlib.Path) -> set[str]:
    titles = [match["title"] for match in _UNDERLINE.finditer(text_of(page))]
    return {re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") for title in titles}


def _links(page: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Yield the path and the section of each link that stays in the repository."""
    for link in _LINK.finditer(text_of(page)):
        target = " ".join(link["target"].split())
        if "://" not in target:
            path, _, section = target.partition("#")
            yield path, section


def _wrong_markup(page: pathlib.Path) -> list[str]:
    """Return what docutils says of a page; each line begins with the page's path."""
    settings, said = _settings().copy(), io.StringIO()
    settings.warning_stream = said
    docutils.core.publish_doctree(text_of(page), str(page), settings=settings)
    return said.getvalue().splitlines()


@functools.cache
def _settings() -> docutils.frontend.Values:
    """Return what a page is read with: to gather it takes as long as to read a short page."""
    settings = docutils.frontend.get_default_settings(rst.Parser, standalone.Reader)
    settings.report_level = Reporter.ERROR_LEVEL
    # nothing ends it before the page does
    settings.halt_level = Reporter.SEVERE_LEVEL + 1
    # colours of code say nothing of its markup
    settings.syntax_highlight = "none"
    return settings


def test_pages_have_no_markup_that_is_shown_as_an_error() -> None:
    # Sphinx refuses the others' faults, at .ci/run
    pages = PAGES if extent.thorough else _NOT_BUILT
    assert_none(line for page in pages for line in _wrong_markup(page))


def _leads_somewhere(page: pathlib.Path, path: str, section: str) -> bool:
    target = (page.parent / path) if path else page
    return target.exists() and (not section or section in _anchors(target))


def test_links_lead_to_pages_and_sections_that_exist() -> None:
    assert_none(
        f"{shown(page)}: {path}#{section}"
        for page in PAGES
        for path, section in _links(page)
        if not _leads_somewhere(page, path, section)
    )


def _named_files() -> Iterator[tuple[pathlib.Path, str]]:
    for page in [*PAGES, *sorted(DOC.rglob("*.md"))]:
        literals = _LITERAL if page.suffix == ".rst" else _CODE_SPAN
        for literal in literals.finditer(text_of(page)):
            for word in literal[1].split():
                if match := _OWN_FILE.fullmatch(word.partition("::")[0].rstrip("/")):
                    yield page, match[0]


def test_files_that_pages_name_exist() -> None:
    modules = {path.name for top in CODE for path in (ROOT / top).rglob("*.py")}
    for page in PAGES:
        modules |= set(_SHOWN_FILE.findall(text_of(page)))
    astray = {
        f"{shown(page)}: {name}"
        for page, name in _named_files()
        if not (ROOT / name).exists() and name not in modules
    }
    assert_none(sorted(astray))


def test_options_that_pages_name_exist() -> None:
    ours: dict[str, set[str]] = {}
    for listed in (placement.config, compute.config, keystone_authtoken):
        for group, options in listed.list_opts():
            ours.setdefault(group or "DEFAULT", set()).update(option.dest for option in options)
    named = {
        (shown(page), *option)
        for page in PAGES
        for option in re.findall(r"``\[(\w+)\](\w+)", text_of(page))
    }
    assert len(named) > 50
    # other groups are those of libraries, or of keystone
    assert_none(
        f"{page}: [{group}]{option}"
        for page, group, option in sorted(named)
        if group in ours and option not in ours[group]
    )
    assert {group for _, group, _ in named} - set(ours) == {
        *("profiler", "fernet_tokens", "oslo_policy"),
    }


def test_configuration_that_pages_show_can_be_copied() -> None:
    # oslo.config takes a comment behind a value for a part of the value
    assert_none(
        f"{shown(page)}: {line.strip()}"
        for page in PAGES
        for line in re.findall(r"^ +[a-z_]+ = [^#\n]*\S {2,}#.*$", text_of(page), re.M)
    )


def _commands(program: str) -> list[list[str]]:
    """Return the arguments of each command of the contributing page that runs this program."""
    text = text_of(DOC / "contributing.rst")
    found = re.findall(rf"\b{program} ((?:[\w./-]+ ?)+)", text)
    return [arguments.split() for arguments in found]


def test_the_paths_of_pytests_commands_exist_and_k_selects_something() -> None:
    commands = [words for words in _commands("pytest") if any("/" in word for word in words)]
    assert len(commands) > 10
    assert_none(line for words in commands for line in _wrong_in_command(words))


def _wrong_in_command(words: list[str]) -> Iterator[str]:
    """Yield each path of pytest's command that isn't there, and a name that selects nothing."""
    paths = [ROOT / word for word in words if word.startswith("tests/")]
    missing = [shown(path) for path in paths if not path.exists()]
    if missing:
        yield from missing
    elif "-k" in words:
        selected = words[words.index("-k") + 1]
        named = any(selected in path.name for path in paths[0].rglob("*"))
        if not named and selected not in text_of(paths[0]):
            yield f"-k {selected} selects nothing of {shown(paths[0])}"


def test_the_benchmarks_of_the_pages_exist_and_have_the_options() -> None:
    text = "\n".join(map(text_of, PAGES))
    commands = re.findall(r"\bpython -m (benchmarks\.\w+)((?: [\w./-]+)*)", text)
    assert len(commands) > 10
    files = {module: ROOT / f"{module.replace('.', '/')}.py" for module, _ in commands}
    assert_none(f"{module} is not there" for module, file in files.items() if not file.exists())
    assert_none(
        f"{module} {option}"
        for module, arguments in commands
        for option in re.findall(r"--[\w-]+", arguments)
        if f'"{option}"' not in text_of(files[module])
    )


def test_toxs_environments_exist() -> None:
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    named = {words[0] for words in _commands("tox -e")}
    assert named >= {"lint", "quick", "reference", "adoption", "galera"}
    # tox knows the interpreters itself
    own = {name for name in named if not re.fullmatch(r"py3\d+", name)}
    assert_none(sorted(name for name in own if f"testenv:{name}" not in tox))


def test_contributors_read_of_each_of_toxs_environments_and_of_those_in_ci() -> None:
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    page = text_of(DOC / "contributing.rst")
    rows = re.findall(r"^``(\w+)`` {2,}[\d.]+(?: to \d+)? (?:s|min) {2,}\S", page, re.M)
    own = {name.removeprefix("testenv:") for name in tox.sections() if name.startswith("testenv:")}
    assert len(rows) == len(set(rows))
    assert_none(
        f"{name} has a row, but tox doesn't know it" if name in rows else f"{name} has no row"
        for name in sorted(set(rows) ^ (own | {"py"}))
    )
    ci = re.search(r"^CI runs (?:.+\n)+", page, re.M)
    assert ci
    script = text_of(ROOT / ".ci" / "run")
    run = set(re.findall(r"-m tox -e (\w+)", script))
    # what is called without tox is known by the folder that the environment's commands name
    for folder in re.findall(r"\btests/\w+", script):
        (name,) = {each for each in own if folder in tox[f"testenv:{each}"].get("commands", "")}
        run.add(name)
    always = re.split(r",\s*", tox["tox"]["envlist"])
    assert set(re.findall(r"``(\w+)``", ci[0])) == {*run, *always}


def test_contributors_read_of_each_debian_package_that_ci_installs() -> None:
    page = text_of(DOC / "contributing.rst")
    added = re.findall(r"missing\+=\((.+)\)", text_of(ROOT / ".ci" / "run"))
    packages = {name for names in added for name in names.split()}
    assert len(packages) > 10
    assert_none(sorted(name for name in packages if f"``{name}``" not in page))


def test_the_layout_shows_each_folder_of_a_package() -> None:
    page = text_of(DOC / "architecture.rst")
    layouts = {
        package: re.search(rf"^    {package}/\n(?:      .*\n)+", page, re.M) for package in PACKAGES
    }
    assert_none(package for package, layout in layouts.items() if not layout)
    assert_none(
        f"{package}/{file.parent.name}"
        for package, layout in layouts.items()
        for file in sorted((ROOT / package).glob("*/__init__.py"))
        if f" {file.parent.name}/" not in layout[0]
    )


def test_the_top_level_has_nothing_by_accident() -> None:
    # the archive of the sources is made of what git knows, but has no git
    if (ROOT / ".git").exists():
        listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
        assert {path.partition("/")[0] for path in listed.splitlines()} == TOP_LEVEL


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Return the title and the text of each section below the title of a page."""
    _, *parts = re.split(r"^(\S.*)\n=+\n\n", text.split("\n", 3)[3], flags=re.M)
    return zip(parts[::2], parts[1::2], strict=True)


def test_every_page_is_in_the_index() -> None:
    listed = {path for path, _ in _links(DOC / "index.rst")}
    # readme.rst is the README as a page of the site, which the index links as a file
    pages = {page.name for page in DOC.glob("*.rst")} - {"index.rst", "readme.rst"}
    assert_none(sorted(pages - listed))


#: a manual page has the sections of manual pages, and release notes are for everybody
_FOR_WHOM = [
    page
    for page in sorted([*DOC.glob("*.rst"), *DOC.glob("api/*.rst"), *DOC.glob("decisions/*.rst")])
    if page.name not in ("index.rst", "readme.rst")
]


def _says_for_whom(page: pathlib.Path) -> bool:
    below_the_title = text_of(page).splitlines()[4:]
    return bool(below_the_title and re.match(r"\*For [^*]+\.\*", below_the_title[0]))


def test_every_page_says_first_for_whom_it_is() -> None:
    assert_none(shown(page) for page in _FOR_WHOM if not _says_for_whom(page))


def test_the_glossary_is_linked_where_readers_begin() -> None:
    assert_none(
        name
        for name in ("index.rst", "contributing.rst")
        if "glossary.rst" not in {path for path, _ in _links(DOC / name)}
    )


def _terms() -> list[str]:
    return _TERM.findall(text_of(DOC / "glossary.rst"))


def test_each_term_of_the_glossary_is_used() -> None:
    files = [path for top in PACKAGES for path in (ROOT / top).rglob("*.py")]
    pages = [*DOC.rglob("*.rst"), *DOC.rglob("*.md")]
    files += [page for page in pages if page.name != "glossary.rst"]
    text = "\n".join(text_of(path) for path in files if path.is_file())
    unused = []
    for term in _terms():
        words = map(re.escape, re.split(r"[ -]", term.removeprefix("the ")))
        # `report client` is also written report_client and ReportClient
        if not re.search(r"[\s_-]*".join(words), text, re.I):
            unused.append(term)
    assert_none(unused)


def test_no_term_of_the_glossary_is_told_twice() -> None:
    terms = _terms()
    assert len(terms) > 40
    assert len(terms) == len(set(terms))


def test_who_found_a_security_fault_is_led_to_the_page_about_it() -> None:
    """Code hosts look for this file, and link it."""
    links = re.findall(r"\]\(([\w./]+)#([\w-]+)\)", text_of(ROOT / "SECURITY.md"))
    assert links
    assert [link for link in links if not _leads_somewhere(ROOT / "SECURITY.md", *link)] == []


def test_the_changelog_has_the_notes_of_each_version() -> None:
    """A stranger looks for this file beside the README."""
    listed = {path for path, _ in _links(ROOT / "CHANGELOG.rst")}
    assert listed == {f"doc/releases/{notes.name}" for notes in (DOC / "releases").glob("*.rst")}


def test_decisions_are_records() -> None:
    """Each section tells context, decision and consequences, in this order."""
    records = {
        f"{shown(page)}: {title}": re.findall(r"^\*\*(\w+)\.\*\* ", section, re.M)
        for page in sorted((DOC / "decisions").glob("*.rst"))
        for title, section in _sections(text_of(page))
    }
    wanted = ["Context", "Decision", "Consequences"]
    assert_none(place for place, words in records.items() if words != wanted)
