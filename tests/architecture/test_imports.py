"""The arrows of the design: a request reads downward through the folders, no import points up.

An arrow is any import statement, those within functions and below TYPE_CHECKING included.
"""

import collections
import functools
import graphlib
import pathlib
from collections.abc import Iterator, Mapping

from tests.architecture.files import ROOT, shown
from tests.architecture.rooms import ABOVE_FEATURES, BETWEEN_FEATURES, MAY_IMPORT, OURS
from tests.architecture.source import read
from tests.offenders import assert_none

#: private names of libraries that have no public way
OF_LIBRARIES: dict[str, set[str]] = {
    # An environment other than the process's own.
    "compute/config/__init__.py": {"_NoValue", "_env_driver", "_environment"},
    # The options and their old names.
    "placement/config/misspelt.py": {"_groups", "_opts"},
    # A row as a mapping: public in SQLAlchemy, and named so to leave names to columns.
    "compute/records/cell_database/sqlite.py": {"_mapping"},
    # The options of oslo.policy without an enforcer, which would look for a file.
    "placement/config/__init__.py": {"_register"},
    # The text of an error as webob words it.
    "placement/http/error_body.py": {"_make_body"},
    # The number of a socket that may be closed already; waitress keeps it.
    "placement/serving/loop.py": {"_fileno"},
}
#: public methods of every named tuple
OF_NAMED_TUPLES = {"_asdict", "_fields", "_make", "_replace"}


def modules(package: str) -> Iterator[pathlib.Path]:
    """Yield every Python file of a package."""
    yield from sorted((ROOT / package).rglob("*.py"))


def module_name(path: pathlib.Path) -> str:
    """Return a file's dotted name; a folder's `__init__.py` has the folder's."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imports(path: pathlib.Path) -> frozenset[str]:
    """Return what of ours a file imports, by full name: modules, and names in modules."""
    return frozenset(name for name in read(path).imported if name.split(".")[0] in OURS)


FILES = {module_name(path): path for package in OURS for path in modules(package)}
#: without the packages' own `__init__.py`, which import nothing
IN_ROOMS = [path for name, path in FILES.items() if "." in name]
FOLDERS = {name for name, path in FILES.items() if path.name == "__init__.py"}


def room_of(name: str) -> str:
    """Return the outermost room that a module, or a name in it, belongs to, with its package."""
    return ".".join(name.split(".")[:2])


def listed_room_of(name: str) -> str:
    """Return the innermost room of MAY_IMPORT that a module belongs to, with its package."""
    package, _, inner = name.partition(".")
    while inner and inner not in MAY_IMPORT[package]:
        inner = inner.rpartition(".")[0]
    return f"{package}.{inner}" if inner else room_of(name)


def folder_of(name: str) -> str:
    """Return the innermost folder that a module is in; a module beside folders is one of its own.

    So the top of a room may be imported by the rooms within it.
    """
    folder = name if name in FOLDERS else name.rpartition(".")[0]
    within = any(other.startswith(f"{folder}.") for other in FOLDERS)
    return name if within and name != folder else folder


def module_of(name: str) -> str:
    """Return the module that an imported name is, or is in.

    A name that a folder's `__init__.py` exports is in that file, whose own imports lead on.
    """
    return name if name in FILES else name.rpartition(".")[0]


def arrows() -> dict[str, set[str]]:
    """Return module → the modules of ours that it imports."""
    return {
        name: {module_of(one) for one in imports(path)} - {name} for name, path in FILES.items()
    }


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return a circle of the graph, its first name at both ends; empty if there is none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as found:
        return found.args[1]
    return []


def upward(path: pathlib.Path) -> Iterator[str]:
    """Yield what a file imports that doesn't lie below its room."""
    package, _, room = listed_room_of(module_name(path)).partition(".")
    if room not in MAY_IMPORT[package]:
        yield f"{shown(path)}: a new room: say what it may import"
        return
    allowed = {
        name if name.split(".")[0] in OURS else f"{package}.{name}"
        for name in MAY_IMPORT[package][room] | {room}
    }
    for name in sorted(imports(path)):
        if not f"{name}.".startswith(tuple(f"{a}." for a in allowed)):
            yield f"{shown(path)} imports {name}"


def test_a_room_imports_only_what_lies_below() -> None:
    assert_none(line for path in IN_ROOMS for line in upward(path))


def test_every_room_in_the_table_is_there() -> None:
    rooms = {f"{package}.{room}" for package in OURS for room in MAY_IMPORT[package]}
    found = {room_of(module_name(path)) for path in IN_ROOMS}
    found |= {room for room in rooms if room in FILES}
    assert_none(
        f"{room} is {'not there' if room in rooms else 'new'}" for room in sorted(rooms ^ found)
    )


def test_the_table_allows_no_more_than_is_needed() -> None:
    wanted = {(listed_room_of(module_name(p)), name) for p in IN_ROOMS for name in imports(p)}
    assert_none(
        f"{package}.{room} may import {name}, and doesn't"
        for package, rooms in MAY_IMPORT.items()
        for room, names in rooms.items()
        if package != "placement" or "." in room
        for name in sorted(names)
        if not any(
            above == f"{package}.{room}"
            and f"{below}.".startswith((f"{name}.", f"{package}.{name}."))
            for above, below in wanted
        )
    )


