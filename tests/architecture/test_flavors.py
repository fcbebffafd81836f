"""A flavor is read in one place: compute/requests alone knows what an extra spec means."""

from tests.architecture.files import ROOT, shown
from tests.architecture.source import read
from tests.offenders import assert_none

TRANSLATION = "compute/requests/"
#: file → why it names extra specs of flavors, or their keys
OTHERS = {
    "compute/records/instance.py": "declares what a record has",
    "compute/cli/commands/request.py": "makes a flavor of options",
    "compute/osc/flavors.py": "makes a flavor of nova's answer",
}


def test_only_the_translation_reads_extra_specs() -> None:
    found = {
        shown(path): lines
        for package in ("compute", "virt", "placement")
        for path in sorted((ROOT / package).rglob("*.py"))
        if (lines := sorted(read(path).extra_specs))
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
