"""The Python environment that Berth is installed in, and who else installed into it.

OpenStack Placement's distribution has a package `placement`, as Berth has. In one environment the
two overwrite each other's files: what is left is neither of them. Two environments of which one
sees the other's packages are harmless, because Python imports one package `placement` as a whole.
"""

import csv
import functools
import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distributions, version
from pathlib import Path

OURS = "openstack-berth"
REFERENCE = "openstack-placement"
PACKAGE = Path(__file__).parent
REPAIR = f"pip uninstall {REFERENCE}, then pip install --force-reinstall --no-deps {OURS}"


#: the first gunicorn that the server was tested with
OLDEST_GUNICORN = (23, 0)


@functools.cache
def our_version() -> str:
    """Return the version of Berth that is installed."""
    return version(OURS)


class UnusableInstallation(Exception):
    """What is installed doesn't let a command work; the message says what to do."""


class SharedEnvironment(UnusableInstallation):
    """Another distribution has its files among Berth's; the message says which, and what to do."""


def refuse_shared_environment(package: Path = PACKAGE) -> None:
    """Raise SharedEnvironment if OpenStack Placement has files in our package `placement`."""
    for other in distributions(name=REFERENCE):
        if _has_files_in(package, other):
            raise SharedEnvironment(
                f"OpenStack Placement ({REFERENCE} {other.version}) is installed in the same "
                f"environment, and both have files in {package}. Install Berth in an environment "
                f"of its own, or remove the other: {REPAIR}"
            )


def refuse_replaced_script(program: str, owner: str, script: str | None = None) -> None:
    """Raise SharedEnvironment if another distribution also installed the script that runs.

    :param program: name of the script
    :param owner: name of the other distribution
    :param script: path of the script; None: of this process
    """
    path = os.path.realpath(sys.argv[0] if script is None else script)
    if os.path.basename(path) != program:
        return
    for other in distributions(name=owner):
        for file in other.files or ():
            if file.name == program and os.path.realpath(str(other.locate_file(file))) == path:
                raise SharedEnvironment(
                    f"{owner} {other.version} is installed in the same environment, and Berth "
                    f"replaced its {path}. Install Berth in an environment of its own, and bring "
                    f"the other's back: pip install --force-reinstall --no-deps {owner}"
                )


def refuse_other_gunicorn() -> None:
    """Raise UnusableInstallation if placement-api can't work with the installed gunicorn."""
    needed = ".".join(map(str, OLDEST_GUNICORN))
    advice = (
        f"placement-api needs gunicorn {needed} or later: pip install 'gunicorn>={needed}'. Any "
        "other WSGI server can load placement.wsgi.api:application"
    )
    try:
        installed = version("gunicorn")
    except PackageNotFoundError as missing:
        raise UnusableInstallation(f"gunicorn isn't installed. {advice}") from missing
    if _release(installed) < OLDEST_GUNICORN:
        raise UnusableInstallation(f"gunicorn {installed} is too old. {advice}")


def missing_files(package: Path = PACKAGE) -> list[str]:
    """Return our files of the package `placement` that were installed and aren't there, sorted.

    They are relative to the directory of the package. An uninstalled OpenStack Placement may have
    taken them along.
    """
    return sorted(
        name
        for one in distributions(name=OURS)
        if _is_parent(one, package)
        for name in _recorded(one, package.name)
        if not (package.parent / name).is_file()
    )


def hidden_reference(package: Path = PACKAGE) -> Distribution | None:
    """Return OpenStack Placement if Berth hides its package from the Python that it runs with.

    Its commands then import Berth's modules. A virtual environment that also sees the packages of
    the system changes nothing for the system's own Python: the result is None there.
    """
    if sys.prefix != sys.base_prefix:
        return None
    found = (other for other in distributions(name=REFERENCE) if not _has_files_in(package, other))
    return next((other for other in found if _recorded(other, package.name)), None)


def _release(installed: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(int(number) for number in re.findall(r"\d+", installed)[:2])


def _has_files_in(package: Path, other: Distribution) -> bool:
    """Return whether the distribution has files in this directory.

    An editable installation has its metadata beside the directory, and its files elsewhere. The
    packages of a Linux distribution have no list of files: then the modules of its commands tell.
    """
    if not _is_parent(other, package):
        return False
    if other.files is not None:
        return any(file.parts[0] == package.name for file in other.files)
    return any(
        (package.parent / Path(*point.module.split("."))).with_suffix(".py").is_file()
        for point in other.entry_points
        if point.group == "console_scripts"
    )


def _is_parent(distribution: Distribution, package: Path) -> bool:
    """Return whether the distribution's packages would be in the same directory as `package`."""
    place = str(distribution.locate_file(package.name))
    return os.path.realpath(place) == os.path.realpath(package)


def _recorded(distribution: Distribution, package: str) -> Sequence[str]:
    """Return the names of the installed files of a package, those that are missing included."""
    return list(_lines(distribution.read_text("RECORD") or "", f"{package}/"))


def _lines(record: str, prefix: str) -> Iterator[str]:
    for line in csv.reader(record.splitlines()):
        if line and line[0].startswith(prefix) and not line[0].endswith(".pyc"):
            yield line[0]