def test_packages_import_only_the_packages_before_them() -> None:
    assert_none(
        f"{name} imports {one}"
        for name, path in FILES.items()
        for one in sorted(imports(path))
        if OURS.index(one.split(".")[0]) > OURS.index(name.split(".")[0])
    )


def test_there_is_no_circle_of_rooms() -> None:
    graph: dict[str, set[str]] = {}
    for name, imported in arrows().items():
        room = folder_of(name)
        graph.setdefault(room, set()).update({folder_of(one) for one in imported} - {room})
    found = circle(graph)
    assert not found, " -> ".join(found)


def feature_of(name: str) -> str | None:
    """Return the feature that a module, or a name in it, belongs to; None: none."""
    parts = name.split(".")
    return parts[2] if parts[:2] == ["placement", "extensions"] and len(parts) > 2 else None


def test_the_core_knows_no_feature() -> None:
    assert_none(
        f"{shown(path)} imports {name}"
        for path in modules("placement")
        if room_of(module_name(path)).partition(".")[2] not in ABOVE_FEATURES
        for name in sorted(imports(path))
        if feature_of(name) is not None
    )


def test_features_import_only_the_features_that_the_list_allows() -> None:
    pairs = {
        (feature, other): shown(path)
        for path in modules("placement/extensions")
        for name in imports(path)
        if (feature := feature_of(module_name(path))) is not None
        if (other := feature_of(name)) not in (None, feature)
    }
    allowed = {(feature, other) for feature, some in BETWEEN_FEATURES.items() for other in some}
    assert_none(f"{pairs[pair]} imports {pair[1]}" for pair in sorted(pairs.keys() - allowed))
    assert not allowed - pairs.keys(), "allowed, and not needed"


#: how many files a room may have, without its `__init__.py`
MOST_FILES = 20


def test_rooms_are_small_enough_to_survey() -> None:
    sizes = collections.Counter(
        name.rpartition(".")[0] for name in FILES if name not in FOLDERS and "." in name
    )
    assert_none(f"{room} has {size} files" for room, size in sizes.items() if size > MOST_FILES)


def test_every_room_says_what_it_is() -> None:
    assert_none(
        shown(FILES[name])
        for name in sorted(FOLDERS)
        if "." in name and not read(FILES[name]).says_what_it_is
    )


def test_there_is_no_circle_of_files() -> None:
    found = circle(arrows())
    assert not found, " -> ".join(found)


def test_imports_name_modules_in_full() -> None:
    assert_none(f"{shown(path)}: {line}" for path in FILES.values() for line in read(path).relative)


def private_reaches(path: pathlib.Path) -> list[str]:
    """Return the private names that a file uses of objects of other modules.

    A name that the file itself defines is its own: a class may look into another object of its
    kind.
    """
    source = read(path)
    known = source.defined | OF_NAMED_TUPLES | OF_LIBRARIES.get(shown(path), set())
    reaches = source.used - known
    return sorted(name for name in reaches if name.startswith("_") and not name.startswith("__"))


def test_nobody_uses_private_names_of_others() -> None:
    assert_none(
        f"{shown(path)} uses {name}" for path in FILES.values() for name in private_reaches(path)
    )


#: the folders of virt/ that are drivers; all else there is for any of them
DRIVERS = ("fake", "host", "ironic", "libvirt")


def other_drivers(path: pathlib.Path) -> list[str]:
    """Return what a file of virt/ imports of drivers; of a driver's own files, of the others."""
    own = path.relative_to(ROOT / "virt").parts[0]
    others = tuple(f"virt.{driver}." for driver in DRIVERS if driver != own)
    return sorted(name for name in imports(path) if f"{name}.".startswith(others))


def test_no_driver_is_known_but_to_itself() -> None:
    assert_none(
        f"{shown(path)} imports {name}" for path in modules("virt") for name in other_drivers(path)
    )


def test_every_folder_with_a_driver_is_known_as_one() -> None:
    with_driver = {
        path.relative_to(ROOT / "virt").parts[0]
        for path in modules("virt")
        if {"virt.driver.ComputeDriver", "virt.node.driver.NodeDriver"} & imports(path)
    }
    assert with_driver - {"node", "testing"} == set(DRIVERS)


def test_the_domain_knows_no_framework() -> None:
    frameworks = {"flask", "sqlalchemy", "webob", "werkzeug"}
    assert_none(
        f"{shown(path)} imports {name}"
        for path in modules("placement/domain")
        for name in sorted(read(path).imported)
        if name.split(".")[0] in frameworks
    )


FORBIDDEN_NAMES = {"utils", "helpers", "common", "base", "lib"}


def test_files_are_named_by_what_they_hold() -> None:
    assert_none(
        shown(path)
        for path in FILES.values()
        if FORBIDDEN_NAMES & set(path.relative_to(ROOT).with_suffix("").parts)
    )


#: names of errors that OpenStack Placement and nova have, each with a meaning of its own
FIELDS_OWN = {"InvalidInventory", "InventoryInUse", "NotFound"}


def test_one_name_means_one_thing() -> None:
    found: dict[str, list[str]] = {}
    for path in FILES.values():
        for name in read(path).classes:
            found.setdefault(name, []).append(shown(path))
    assert_none(
        f"{name}: {', '.join(places)}"
        for name, places in sorted(found.items())
        if len(places) > 1 and name not in FIELDS_OWN
    )
