"""The requirements of setup.cfg and the upper constraints of OpenStack's releases."""

import configparser
import itertools
import pathlib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.offenders import assert_none

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "constraints"
RELEASES = ("2025.1", "2025.2", "2026.1")
#: interpreters that Berth runs on, as `python_version` in a marker
PYTHONS = ("3.11", "3.12", "3.13")
#: tools of ours, which no operator installs
TOOLS = ("browser", "clients", "conversations", "docs", "lint")
#: Debian 12 has libvirt 9.0 and its bindings. The tests build newer bindings against that library,
#: and these have what the library has. mysqlclient is no part of an OpenStack release: its job runs
#: with the newest
OLDER_THAN_TESTED = {"libvirt-python", "mysqlclient"}


def requirements():
    """Yield extra (empty: every installation) and requirement."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    sets = {"": setup["options"]["install_requires"], **setup["options.extras_require"]}
    for extra, lines in sets.items():
        yield from ((extra, Requirement(line)) for line in lines.split("\n") if line)


def pinned(name, python):
    """Return the versions in a file for an interpreter, by canonical name."""
    found = {}
    for line in (FOLDER / name).read_text().splitlines():
        text = line.partition("#")[0].strip()
        if not text:
            continue
        one = Requirement(text)
        if one.marker is None or one.marker.evaluate({"python_version": python}):
            (specifier,) = one.specifier
            found[canonicalize_name(one.name)] = specifier.version
    return found


def test_every_requirement_admits_the_version_of_the_release():
    wrong = []
    for release, python in itertools.product(RELEASES, PYTHONS):
        versions = pinned(f"upper-constraints-{release}.txt", python)
        named = [
            (extra, one, versions[name])
            for extra, one in requirements()
            if (name := canonicalize_name(one.name)) in versions
        ]
        assert len(named) > 30, (release, python)
        wrong += [
            f"[{extra}] {one}: {release} has {version} for Python {python}"
            for extra, one, version in named
            if not one.specifier.contains(version, prereleases=True)
        ]
    assert_none(wrong)


def test_every_lower_bound_is_a_version_that_the_tests_run_with():
    tested = pinned("upper-constraints-2025.1.txt", "3.11") | pinned("oldest.txt", "3.11")
    wrong = []
    for extra, one in requirements():
        name = canonicalize_name(one.name)
        if extra in TOOLS or name in OLDER_THAN_TESTED:
            continue
        bounds = [part.version for part in one.specifier if part.operator == ">="]
        if len(bounds) != 1 or name not in tested:
            wrong.append(f"[{extra}] {one}: not exactly one lower bound, or never tested")
            continue
        bound = Version(bounds[0]).release
        if Version(tested[name]).release[: len(bound)] != bound:
            wrong.append(f"[{extra}] {one}: the oldest that is tested is {tested[name]}")
    assert_none(wrong)


def test_no_constraint_of_ours_repeats_one_of_the_release():
    of_the_release = pinned("upper-constraints-2025.1.txt", "3.11")
    assert_none(name for name in pinned("oldest.txt", "3.11") if name in of_the_release)
