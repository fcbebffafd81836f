"""Writes the names of an installed nova's options into `nova_options.yaml`.

Give it what that nova's `oslo-config-generator --namespace nova.conf` prints::

    oslo-config-generator --namespace nova.conf | python tests/unit/compute/collect_nova_options.py

What is written by hand in the file stays: `read`, `refused`, `other_drivers`, `others`. A new name
comes to `undecided`, which the test refuses.
"""

import re
import sys
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_name("nova_options.yaml")
HEADER = """\
# All options of nova, by `oslo-config-generator --namespace nova.conf`, and what this side does
# with each; collect_nova_options.py writes the names. By hand is where a name stands:
#
# read: it is honoured, or its contradictions are refused; doc/options_of_nova.rst has it
# refused: the start is refused where it would have the report differ; the page has it
# other_drivers: it changes what drivers of nova report that aren't here
# others: nova reports the same whatever it is, or it doesn't change what a host reports
"""


def names_of(printed: str) -> dict[str, list[str]]:
    """Return group → names of the options in a sample configuration."""
    groups: dict[str, list[str]] = {}
    for line in printed.splitlines():
        if found := re.fullmatch(r"\[(.+)\]", line):
            groups[group := found[1]] = []
        elif found := re.match(r"#?([A-Za-z0-9_]+) =", line):
            groups[group].append(found[1])
    return {group: sorted(set(names)) for group, names in groups.items()}


def merged(kept: dict[str, Any], names: dict[str, list[str]]) -> dict[str, Any]:
    """Return the table with these names, each where it stood."""
    result: dict[str, Any] = {}
    for group, found in names.items():
        decided = {
            decision: [name for name in kept.get(group, {}).get(decision, ()) if name in found]
            for decision in ("read", "refused", "other_drivers", "others")
        }
        known = {name for those in decided.values() for name in those}
        decided["undecided"] = [name for name in found if name not in known]
        result[group] = {decision: those for decision, those in decided.items() if those}
    return result


if __name__ == "__main__":
    table = yaml.safe_load(FILE.read_text()) if FILE.exists() else {}
    table = merged(table, names_of(sys.stdin.read()))
    text = yaml.safe_dump(table, default_flow_style=None, sort_keys=False, width=99)
    FILE.write_text(HEADER + text)
