"""Every citation of a document leads to a page, and a section, of this repository."""

import pathlib
import re
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SPEC = ROOT / "doc" / "spec"
#: where citations stand
CITING = ("placement", "compute", "virt", "tests", "benchmarks", "doc")
KINDS = {".py", ".rst", ".md", ".yaml", ".cfg", ".toml", ".ini"}
#: a page of the specification, and the numbers of sections that follow its name
_SPECIFICATION = re.compile(
    r"\b(?P<page>[a-z-]+)\.md(?![\w(.])"
    r"(?P<sections>`*,? ?§? ?\d+(?:\.\d+)*(?:(?:, | – | and )§?\d+(?:\.\d+)*)*)?"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_DECISIONS = re.compile(r"architecture\.rst ((?:D\d+(?:, )?)+)")
_PAGE = re.compile(r"\b([a-z_]+\.rst)\b")


def citing() -> Iterator[tuple[pathlib.Path, str]]:
    """Every file that may cite, with its text; line breaks within a citation don't matter."""
    files = [path for top in CITING for path in (ROOT / top).rglob("*")]
    for path in [*files, ROOT / "README.rst", ROOT / "setup.cfg"]:
        if path.suffix in KINDS and path != pathlib.Path(__file__):
            yield path, path.read_text(encoding="utf-8")


def sections_of(page: pathlib.Path) -> set[str]:
    """Return the numbers of a page's headings and paragraphs: `3.9` of `### 3.9 Flush`, `3.9.3`."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (\d+(?:\.\d+)*)\.? ", text, re.M)
    return set(headings) | set(re.findall(r"^\W*(\d+\.\d+\.\d+) ", text, re.M))


def test_cited_sections_of_the_specification_exist() -> None:
    sections = {page.stem: sections_of(page) for page in SPEC.glob("*.md")}
    astray = []
    for path, text in citing():
        for citation in _SPECIFICATION.finditer(text):
            page = citation["page"]
            if page not in sections:
                astray.append(f"{path.relative_to(ROOT)}: {citation[0]}")
                continue
            numbers = _NUMBER.findall(citation["sections"] or "")
            astray += [
                f"{path.relative_to(ROOT)}: {page}.md has no section {number}"
                for number in numbers
                if number not in sections[page]
            ]
    assert astray == []


def test_cited_decisions_of_the_architecture_exist() -> None:
    page = (ROOT / "doc" / "architecture.rst").read_text(encoding="utf-8")
    decisions = set(re.findall(r"^(D\d+) ", page, re.M))
    astray = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, text in citing()
        for citation in _DECISIONS.finditer(text)
        for name in re.findall(r"D\d+", citation[1])
        if name not in decisions
    ]
    assert astray == []


def test_cited_pages_exist() -> None:
    pages = {page.name for page in (ROOT / "doc").rglob("*.rst")} | {"README.rst"}
    astray = {
        f"{path.relative_to(ROOT)}: {name}"
        for path, text in citing()
        for name in _PAGE.findall(text)
        if name not in pages
    }
    assert astray == set()


@pytest.mark.parametrize("foreign", ["DESIGN", "SEED"])
def test_no_document_outside_the_repository_is_cited(foreign: str) -> None:
    pattern = re.compile(rf"\b{foreign}\b(?: D?\d| says|\.md)")
    assert [str(p.relative_to(ROOT)) for p, text in citing() if pattern.search(text)] == []
