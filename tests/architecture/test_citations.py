"""Every citation of a document leads to a page, and a section, of this repository."""

import ast
import functools
import io
import pathlib
import re
import tokenize

from tests.architecture.files import ROOT, shown, text_of
from tests.offenders import assert_none

SPEC = ROOT / "doc" / "spec"
#: where citations stand
CITING = ("placement", "compute", "virt", "tests", "benchmarks", "doc")
KINDS = {".py", ".rst", ".md", ".yaml", ".cfg", ".toml", ".ini"}
#: a page of the specification, and the numbers of sections that follow its name
_SPECIFICATION = re.compile(
    r"\b(?P<page>[a-z-]+)\.md(?![\w(.])"
    r"(?P<sections>`*,?\s?§?\s?\d+(?:\.\d+)*"
    r"(?:(?:,\s+(?:and )?|[–-]|\s+–\s+|\s+and\s+|\s+to\s+)§?\d+(?:\.\d+)*)*)?"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
#: what names a section and no page
_SECTION = re.compile(r"§\s?(?P<sign>\d+(?:\.\d+)*)|\b[Ss]ections? (?P<word>\d+(?:\.\d+)*)")
#: a page without the end of its name: `rest-api 1.11`
_CLIPPED = re.compile(r"\b(?:rest-api|allocation-candidates),? §?\d")
#: a scenario of compute.md 9, in a comment or a docstring: T tree, C client, R tracker, A, M
_SCENARIO = re.compile(r"(?<![\w%.-])[TCRAM][1-9]\d?[bc]?\b(?!\.)")
#: a decision of architecture.rst, or a defect of allocation-candidates.md 2.12
_LETTER_D = re.compile(r"(?<![\w%.-])D[1-9]\d?\b(?!-)")
_DECISIONS = re.compile(r"architecture\.rst ((?:D\d+(?:, )?)+)")
_PAGE = re.compile(r"(?<![\w-])([a-z_-]+\.rst)\b")


@functools.cache
def citing() -> tuple[tuple[pathlib.Path, str], ...]:
    """Every file that may cite, with its text; line breaks within a citation don't matter."""
    files = [path for top in CITING for path in (ROOT / top).rglob("*")]
    files += [ROOT / "README.rst", ROOT / "setup.cfg"]
    citing = [path for path in files if path.suffix in KINDS and path != pathlib.Path(__file__)]
    return tuple((path, text_of(path)) for path in citing)


@functools.cache
def cited_specification(path: pathlib.Path) -> tuple[re.Match[str], ...]:
    """Return the citations of the specification in a file."""
    text = text_of(path)
    return tuple(_SPECIFICATION.finditer(text)) if ".md" in text else ()


def sections_of(page: pathlib.Path) -> set[str]:
    """Return the numbers of a page's headings and paragraphs: `3.9` of `### 3.9 Flush`, `3.9.3`."""
    text = text_of(page)
    headings = re.findall(r"^#+ (\d+(?:\.\d+)*)\.? ", text, re.M)
    return set(headings) | set(re.findall(r"^\W*(\d+\.\d+\.\d+) ", text, re.M))


def test_cited_sections_of_the_specification_exist() -> None:
    sections = {page.stem: sections_of(page) for page in SPEC.glob("*.md")}
    astray = []
    for path, _ in citing():
        for citation in cited_specification(path):
            page = citation["page"]
            if page not in sections:
                astray.append(f"{shown(path)}: {citation[0]}")
                continue
            numbers = _NUMBER.findall(citation["sections"] or "")
            astray += [
                f"{shown(path)}: {page}.md has no section {number}"
                for number in numbers
                if number not in sections[page]
            ]
    assert_none(astray)


def test_cited_decisions_of_the_architecture_exist() -> None:
    page = text_of(ROOT / "doc" / "architecture.rst")
    decisions = set(re.findall(r"^(D\d+) ", page, re.M))
    assert_none(
        f"{shown(path)}: {name}"
        for path, text in citing()
        for citation in _DECISIONS.finditer(text)
        for name in re.findall(r"D\d+", citation[1])
        if name not in decisions
    )


def test_no_section_is_cited_without_its_page() -> None:
    astray = []
    for path, text in citing():
        if path.parent == SPEC:
            continue
        named = [citation.span() for citation in cited_specification(path)]
        astray += [
            f"{shown(path)}: {section[0]}"
            for section in [*_SECTION.finditer(text), *_CLIPPED.finditer(text)]
            if not any(start <= section.start() < end for start, end in named)
        ]
    assert_none(astray)


def test_sections_that_a_page_cites_of_itself_exist() -> None:
    astray = []
    for page in sorted(SPEC.glob("*.md")):
        sections = sections_of(page)
        others = [citation.span() for citation in cited_specification(page)]
        astray += [
            f"{page.name}: {section[0]}"
            for section in _SECTION.finditer(text_of(page))
            if not any(start <= section.start() < end for start, end in others)
            and (section["sign"] or section["word"]) not in sections
        ]
    assert_none(astray)


def remarks(path: pathlib.Path) -> str:
    """Return the comments and docstrings of a file of Python."""
    text = text_of(path)
    found = [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]
    return "\n".join([*found, *(ast.get_docstring(node) or "" for node in nodes)])


def test_cited_scenarios_exist_and_their_page_is_named() -> None:
    page = text_of(SPEC / "compute.md")
    scenarios = set(re.findall(r"^\| ([TCRAM]\d+[bc]?) \|", page, re.M))
    astray = []
    for path, text in citing():
        if path.suffix == ".py" and _SCENARIO.search(text):
            cited = set(_SCENARIO.findall(remarks(path)))
            unknown = cited if "compute.md" not in text else cited - scenarios
            astray += [f"{shown(path)}: {name}" for name in sorted(unknown)]
    assert_none(astray)


def test_decisions_and_defects_are_cited_with_their_page() -> None:
    page = text_of(SPEC / "allocation-candidates.md")
    defects = set(re.findall(r"^\| (D\d+) \|", page, re.M))
    astray = []
    for path, text in citing():
        if path.suffix not in {".py", ".rst", ".yaml"} or path.name == "architecture.rst":
            continue
        named = [citation.span() for citation in _DECISIONS.finditer(text)]
        known = defects if "allocation-candidates.md 2.12" in text else set()
        astray += [
            f"{shown(path)}: {name[0]}"
            for name in _LETTER_D.finditer(text)
            if not any(start <= name.start() < end for start, end in named) and name[0] not in known
        ]
    assert_none(astray)


def test_cited_pages_exist() -> None:
    pages = {page.name for page in (ROOT / "doc").rglob("*.rst")} | {"README.rst"}
    astray = {
        f"{shown(path)}: {name}"
        for path, text in citing()
        for name in _PAGE.findall(text)
        if name not in pages
    }
    assert_none(sorted(astray))


def test_no_document_outside_the_repository_is_cited() -> None:
    pattern = re.compile(r"\b(?:DESIGN|SEED)\b(?: D?\d| says|\.md)")
    assert_none(
        f"{shown(path)}: {citation[0]}"
        for path, text in citing()
        for citation in pattern.finditer(text)
    )
