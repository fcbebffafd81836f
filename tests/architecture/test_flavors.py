"""A flavor is read in one place: compute/requests alone knows what an extra spec means."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.files import ROOT, shown, text_of
from tests.offenders import assert_none

TRANSLATION = "compute/requests/"
#: file → why it names extra specs of flavors, or their keys
OTHERS = {
    "compute/records/instance.py": "declares what a record has",
    "compute/cli/commands/request.py": "makes a flavor of options",
    "compute/osc/flavors.py": "makes a flavor of nova's answer",
}
_KEY = re.compile(r"(hw|os|accel|pci_passthrough):.*|(resources|trait)[\w-]*:[A-Z].*")


def test_only_the_translation_reads_extra_specs() -> None:
    found = {
        shown(path): lines
        for package in ("compute", "virt", "placement")
        for path in sorted((ROOT / package).rglob("*.py"))
        if (lines := sorted(_reads(path)))
    }
    assert_none(
        f"{name}:{line} reads extra specs, as compute/requests alone should"
        for name, lines in found.items()
        if not name.startswith(TRANSLATION) and name not in OTHERS
        for line in lines
    )
    assert_none(
        f"{name}: it doesn't read extra specs any more" for name in OTHERS if name not in found
    )
    assert any(name.startswith(TRANSLATION) for name in found)


def _reads(path: Path) -> Iterator[int]:
    """Yield the lines that name the field of extra specs, or one of their keys."""
    for node in ast.walk(ast.parse(text_of(path))):
        match node:
            case ast.Attribute(attr="extra_specs", lineno=line):
                yield line
            case (
                ast.keyword(arg="extra_specs", lineno=line)
                | ast.arg(arg="extra_specs", lineno=line)
            ):
                yield line
            case ast.AnnAssign(target=ast.Name(id="extra_specs"), lineno=line):
                yield line
            case ast.Constant(value=str(text), lineno=line) if _KEY.fullmatch(text):
                yield line
